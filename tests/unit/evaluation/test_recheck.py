"""An artifact is timed here, and its mix against the engine that was the fastest one alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from intarsia.config import RunSettings
from intarsia.cost.timing.verdict import CONTROL_NAME, Verdict
from intarsia.errors import BackendUnavailableError, ExecutionError
from intarsia.evaluation import recheck
from intarsia.evaluation.benchmark import Benchmark
from intarsia.evaluation.recheck import retime
from intarsia.graph import load_model
from intarsia.partitioning import Partition
from intarsia.runtime import Artifact, attach_report, build, plan_of, write_artifact
from intarsia.target import Target
from tests.unit.graph.models import two_layers

SINGLES = [
    {"target": "ncnn", "failure": {"stage": "load", "reason": "no", "repro": None}},
    {"target": "mnn", "tuned": "mnn -precision=low", "latency_ms": 2.0},
    {"target": "openvino", "tuned": "openvino", "latency_ms": 3.0},
]
REPORT = {"latency_ms": {"median": 1.5}, "singles": SINGLES}


def artifact(folder: Path, *, parts: int = 2, report: dict[str, Any] = REPORT) -> Artifact:
    graph = load_model(two_layers())
    ids = [node.id for node in graph.nodes]
    cuts = [ids[:2], ids[2:]] if parts == 2 else [ids]
    partitions = [Partition(target=Target("reference"), nodes=tuple(nodes)) for nodes in cuts]
    path = folder / "m.intarsia"
    write_artifact(path, graph, build(graph, plan_of(graph, partitions, RunSettings(threads=1))))
    attach_report(path, report)
    return Artifact(path)


class Benchmarks:
    """In the place of the contest: times by name, and which engines cannot be built."""

    def __init__(self, **times_ms: float) -> None:
        self.times_ms = times_ms
        self.against: list[list[str]] = []
        self.absent = ""
        self.failed: dict[str, tuple[str, str]] = {}
        self.is_void = False

    def __call__(self, artifacts: Any, against: Any, seconds: float, seed: int, watch: Any) -> Benchmark:
        names = [*map(str, against), "m.intarsia"]
        self.against.append(names[:-1])
        if self.absent in names:
            raise BackendUnavailableError(self.absent, "not installed")
        ran = [name for name in names if name not in self.failed]
        times = {name: (self.times_ms["mix" if name == "m.intarsia" else "single"],) * 10 for name in ran}
        verdict = Verdict(
            rounds_ms={**times, CONTROL_NAME: times[ran[0]] if ran else ()},
            set_sizes=(5, 5),
            profile_ms={},
            errors={},
            failed=self.failed,
            is_void=self.is_void,
        )
        return Benchmark(baseline=ran[0] if ran else "", names=tuple(names), targets={}, verdict=verdict)


@pytest.fixture
def benchmarks(monkeypatch: pytest.MonkeyPatch) -> Benchmarks:
    found = Benchmarks(mix=1.0, single=2.0)
    monkeypatch.setattr(recheck, "benchmark", found)
    return found


def test_a_mix_races_the_engine_that_was_the_fastest_alone(tmp_path: Path, benchmarks: Benchmarks) -> None:
    timing = retime(artifact(tmp_path), 1)
    assert timing is not None
    assert benchmarks.against == [["mnn -precision=low"]]
    assert (timing.single, timing.ms.median, timing.then_ms) == ("mnn -precision=low", 1.0, 1.5)
    assert timing.speedup is not None
    assert (timing.speedup.median, timing.is_slower, timing.untimed) == (2.0, False, None)


def test_a_mix_that_is_beaten_is_told(tmp_path: Path, benchmarks: Benchmarks) -> None:
    benchmarks.times_ms["mix"] = 3.0
    timing = retime(artifact(tmp_path), 1)
    assert timing is not None
    assert (timing.is_slower, timing.shown) == (True, "slower")


def test_on_a_noisy_machine_nothing_is_slower(tmp_path: Path, benchmarks: Benchmarks) -> None:
    benchmarks.times_ms["mix"] = 3.0
    benchmarks.is_void = True
    timing = retime(artifact(tmp_path), 1)
    assert timing is not None
    assert (timing.is_slower, timing.shown) == (False, "void")


def test_the_engine_that_was_the_best_one_races_whatever_was_timed_elsewhere(
    tmp_path: Path, benchmarks: Benchmarks
) -> None:
    elsewhere = {"target": "ncnn", "tuned": "ncnn", "latency_ms": 0.5, "benchmarked": False}
    retime(artifact(tmp_path, report={**REPORT, "singles": [elsewhere, *SINGLES]}), 1)
    retime(artifact(tmp_path, report={**REPORT, "best_single": "openvino"}), 1)
    assert benchmarks.against == [["mnn -precision=low"], ["openvino"]]


def test_an_engine_alone_is_only_timed(tmp_path: Path, benchmarks: Benchmarks) -> None:
    timing = retime(artifact(tmp_path, parts=1), 1)
    assert timing is not None
    assert benchmarks.against == [[]]
    assert (timing.ms.median, timing.single, timing.speedup, timing.is_slower) == (1.0, None, None, False)


def test_without_the_other_engine_the_plan_is_timed_all_the_same(tmp_path: Path, benchmarks: Benchmarks) -> None:
    benchmarks.absent = "mnn -precision=low"
    timing = retime(artifact(tmp_path), 1)
    assert timing is not None
    assert (timing.ms.median, timing.speedup, timing.is_slower) == (1.0, None, False)
    assert "not installed" in str(timing.untimed)


def test_an_engine_that_fails_in_the_race_is_told(tmp_path: Path, benchmarks: Benchmarks) -> None:
    benchmarks.failed = {"mnn -precision=low": ("open", "no memory")}
    timing = retime(artifact(tmp_path), 1)
    assert timing is not None
    assert (timing.speedup, timing.untimed) == (None, "no memory")


def test_a_plan_that_fails_is_an_error(tmp_path: Path, benchmarks: Benchmarks) -> None:
    benchmarks.failed = {"m.intarsia": ("run", "signal 11")}
    with pytest.raises(ExecutionError, match="signal 11"):
        retime(artifact(tmp_path), 1)


def test_a_plan_that_never_raced_has_no_time_of_then(tmp_path: Path, benchmarks: Benchmarks) -> None:
    timing = retime(artifact(tmp_path, report={"latency_ms": None, "singles": SINGLES[:1]}), 1)
    assert timing is not None
    assert (timing.then_ms, timing.single) == (None, None)


def test_the_real_benchmark_times_it(tmp_path: Path) -> None:
    single = {"target": "reference", "tuned": "reference", "latency_ms": 1.0}
    timing = retime(artifact(tmp_path, report={**REPORT, "singles": [single]}), 1)
    assert timing is not None
    assert timing.single == "reference"
    assert timing.speedup is not None
    assert timing.ms.low <= timing.ms.median <= timing.ms.high
