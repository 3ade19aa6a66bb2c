"""The report of a compile, from outcomes made by hand."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

import intarsia
from intarsia.backends import registry
from intarsia.backends.contract.failures import Cause
from intarsia.config import CompilationConfig, RunSettings, Spin
from intarsia.cost.records.record import Failure, Measurement
from intarsia.cost.timing.footprint import Tail
from intarsia.cost.timing.verdict import CONTROL_NAME, Verdict
from intarsia.cost.worker.repro import Origin
from intarsia.partitioning import Partition
from intarsia.planning.problem import Candidate
from intarsia.planning.request import Compilation
from intarsia.report.plan_figures import call_ms, plan_figures
from intarsia.report.record import compile_report
from intarsia.search.collage.collage import CollageResult, Mix
from intarsia.search.collage.edge_costs import Known
from intarsia.search.decision.conclusion import Conclusion
from intarsia.search.decision.decision import NO_BENCHMARK, Decision
from intarsia.search.single.single_engine import Single
from intarsia.target import Target
from tests.unit.search.fakes import chain_problem

ORT, OPENVINO, MNN = Target("onnxruntime"), Target("openvino"), Target("mnn")
CONFIG = CompilationConfig.of("onnxruntime, openvino, mnn")
SETTINGS = RunSettings(threads=2, spin=Spin.CALL)


def plan(name: str, *targets: Target) -> Candidate:
    parts = tuple(Partition(target=target, nodes=(f"n{i}",)) for i, target in enumerate(targets))
    return Candidate(name=name, label=name, partitions=parts, settings=SETTINGS, predicted_ms=(4.0,) * len(parts))


WHOLE, CRASHED, MIX = plan("onnxruntime", ORT), plan("mnn", MNN), plan("collage", ORT, OPENVINO)
ALONE = replace(WHOLE, partitions=(Partition(target=ORT, nodes=("n0", "n1")),), predicted_ms=(9.5,))
KNOWN = (
    Known(start=1, end=2, target=OPENVINO, after=None, ms=3.5),
    Known(start=1, end=2, target=OPENVINO, after=ORT, ms=4.0),
)
SHARES = {ORT: (4.0, 5.5), OPENVINO: (inf, 3.25)}
MEASURED = Measurement(samples_ms=(11.0,) * 9, compile_s=0.5, load_s=0.25, error=1e-6)
VERDICT = Verdict(
    rounds_ms={"onnxruntime": (10.0,) * 10, "collage": (7.0, *(8.0,) * 8, 9.0), CONTROL_NAME: (10.0,) * 10},
    set_sizes=(5, 5),
    profile_ms={"onnxruntime": (10.0,), "collage": (5.0, 3.0)},
    errors={},
    failed={"mnn": ("crash", "SIGSEGV")},
    is_void=False,
)


@dataclass(frozen=True)
class Job:
    """What a report reads of a compilation."""

    origin: Origin = field(default_factory=lambda: Origin(model="m.onnx"))
    problem: Any = field(default_factory=lambda: chain_problem(2, [ORT, MNN, OPENVINO]))
    engine_set: Any = field(default_factory=lambda: SimpleNamespace(config=CONFIG))
    absent: Mapping[str, str] = field(default_factory=lambda: {"tensorrt": "no backend drives it"})
    devices: None = None
    difference: Any = None
    remarks: tuple[str, ...] = ("jit of 'llvm -jit=mcjit': no effect on mnn",)

    def device_of(self, partition: Partition) -> str | None:
        return None

    def config_of(self, partition: Partition) -> CompilationConfig:
        return CONFIG


def report(chosen: Candidate = MIX, *, mixes: bool = True, verdict: Verdict = VERDICT) -> dict[str, Any]:
    singles = [
        Single(target=ORT, outcome=MEASURED, candidates=(ALONE,)),
        Single(target=MNN, outcome=MEASURED, candidates=(CRASHED,)),
        Single(target=OPENVINO, outcome=Failure(stage="compile", reason="no", cause=Cause.ENGINE, repro="r.py")),
    ]
    found = (Mix(candidate=MIX, measured_ms=8.5), Mix(candidate=plan("collage-2", OPENVINO, ORT), measured_ms=9.5))
    collage = CollageResult(mixes=found, segments=2, rounds=2, is_finished=False, known=KNOWN, shares=SHARES)
    return compile_report(
        job=cast("Compilation", Job()),
        tuned=singles,
        singles=singles,
        collage=collage if mixes else None,
        decision=Decision(
            chosen=chosen,
            artifact=Path("x"),
            best_single=ALONE if verdict.rounds_ms else None,
            verdict=verdict,
            error=1e-5,
            reason="as measured",
            conclusion=Conclusion.WON if chosen is MIX else Conclusion.GIVEN,
        ),
        seconds=1.23456,
        measured=7,
        cached=3,
    )


def test_the_figures_of_what_ships() -> None:
    found = report()
    assert found["latency_ms"] == {"median": 8.0, "min": 7.0, "p90": 8.0}
    assert found["speedup_vs_best_single"]["median"] == 1.25
    assert (found["chosen"], found["best_single"], found["predicted_ms"], found["transitions"]) == (
        "collage", "onnxruntime", 8.0, 1,
    )  # fmt: skip
    assert [(part["target"], part["predicted_ms"], part["measured_ms"]) for part in found["partitions"]] == [
        ("onnxruntime", 4.0, 5.0),
        ("openvino", 4.0, 3.0),
    ]
    assert (found["spin"], found["threads"], found["max_rel_error"]) == ("call", 2, 1e-5)


def test_where_each_part_comes_from() -> None:
    found = report()
    assert found["config"] == "onnxruntime, openvino, mnn"
    assert found["absent"] == [{"target": "tensorrt", "reason": "no backend drives it"}]
    assert found["devices"] is None
    assert [(part["device"], part["config"]) for part in found["partitions"]] == [("cpu", found["config"])] * 2


def test_what_repeats_it() -> None:
    found = report()
    assert (found["seed"], found["budget_s"], found["version"]) == (0, 60.0, intarsia.__version__)


def test_engines_with_their_times_or_failures() -> None:
    ort, mnn, openvino = report()["singles"]
    assert ort["speedup_vs_best_single"] is None
    assert ort["latency_ms"] == 10.0  # the paired benchmark's figure, not the prefilter's
    assert (ort["compile_s"], ort["load_s"], ort["max_rel_error"]) == (0.5, 0.25, 1e-6)
    assert mnn == {
        "target": "mnn",
        "failure": {"stage": "crash", "reason": "SIGSEGV", "cause": "engine", "repro": None},
    }
    assert openvino["failure"] == {"stage": "compile", "reason": "no", "cause": "engine", "repro": "r.py"}


def test_mixes_have_the_paired_benchmarks_figure_where_there_is_one() -> None:
    benchmarked, other = report()["mixes"]
    assert (benchmarked["name"], benchmarked["latency_ms"], benchmarked["transitions"], benchmarked["benchmarked"]) == (
        "collage",
        8.0,
        1,
        True,
    )
    assert (benchmarked["speed"], benchmarked["speedup_vs_best_single"]["median"]) == (1.25, 1.25)
    assert (other["name"], other["latency_ms"], other["transitions"], other["benchmarked"]) == (
        "collage-2",
        9.5,
        1,
        False,
    )
    # A figure of another moment has no speed beside those of the benchmark.
    assert (other["speed"], other["speedup_vs_best_single"], other["failure"]) == (None, None, None)
    assert (benchmarked["shown_vs_best_single"], other["shown_vs_best_single"]) == ("faster", None)
    failed = replace(VERDICT, failed={"collage-2": ("verify", "wrong")})
    assert report(verdict=failed)["mixes"][1]["failure"] == {"stage": "verify", "reason": "wrong"}


def test_each_part_stands_among_its_alternatives() -> None:
    first, second = report()["partitions"]
    assert (first["share"], second["share"]) == (5.0 / 8.0, 3.0 / 8.0)
    assert (first["transition_ms"], second["transition_ms"]) == (None, 0.5)
    assert first["runners_up"] == []
    # The whole model on one engine took 9.5 ms; the mix, 4.0 and 4.0.
    assert second["runners_up"] == [{"target": "onnxruntime", "ms": 5.5, "is_measured": False, "plan_ms": 1.5}]
    assert {each["target"] for each in first["not_chosen"]} == {"mnn", "openvino"}


def test_a_single_engine_has_openings_and_a_mix_has_none() -> None:
    (opportunity,) = report(ALONE)["opportunities"]
    assert opportunity == {
        "target": "openvino",
        "segments": [1, 2],
        "gain_ms": 2.0,
        "transitions": 1,
        "transition_ms": 0.5,
    }
    assert report()["opportunities"] == []


def test_segments_have_a_cost_on_each_engine_or_null() -> None:
    first, second = report()["segments"]
    assert first == {
        "nodes": 1, "first": "n0", "last": "n0", "ms": {"onnxruntime": 4.0, "mnn": None, "openvino": None},
    }  # fmt: skip
    assert second["ms"] == {"onnxruntime": 5.5, "mnn": None, "openvino": 3.25}


def test_the_prediction_against_what_was_measured() -> None:
    assert report()["prediction"] == {"predicted_ms": 8.0, "measured_ms": 8.0, "predicted_over_measured": 1.0}
    unraced = Verdict(rounds_ms={}, set_sizes=(), profile_ms={}, errors={}, failed={}, is_void=True)
    found = report(verdict=unraced)
    assert (found["prediction"], found["latency_ms"], found["search"]["control"]) == (None, None, None)
    assert [part["share"] for part in found["partitions"]] == [0.5, 0.5]


def test_the_search_and_its_absence() -> None:
    search = report()["search"]
    assert search == {
        "seconds": 1.235, "announced_s": None, "announced_because": None,
        "measured": 7, "cached": 3, "segments": 2, "candidates": 0, "finished": False,
        "interrupted": False, "control_void": False, "void_reason": None, "replayed": False,
        "benchmark_replayed": False,
        "unmeasured": [{"target": "mnn", "segments": [0, 1]}],
        "control": {"median": 1.0, "low": 1.0, "high": 1.0},
    }  # fmt: skip
    without = report(WHOLE, mixes=False)
    assert (without["mixes"], without["segments"]) == ([], [])
    assert (without["search"]["segments"], without["search"]["finished"]) == (0, True)
    assert without["speedup_vs_best_single"]["median"] == 1.0


@given(st.lists(st.tuples(*[st.floats(0.1, 100)] * 3), min_size=10, max_size=10))
def test_whatever_the_rounds_one_plan_has_one_figure_and_order_is_speed(rounds: list[tuple[float, ...]]) -> None:
    names = ("onnxruntime", "collage", CONTROL_NAME)
    times = dict(zip(names, zip(*rounds, strict=True), strict=True))
    found = report(verdict=replace(VERDICT, rounds_ms=times))
    best, mix = found["singles"][0], found["mixes"][0]
    assert best["speed"] == 1.0
    assert mix["speed"] * mix["latency_ms"] == pytest.approx(best["latency_ms"])
    assert mix["latency_ms"] == found["latency_ms"]["median"] == found["prediction"]["measured_ms"]
    assert mix["speed"] == mix["speedup_vs_best_single"]["median"] == found["speedup_vs_best_single"]["median"]
    assert sum(part["measured_ms"] for part in found["partitions"]) == pytest.approx(mix["latency_ms"])
    for plan in (mix, best):
        assert plan["interval_ms"]["low"] <= plan["latency_ms"] <= plan["interval_ms"]["high"]


def test_it_is_json_throughout() -> None:
    found = report()
    found["machine"]["isa"] = list(found["machine"]["isa"])
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_what_is_brought_to_devices_and_back() -> None:
    assert report()["transfers"] == []
    moved = plan("collage", ORT, Target("ncnn -base=vulkan"))
    found = report(replace(MIX, partitions=moved.partitions), verdict=replace(VERDICT, transfers_ms={"collage": ()}))
    assert [part["device"] for part in found["partitions"]] == ["cpu", "vulkan"]
    there, back = found["transfers"]
    assert (there["source"], there["destination"], there["partition"], there["readers"]) == ("cpu", "vulkan", 2, [2])
    assert (back["source"], back["destination"], back["partition"], back["readers"]) == ("vulkan", "cpu", 2, [])
    # ncnn brings them inside its calls, so nobody has their time.
    assert all(each["is_inside"] and each["ms"] is None for each in (there, back))


def test_a_transfer_of_ours_has_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    traits = replace(registry.get("ncnn").traits, device_values=True)
    monkeypatch.setattr(type(registry.get("ncnn")), "traits", traits)
    moved = plan("collage", ORT, Target("ncnn -base=vulkan"))
    times = {"collage": (0.25, 0.5)}
    found = report(replace(MIX, partitions=moved.partitions), verdict=replace(VERDICT, transfers_ms=times))
    parts_ms = [part["measured_ms"] for part in found["partitions"]]
    transfers_ms = [each["ms"] for each in found["transfers"]]
    # Steps and transfers were profiled at 5, 3, 0.25 and 0.5 ms; the plan took 8 in the benchmark.
    assert transfers_ms == [pytest.approx(0.25 * 8 / 8.75), pytest.approx(0.5 * 8 / 8.75)]
    assert sum([*parts_ms, *transfers_ms]) == pytest.approx(found["latency_ms"]["median"])


def test_what_planning_remarks_is_in_the_report() -> None:
    assert "jit of 'llvm -jit=mcjit': no effect on mnn" in report()["remarks"]


def test_under_load_each_plan_says_how_many_instances_answer_how_much() -> None:
    """Two instances of the mix, of which each call takes twice what lies between two answers."""
    served = replace(MIX, settings=replace(SETTINGS, threads=1, instances=2), between_ms=8.5)
    verdict = replace(VERDICT, instances={"onnxruntime": 1, "collage": 2}, tails={"collage": Tail.of([15.0, 17.0])})
    found = report(served, verdict=verdict)
    load = found["figures"]["load"]
    assert (load["instances"], load["threads"], load["p50_ms"], load["p99_ms"]) == (2, 1, 16.0, 17.0)
    assert load["requests_per_second"]["median"] == 125.0
    assert found["latency_ms"] == {"median": 16.0, "min": 14.0, "p90": 16.0}
    assert (found["instances"], found["threads"], found["prediction"]) == (2, 1, None)
    assert [part["measured_ms"] for part in found["partitions"]] == [10.0, 6.0]
    alone = found["singles"][0]
    assert alone["load"]["requests_per_second"]["median"] == 100.0
    assert (alone["load"]["instances"], alone["load"]["p99_ms"]) == (1, None)


def test_what_was_timed_apart_under_load_has_its_rate_alone() -> None:
    served = replace(ALONE, settings=replace(SETTINGS, threads=1, instances=2), between_ms=4.0)
    figures = plan_figures(served, NO_BENCHMARK, None, MEASURED)
    assert figures["load"]["requests_per_second"] == {"median": 250.0, "low": None, "high": None}
    assert (figures["interval_ms"], call_ms(served, NO_BENCHMARK)) == (None, 8.0)
    assert "load" not in plan_figures(ALONE, NO_BENCHMARK, None, MEASURED)
