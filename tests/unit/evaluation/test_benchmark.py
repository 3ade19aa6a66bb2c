"""Artifacts on the reference engine race; what cannot be compared, or cannot be built, is refused first."""

from __future__ import annotations

from pathlib import Path

import pytest

from intarsia.config import RunSettings
from intarsia.cost.timing.paired_benchmark import BenchmarkEffort
from intarsia.errors import ConfigError, NoCoverError
from intarsia.evaluation import benchmark as module
from intarsia.evaluation.benchmark import benchmark
from intarsia.graph import load_model
from intarsia.partitioning import Partition
from intarsia.runtime import Artifact, build, plan_of, write_artifact
from intarsia.target import Target
from tests.unit.graph.models import branching, two_layers

REFERENCE = Target("reference")


def written(path: Path, prefix: str = "") -> Artifact:
    graph = load_model(two_layers(prefix=prefix))
    whole = Partition(target=REFERENCE, nodes=tuple(node.id for node in graph.nodes))
    path.parent.mkdir(exist_ok=True)
    write_artifact(path, graph, build(graph, plan_of(graph, [whole], RunSettings(threads=1))))
    return Artifact(path)


def test_all_race_against_the_engine_that_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    effort = BenchmarkEffort(processes=1, rounds=2, seconds=0.1, min_rounds=2, repeats=0)
    monkeypatch.setattr(module, "_effort", lambda *_: effort)
    several = [written(tmp_path / "a" / "m.intarsia"), written(tmp_path / "b" / "m.intarsia")]
    found = benchmark(several, [REFERENCE])
    assert found.names == ("reference", "m.intarsia", "m.intarsia (2)")
    assert found.baseline == "reference"
    assert found.verdict.benchmarked == set(found.names)
    assert not found.verdict.failed
    assert set(found.targets.values()) == {"reference"}


def test_models_that_take_other_inputs_are_not_compared(tmp_path: Path) -> None:
    several = [written(tmp_path / "a.intarsia"), written(tmp_path / "b.intarsia", prefix="other_")]
    with pytest.raises(ConfigError, match=r"a\.intarsia takes x float32\[4,32\] and .*b\.intarsia takes other_x"):
        benchmark(several)


def test_an_engine_that_does_not_take_the_model_is_not_built(tmp_path: Path) -> None:
    graph = load_model(branching())
    whole = Partition(target=REFERENCE, nodes=tuple(node.id for node in graph.nodes))
    path = tmp_path / "m.intarsia"
    write_artifact(path, graph, build(graph, plan_of(graph, [whole], RunSettings(threads=1))))
    with pytest.raises(NoCoverError, match="'mnn' does not take the whole model"):
        benchmark([Artifact(path)], [Target("mnn")])
