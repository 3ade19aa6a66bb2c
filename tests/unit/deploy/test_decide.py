"""Each machine is tried alone, divisions are compiled where they promise something, and what ships answers rightly."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

from intarsia.backends.contract import Signature
from intarsia.config import CompilationConfig
from intarsia.cost.timing.verdict import CONTROL_NAME, Verdict
from intarsia.cost.worker.deadline import Deadline
from intarsia.cost.worker.progress import unwatched
from intarsia.deploy import decide
from intarsia.deploy.benchmark import Contender
from intarsia.deploy.candidates import StageCompiler
from intarsia.deploy.decide import Outcome, Search
from intarsia.deploy.link_figures import LinkFigures
from intarsia.deploy.machines import Machine
from intarsia.deploy.model import DeployedModel
from intarsia.driver import CompileSettings
from intarsia.errors import BackendError, NoCoverError
from intarsia.files import replace_file
from intarsia.graph import Graph, load_model
from intarsia.partitioning import linear_order
from tests.unit.graph.models import feeds_of, two_layers

FAST = LinkFigures(round_trip_s=1e-4, bytes_per_s=1e9)
SLOW = LinkFigures(round_trip_s=1.0, bytes_per_s=1e3)


class Evaluated:
    """A model that ONNX's own evaluator runs."""

    def __init__(self, path: Path, report: Mapping[str, Any], error: float) -> None:
        model = onnx.load(path)
        self.inputs = tuple(Signature(name=each.name, dtype="float32", shape=None) for each in model.graph.input)
        self.report = report
        self._path = path
        self._error = error
        self._run = ReferenceEvaluator(model)
        self._outputs = [each.name for each in model.graph.output]

    def __call__(self, feeds: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        found = self._run.run(None, dict(feeds))
        return {name: array * (1 + self._error) for name, array in zip(self._outputs, found, strict=True)}

    def save(self, path: Path) -> Path:
        shutil.copy(self._path, path)
        return path

    def close(self) -> None:
        """Nothing is held."""

    def __enter__(self) -> Evaluated:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@dataclass(frozen=True, kw_only=True)
class Played(Machine):
    """A machine whose compile reports what the test says: what each half of the model's line takes."""

    halves_ms: tuple[float, ...]
    figures: LinkFigures | None
    error: float
    order: Sequence[str]

    def compile(self, model: Path, settings: Any, watch: Any) -> Any:
        if not self.halves_ms:
            raise NoCoverError("it takes nothing")
        middle = len(self.order) // 2
        parts = (self.order[:middle], self.order[middle:])
        report = {
            "chosen": "an engine",
            "allowed_error": 1e-3,
            "latency_ms": {"median": sum(self.halves_ms)},
            "partitions": [{"target": "an engine"}],
            "segments": [
                {"nodes": len(part), "first": part[0], "last": part[-1], "ms": {"an engine": ms}}
                for part, ms in zip(parts, self.halves_ms, strict=True)
            ],
        }
        kept = model.with_suffix(".kept")
        replace_file(kept, model.read_bytes())
        return Evaluated(kept, report, 0.0)

    def load(self, artifact: Path, trust: Any = None) -> Any:
        return Evaluated(artifact, {}, self.error)

    def link(self) -> LinkFigures | None:
        return self.figures


def machine(graph: Graph, name: str, *halves_ms: float, link: LinkFigures = FAST, error: float = 0.0) -> Machine:
    return Played(
        name=name,
        config=CompilationConfig.of("onnxruntime"),
        halves_ms=halves_ms,
        figures=link,
        error=error,
        order=linear_order(graph),
    )


@pytest.fixture(scope="module")
def graph() -> Graph:
    return load_model(two_layers())


def played(ms: Mapping[str, float]) -> Any:
    """A paired benchmark in which each plan takes what the test says."""

    def paired(contenders: Sequence[Contender], *_: Any, **__: Any) -> Verdict:
        names = [each.name for each in contenders]
        rounds = {name: tuple(ms[name] * (1 + 0.001 * (number % 3)) for number in range(18)) for name in names}
        rounds = {names[0]: rounds[names[0]], CONTROL_NAME: rounds[names[0]], **rounds}
        return Verdict(rounds_ms=rounds, set_sizes=(6, 6, 6), profile_ms={}, errors={}, failed={}, is_void=False)

    return paired


def searched(
    graph: Graph, folder: Path, machines: Sequence[Machine], *, streams: bool = False
) -> tuple[Outcome, DeployedModel]:
    known = {each.name: each for each in machines}
    compiler = StageCompiler(graph, known, CompileSettings(), folder, unwatched)
    search = Search(graph, known, compiler, folder, Deadline(60.0), unwatched, streams=streams, seed=0)
    outcome = search.run()
    artifact = compiler.write(outcome.plan, folder / "found.intarsia", {})
    return outcome, DeployedModel(artifact, known)


@pytest.mark.parametrize("streams", [False, True])
def test_a_division_that_promises_something_is_compiled_and_ships_if_it_is_faster(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, streams: bool
) -> None:
    monkeypatch.setattr(decide, "paired", played({"a": 10.0, "b": 10.0, "divided": 2.5, "divided-2": 3.0}))
    monkeypatch.setattr(decide, "request_ms", lambda *_, **__: 10.0)
    machines = [machine(graph, "a", 1.0, 9.0), machine(graph, "b", 9.0, 1.0)]
    outcome, model = searched(graph, tmp_path, machines, streams=streams)
    assert [stage.machine for stage in outcome.plan.stages] == ["a", "b"]
    assert outcome.predicted[0].predicted_ms < 10.0
    feeds = feeds_of(two_layers())
    expected = ReferenceEvaluator(two_layers()).run(None, feeds)
    with model:
        found = list(model(feeds).values())
        streamed = list(model.stream([feeds] * 5))
    for actual, wanted in zip(found, expected, strict=True):
        assert np.allclose(actual, wanted, atol=1e-5)
    assert len(streamed) == 5


def test_over_a_slow_link_nothing_is_divided(graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decide, "paired", played({"a": 10.0, "b": 12.0}))
    monkeypatch.setattr(decide, "request_ms", lambda *_, **__: 10.0)
    machines = [machine(graph, "a", 1.0, 9.0, link=SLOW), machine(graph, "b", 9.0, 1.0, link=SLOW)]
    outcome, model = searched(graph, tmp_path, machines)
    model.close()
    assert (outcome.plan.name, outcome.best_alone) == ("a", "a")
    assert "on the links, and the whole model takes about 10 ms" in outcome.reason


def test_a_machine_that_does_not_run_the_whole_model_is_left_out(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decide, "request_ms", lambda *_, **__: 10.0)
    outcome, model = searched(graph, tmp_path, [machine(graph, "a"), machine(graph, "b", 9.0, 1.0)])
    model.close()
    assert outcome.plan.name == "b"
    assert outcome.failed == {"a": "it takes nothing"}
    assert outcome.verdict is None
    with pytest.raises(BackendError, match="a: it takes nothing; b: it takes nothing"):
        searched(graph, tmp_path, [machine(graph, "a"), machine(graph, "b")])


def test_a_division_that_answers_otherwise_does_not_ship(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decide, "paired", played({"a": 10.0, "b": 11.0}))
    monkeypatch.setattr(decide, "request_ms", lambda *_, **__: 10.0)
    machines = [machine(graph, "a", 1.0, 9.0), machine(graph, "b", 9.0, 1.0, error=0.1)]
    outcome, model = searched(graph, tmp_path, machines)
    model.close()
    assert outcome.plan.name == "a"
    assert "the stages together answer otherwise than one machine" in outcome.failed["divided"]
