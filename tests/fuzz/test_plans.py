"""Plan files and files of constraints of any shape: accepted, or refused as bad input, and never more.

What is accepted is written as a file that says the same.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from intarsia.config.settings import RunSettings, Spin
from intarsia.devices import dump_constraints, parse_constraints, read_constraints
from intarsia.graph import Graph, load_model
from intarsia.partitioning import Partitioning, dump_plan, parse_plan
from intarsia.spec.documents import read_text
from tests.fuzz import texts
from tests.fuzz.harness import Case, faults, run_cases
from tests.unit.graph.models import two_layers

SEED = 18
SHARE, ALL = 100, 5000


def plans(graph: Graph) -> list[Any]:
    """Plans of the model, of each form that one may have."""
    ids = [node.id for node in graph.nodes]
    parts = [{"target": "onnxruntime -threads=2", "nodes": ids[:1]}, {"target": "openvino", "nodes": ids[1:]}]
    reduced = {"int8-static": ids[:1], "ranges": {"x": [-1, 2.5]}}
    placed = [{**part, "device": device} for part, device in zip(parts, ("cpu", "gpu:1"), strict=True)]
    return [
        {"version": 1, "threads": 2, "spin": "call", "partitions": parts},
        {"version": 1, "model": "1a2b", "threads": 1, "embed": True, "partitions": parts[:1]},
        {"version": 1, "threads": 4, "parallel": True, "partitions": placed},
        {"version": 1, "max_error": 0.01, "partitions": [{**parts[0], "precision": reduced}, parts[1]]},
        {
            "version": 1,
            "threads": 4,
            "pipeline": {"stages": [1, 1], "threads": [1, 1], "lanes": 2, "depth": 3},
            "partitions": parts,
        },
        {"version": 1, "partitions": [{"target": "mnn", "nodes": [f"n{i}" for i in range(3000)]}]},
    ]


CONSTRAINTS: list[Any] = [
    {"nodes": {"conv1": "gpu2", "1e3": "cuda:1"}, "values": {"mask": {"device": "cpu", "constrain_result": True}}},
    {"inputs": "cpu", "outputs": {"y": {"device": "cuda", "index": 1, "target": "cuda -arch=sm_80"}}},
    {"values": {"x": ["cpu", {"device": "gpu2", "constrain_body": False}]}, "outputs": "gpu:1 -memory-scope='a b'"},
    {"nodes": {f"n{i}": f"cpu:{i}" for i in range(500)}},
]


@pytest.fixture(scope="module")
def graph() -> Graph:
    return load_model(two_layers())


def made(number: int, folder: Path, graph: Graph) -> tuple[Case, Callable[[], None]]:
    """The case of this number: the same for the same seed, whatever else runs."""
    name = f"{SEED}-{number}"
    rng = random.Random(name)
    is_plan = rng.random() < 0.6
    seeds = plans(graph) if is_plan else CONSTRAINTS
    data = rng.choice(seeds)
    data = texts.mutated(data, rng, seeds) if rng.random() < 0.6 else data
    try:
        flow = rng.choice((None, True, False))
        text = yaml.safe_dump(data, sort_keys=False, allow_unicode=True, default_flow_style=flow)
    except yaml.YAMLError:  # with half of a character
        text = ascii(data)
    text = texts.spoiled(text, rng) if rng.random() < 0.6 else text
    text = texts.bomb(rng) + text if rng.random() < 0.02 else text
    place = folder / name
    place.mkdir()
    path = place / "file.yaml"
    path.write_bytes(texts.encoded(text, rng))
    flags = ("--partition", "manual", "--plan", str(path)) if is_plan else ("--constraints", str(path))
    argv = ("compile", "absent.onnx", "--target", "mnn", *flags)
    law = (lambda: _holds_plan(path, graph)) if is_plan else (lambda: _holds_constraints(path))
    return Case(name=f"{name} {'plan' if is_plan else 'constraints'}", argv=argv, folder=place), law


def _holds_plan(path: Path, graph: Graph) -> None:
    try:
        text = read_text(path)
    except ValueError:  # of another encoding, or too large
        return
    plan = parse_plan(text, "the plan")
    settings = RunSettings(
        threads=plan.threads or 1,
        spin=plan.spin or Spin.CALL,
        embed=bool(plan.embed),
        parallel=bool(plan.parallel),
        pipeline=plan.pipeline,
        max_error=plan.max_error,
    )
    written = dump_plan(Partitioning(partitions=plan.partitions), settings, model=plan.model)
    again = parse_plan(written, "the plan again")
    assert (again.partitions, again.model, again.pipeline) == (plan.partitions, plan.model, plan.pipeline)
    assert (again.max_error, again.threads) == (plan.max_error, settings.threads)
    Partitioning.of(graph, [(part.target, part.nodes) for part in plan.partitions])


def _holds_constraints(path: Path) -> None:
    found = read_constraints(path)
    text = dump_constraints(found)
    again = parse_constraints(text, "again")
    assert sorted(map(_said, again)) == sorted(map(_said, found))
    assert dump_constraints(again) == text


def _said(each: Any) -> tuple[str, ...]:
    return (each.subject.value, each.name, str(each.device), str(each.constrain_body), str(each.constrain_result))


@pytest.mark.parametrize("count", [SHARE, pytest.param(ALL, marks=[pytest.mark.large, pytest.mark.timeout(3600)])])
def test_any_plan_is_read_or_refused(count: int, tmp_path: Path, graph: Graph) -> None:
    laws: dict[str, Callable[[], None]] = {}

    def cases() -> Iterator[Case]:
        for number in range(count):
            case, law = made(number, tmp_path, graph)
            laws[case.name] = law
            yield case

    wrong, read = [], 0
    for case, outcome in run_cases(cases()):
        read += "there is no model file" in outcome.output  # which comes after the plan
        told = faults(outcome)
        if outcome.exit_code != 2:
            told.append(f"exit code {outcome.exit_code} without a model")
        if not told:  # it is known to end
            told = texts.broken(laws[case.name])
        if told:
            wrong.append(f"{case.name}: {'; '.join(told)}\n{outcome.output[-600:]}")
    assert not wrong, f"{len(wrong)} of {count}:\n" + "\n".join(wrong[:20])
    assert count // 20 < read < count  # a fuzzer whose cases are all refused shows little
