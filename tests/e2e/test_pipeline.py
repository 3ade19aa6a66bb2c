"""Streams through a real network: equal results in order, driven as a plan says or as is measured."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pytest

import intarsia
import networks
from intarsia.config import Pipeline, RunSettings
from intarsia.errors import FeedError
from intarsia.graph import load_model
from intarsia.partitioning import Partition, Partitioning, dump_plan
from intarsia.planning.request import segments_of
from intarsia.target import Target

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
NETWORK = "squeezenet"
REQUESTS = 24
TOLERANCE = 1e-3
Arrays = dict[str, np.ndarray]


@pytest.fixture(scope="module")
def path(folder: Path) -> Path:
    return networks.save(NETWORK, folder)


@pytest.fixture(scope="module")
def store(folder: Path) -> Path:
    return folder / "pipeline.sqlite"


@pytest.fixture(scope="module")
def requests(path: Path) -> list[Arrays]:
    return [networks.feeds(path, seed=seed) for seed in range(REQUESTS)]


def relative_error(actual: np.ndarray, expected: np.ndarray) -> float:
    return float(np.abs(actual - expected).max() / np.abs(expected).max())


def agree(results: Iterable[Arrays], expected: list[Arrays]) -> None:
    """Each result is that of its own request: the next request's differs by more than an engine's error."""
    several = list(results)
    assert len(several) == len(expected)
    for result, own, other in zip(several, expected, [*expected[1:], expected[0]], strict=True):
        for name, value in own.items():
            assert relative_error(result[name], value) <= TOLERANCE
            assert relative_error(other[name], value) > TOLERANCE


def plan_file(path: Path, pipeline: Pipeline, folder: Path) -> Path:
    """The network in two halves, on ONNX Runtime and on OpenVINO."""
    graph = load_model(path)
    segments = segments_of(graph)
    halves = [sum(segments[: len(segments) // 2], ()), sum(segments[len(segments) // 2 :], ())]
    targets = (Target("onnxruntime"), Target("openvino"))
    parts = tuple(Partition(target=target, nodes=nodes) for target, nodes in zip(targets, halves, strict=True))
    settings = RunSettings(threads=pipeline.busy, pipeline=pipeline)
    file = folder / f"lanes{pipeline.lanes}-stages{len(pipeline.stages)}.yaml"
    file.write_text(dump_plan(Partitioning(partitions=parts), settings), encoding="utf-8")
    return file


def rate(answers: Iterable[Arrays]) -> float:
    start = time.perf_counter()
    return sum(1 for _ in answers) / (time.perf_counter() - start)


@pytest.mark.parametrize(
    "pipeline",
    [
        Pipeline(stages=(1, 1), threads=(1, 1), depth=4),
        Pipeline(stages=(2,), threads=(1,), lanes=2, depth=4),
    ],
    ids=["stages", "lanes"],
)
def test_a_stream_gives_what_calls_give_in_order(
    pipeline: Pipeline,
    path: Path,
    folder: Path,
    store: Path,
    requests: list[Arrays],
    record_property: Callable[[str, object], None],
) -> None:
    plan = plan_file(path, pipeline, folder)
    targets = "onnxruntime, openvino"
    with intarsia.compile(path, targets, partition="manual", plan=plan, budget=30, store=store) as compiled:
        assert compiled.plan.settings.pipeline == pipeline
        artifact = compiled.save(folder / f"{plan.stem}.intarsia")
    with intarsia.load(artifact) as model:
        expected = [model(request) for request in requests]
        agree(model.stream(requests), expected)
        figures = {
            "serial": rate(model(request) for request in requests),
            plan.stem: rate(model.stream(requests)),
        }
        record_property("requests_per_second", figures)
        with model.stream([requests[0], {}, requests[2], *requests]) as stream:
            next(stream)
            with pytest.raises(FeedError, match="missing"):
                next(stream)
            third = next(stream)
        assert relative_error(third[model.outputs[0].name], expected[2][model.outputs[0].name]) <= TOLERANCE
        assert not [thread for thread in threading.enumerate() if thread.name.startswith("intarsia-")]


@pytest.mark.large
def test_the_executor_pipeline_is_chosen_by_measuring(
    path: Path, store: Path, requests: list[Arrays], record_property: Callable[[str, object], None]
) -> None:
    config = {"targets": ["onnxruntime", "openvino"], "executor": {"kind": "pipeline", "depth": 3}}
    with intarsia.compile(path, config, partition="single", budget=120, store=store, threads=2) as compiled:
        pipeline = compiled.plan.settings.pipeline
        assert ("one request after another" in compiled.report["reason"]) == (pipeline is None)
        if pipeline is not None:
            assert pipeline.depth == 3
            assert pipeline.busy <= 2
            assert "requests a second" in compiled.report["reason"]
        record_property("reason", compiled.report["reason"])
        agree(compiled.stream(requests), [compiled(request) for request in requests])
