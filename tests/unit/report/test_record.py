"""The report of a compile, from outcomes made by hand."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from intarsia.config import CompilationConfig, RunSettings, SearchSettings, Spin
from intarsia.cost.duel import CONTROL_NAME, Verdict
from intarsia.cost.record import Failure, Measurement
from intarsia.cost.repro import Origin
from intarsia.partition import Partition
from intarsia.report.record import compile_report
from intarsia.search import Candidate, CollageResult, Compilation, Decision, Single
from intarsia.search.collage import Mix
from intarsia.target import Target

ORT, OPENVINO, MNN = Target("onnxruntime"), Target("openvino"), Target("mnn")
CONFIG = CompilationConfig.of("onnxruntime, openvino, mnn")
SETTINGS = RunSettings(threads=2, spin=Spin.CALL)


def plan(name: str, *targets: Target) -> Candidate:
    parts = tuple(Partition(target=target, nodes=(f"n{i}",)) for i, target in enumerate(targets))
    return Candidate(name=name, label=name, partitions=parts, settings=SETTINGS, predicted_ms=(4.0,) * len(parts))


WHOLE, CRASHED, MIX = plan("onnxruntime", ORT), plan("mnn", MNN), plan("collage", ORT, OPENVINO)
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
    problem: Any = field(default_factory=lambda: SimpleNamespace(settings=SearchSettings()))
    team: Any = field(default_factory=lambda: SimpleNamespace(config=CONFIG))
    absent: Mapping[str, str] = field(default_factory=lambda: {"tensorrt": "no backend drives it"})
    devices: None = None

    def device_of(self, partition: Partition) -> str | None:
        return None

    def config_of(self, partition: Partition) -> CompilationConfig:
        return CONFIG


def report(chosen: Candidate = MIX, *, mixes: bool = True, verdict: Verdict = VERDICT) -> dict[str, Any]:
    singles = [
        Single(target=ORT, outcome=MEASURED, candidates=(WHOLE,)),
        Single(target=MNN, outcome=MEASURED, candidates=(CRASHED,)),
        Single(target=OPENVINO, outcome=Failure(stage="compile", reason="no", repro="r.py")),
    ]
    found = (Mix(candidate=MIX, measured_ms=8.5), Mix(candidate=plan("collage-2", OPENVINO, ORT), measured_ms=9.5))
    return compile_report(
        job=cast("Compilation", Job()),
        singles=singles,
        collage=CollageResult(mixes=found, atoms=4, rounds=2, is_finished=False) if mixes else None,
        decision=Decision(
            chosen=chosen, artifact=Path("x"), best_single=WHOLE, verdict=verdict, error=1e-5, reason="as measured"
        ),
        seconds=1.23456,
        measured=7,
        cached=3,
    )


def test_the_figures_of_what_ships() -> None:
    found = report()
    assert found["latency_ms"] == {"median": 8.0, "min": 7.0, "p90": 8.0}
    assert found["speedup_vs_best_single"]["median"] == 1.25
    assert (found["chosen"], found["best_single"], found["predicted_ms"], found["switches"]) == (
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
    assert [(part["device"], part["config"]) for part in found["partitions"]] == [(None, found["config"])] * 2


def test_engines_with_their_times_or_failures() -> None:
    ort, mnn, openvino = report()["singles"]
    assert ort["latency_ms"] == 10.0  # the duel's figure, not the first look's
    assert (ort["compile_s"], ort["load_s"], ort["max_rel_error"]) == (0.5, 0.25, 1e-6)
    assert mnn == {"target": "mnn", "failure": {"stage": "crash", "reason": "SIGSEGV", "repro": None}}
    assert openvino["failure"] == {"stage": "compile", "reason": "no", "repro": "r.py"}


def test_mixes_have_the_duels_figure_where_there_is_one() -> None:
    assert [(mix["name"], mix["latency_ms"], mix["switches"]) for mix in report()["mixes"]] == [
        ("collage", 8.0, 1),
        ("collage-2", 9.5, 1),
    ]


def test_the_search_and_its_absence() -> None:
    search = report()["search"]
    assert search == {
        "seconds": 1.235, "measured": 7, "cached": 3, "atoms": 4, "finished": False, "control_void": False,
    }  # fmt: skip
    without = report(WHOLE, mixes=False)
    assert without["mixes"] == []
    assert (without["search"]["atoms"], without["search"]["finished"]) == (0, True)
    assert without["speedup_vs_best_single"]["median"] == 1.0


def test_it_is_json_throughout() -> None:
    found = report()
    found["machine"]["isa"] = list(found["machine"]["isa"])
    assert json.loads(json.dumps(found, allow_nan=False)) == found
