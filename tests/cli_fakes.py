"""A driver, a runtime and a registry that answer at once: the command line is tested without any engine."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import click.testing
import numpy as np
import pytest

from intarsia.backends.contract import Availability, Signature
from intarsia.cli.main import cli
from intarsia.cost.timing.footprint import Footprint, Tail
from intarsia.cost.timing.memory import Memory
from intarsia.cost.timing.statistics import Interval
from intarsia.cost.timing.verdict import Shown, Verdict
from intarsia.errors import ArtifactError
from intarsia.evaluation.benchmark import Benchmark
from intarsia.evaluation.recheck import Timing
from intarsia.evaluation.verification import Check
from intarsia.report.comparison import Comparison
from intarsia.runtime.verify import Deviation
from intarsia.target import Target, cores
from tests.fakes import fake_graph

if TYPE_CHECKING:
    from intarsia.graph import Graph


def _figures(
    interval: tuple[float, float],
    peak_mb: int,
    steady_mb: int,
    *,
    compile_s: float,
    cold_s: tuple[float, ...],
    calls: int | None = 180,
) -> dict[str, Any]:
    low, high = interval
    return {
        "interval_ms": {"low": low, "high": high},
        "p99_ms": None if calls is None else 1.1 * high,
        "p99_interval_ms": None if calls is None else {"low": high, "high": 1.2 * high},
        "calls": calls,
        "compile_s": compile_s,
        "cold_s": sum(cold_s) / len(cold_s),
        "cold_samples_s": list(cold_s),
        "memory": {"peak": peak_mb * 10**6, "steady": steady_mb * 10**6, "peak_samples": [peak_mb * 10**6]},
    }


SINGLES: list[dict[str, Any]] = [
    {
        "target": "onnxruntime",
        "tuned": "onnxruntime -optimization-level=all",
        "spin": "free",
        "latency_ms": 21.7,
        "speed": 0.894,
        "max_rel_error": 4.0e-7,
        "speedup_vs_best_single": {"median": 0.894, "low": 0.88, "high": 0.91},
        "shown_vs_best_single": "slower",
        **_figures((21.2, 22.4), 140, 104, compile_s=0.0012, cold_s=(0.61,)),
    },
    {"target": "mnn", "tuned": "mnn", "spin": "call", "latency_ms": 19.4, "speed": 1.0, "max_rel_error": 3.0e-6}
    | _figures((19.1, 20.0), 210, 180, compile_s=1.2, cold_s=(0.38, 0.42)),
    {"target": "ncnn", "failure": {"stage": "capability", "reason": "no GRU (gru_1)", "repro": None}},
    {"target": "odd", "failure": {"stage": "crash", "reason": "signal 11", "repro": "/cache/repro/odd.py"}},
]
MACHINE = {"cpu": "A CPU", "architecture": "x86_64", "cores": 2, "system": "Linux", "isa": ["avx2"]}
CRASHED = {"target": "odd", "reason": "failed on the whole model at crash: signal 11"}
FIGURES = _figures((15.7, 16.4), 231, 190, compile_s=1.2012, cold_s=(0.74,), calls=240)
MIX: dict[str, Any] = {
    "name": "collage",
    "targets": ["mnn", "onnxruntime"],
    "transitions": 1,
    "predicted_ms": 15.2,
    "latency_ms": 15.96,
    "speed": 1.2155,
    "speedup_vs_best_single": {"median": 1.2155, "low": 1.19, "high": 1.241},
    "shown_vs_best_single": "faster",
    "failure": None,
    "max_rel_error": 2.1e-6,
    **FIGURES,
}
PARTITIONS: list[dict[str, Any]] = [
    {
        "target": "mnn",
        "nodes": ["conv_0", "relu_0", "pool_0"],
        "predicted_ms": 11.25,
        "measured_ms": 11.9,
        "share": 0.744,
        "transition_ms": None,
        "runners_up": [
            {"target": "onnxruntime -optimization-level=all", "ms": 14.1, "is_measured": True, "plan_ms": 2.44},
            {"target": "ncnn", "ms": 15.3, "is_measured": False, "plan_ms": None},
        ],
        "not_chosen": [CRASHED],
    },
    {
        "target": "onnxruntime",
        "nodes": ["gru_1"],
        "predicted_ms": 3.95,
        "measured_ms": 4.1,
        "share": 0.256,
        "transition_ms": 0.31,
        "runners_up": [{"target": "mnn", "ms": 8.3, "is_measured": False, "plan_ms": 3.9}],
        "not_chosen": [{"target": "ncnn", "reason": "refused: no GRU (gru_1)"}, CRASHED],
    },
]
SEARCH: dict[str, Any] = {
    "seconds": 41.26,
    "measured": 120,
    "cached": 3,
    "segments": 3,
    "finished": False,
    "unmeasured": [{"target": "ncnn", "segments": [1]}],
    "control_void": False,
    "control": {"median": 1.003, "low": 0.996, "high": 1.011},
}
REPORT: dict[str, Any] = {
    "artifact": None,
    "model": "model.onnx",
    "strategy": "collage",
    "absent": [{"target": "tensorrt", "reason": "no backend drives 'tensorrt' yet"}],
    "latency_ms": {"median": 15.96, "min": 15.4, "p90": 17.25},
    "figures": {**FIGURES, "max_rel_error": 2.1e-6},
    "singles": SINGLES,
    "best_single": "mnn",
    "speedup_vs_best_single": {"median": 1.2155, "low": 1.19, "high": 1.241},
    "shown_vs_best_single": "faster",
    "conclusion": "won",
    "chosen": "collage",
    "reason": "the mix is 1.22 times as fast (1.19 to 1.24)",
    "predicted_ms": 15.2,
    "prediction": {"predicted_ms": 15.2, "measured_ms": 15.96, "predicted_over_measured": 0.9524},
    "partitions": PARTITIONS,
    "opportunities": [],
    "transitions": 1,
    "spin": "call",
    "max_rel_error": 2.1e-6,
    "mixes": [MIX],
    "segments": [
        {"nodes": 2, "first": "conv_0", "last": "relu_0", "ms": {"onnxruntime": 13.6, "mnn": 10.9, "ncnn": 14.8}},
        {"nodes": 1, "first": "pool_0", "last": "pool_0", "ms": {"onnxruntime": 0.42, "mnn": 0.35, "ncnn": None}},
        {"nodes": 1, "first": "gru_1", "last": "gru_1", "ms": {"onnxruntime": 3.64, "mnn": 8.15, "ncnn": None}},
    ],
    "search": SEARCH,
    "threads": 2,
    "max_memory": None,
    "shapes": {},
    "engines": {"mnn": {"version": "3.6.1"}, "onnxruntime": {"version": "1.31.1"}},
    "machine": MACHINE,
}
ALONE: dict[str, Any] = REPORT | {
    "chosen": "mnn",
    "reason": "no difference shown between the best mix and it (0.99 to 1.05 times as fast)",
    "conclusion": "no difference shown",
    "shown_vs_best_single": None,
    "latency_ms": {"median": 19.4, "min": 19.1, "p90": 20.3},
    "speedup_vs_best_single": {"median": 1.0, "low": 1.0, "high": 1.0},
    "figures": {**SINGLES[1], "max_rel_error": 2.1e-6},
    "predicted_ms": 19.2,
    "prediction": {"predicted_ms": 19.2, "measured_ms": 19.4, "predicted_over_measured": 0.9897},
    "partitions": [
        {
            "target": "mnn",
            "nodes": ["conv_0", "relu_0", "pool_0", "gru_1"],
            "predicted_ms": 19.2,
            "measured_ms": 19.4,
            "share": 1.0,
            "transition_ms": None,
            "runners_up": [
                {"target": "onnxruntime -optimization-level=all", "ms": 21.6, "is_measured": True, "plan_ms": 2.4}
            ],
            "not_chosen": [{"target": "ncnn", "reason": "refused: no GRU (gru_1)"}, CRASHED],
        }
    ],
    "opportunities": [
        {"target": "onnxruntime", "segments": [2, 3], "gain_ms": 4.2, "transitions": 1, "transition_ms": 3.9},
        {
            "target": "ncnn",
            "segments": [0, 2],
            "gain_ms": 0.4,
            "transitions": 1,
            "transition_ms": 1.9,
        },
    ],
    "transitions": 0,
    "mixes": [
        MIX
        | {"latency_ms": 19.0, "speed": 1.021, "speedup_vs_best_single": {"median": 1.021, "low": 0.99, "high": 1.05}}
        | {"shown_vs_best_single": "no difference shown"},
        MIX
        | {"name": "collage-2", "latency_ms": 23.0, "speed": None, "speedup_vs_best_single": None, "benchmarked": False}
        | {"shown_vs_best_single": None}
        | {"failure": {"stage": "verify", "reason": "y differs by 0.3"}},
    ],
}
"""A single engine ships."""
OLD: dict[str, Any] = {
    name: value
    for name, value in REPORT.items()
    if name not in ("absent", "prediction", "opportunities", "segments", "figures", "engines")
} | {
    "singles": [
        {name: each for name, each in single.items() if name != "speed" and name not in FIGURES} for single in SINGLES
    ],
    "mixes": [{name: MIX[name] for name in ("name", "targets", "transitions", "predicted_ms", "latency_ms")}],
    "partitions": [
        {name: part[name] for name in ("target", "nodes", "predicted_ms", "measured_ms")} for part in PARTITIONS
    ],
    "search": {name: value for name, value in SEARCH.items() if name not in ("unmeasured", "control")},
}
"""What an artifact holds that was compiled before runners-up were recorded."""
UNRACED: dict[str, Any] = {
    "target": "openvino",
    "tuned": "openvino",
    "spin": "call",
    "latency_ms": 31.2,
    "speed": None,
    "benchmarked": False,
    "max_rel_error": 7.0e-7,
    **_figures((30.1, 33.0), 88, 88, compile_s=0.32, cold_s=(0.85,), calls=None),
}
COMPARISON: dict[str, Any] = Comparison(REPORT | {"singles": [*SINGLES[:2], UNRACED, *SINGLES[2:]]}).json()
REDUCED: dict[str, Any] = ALONE | {
    "chosen": "mnn in int8-static",
    "reason": "with int8-static it is 2.31 times as fast (2.27 to 2.36)",
    "conclusion": "won",
    "shown_vs_best_single": "faster",
    "latency_ms": {"median": 8.41, "min": 8.3, "p90": 8.6},
    "speedup_vs_best_single": {"median": 2.307, "low": 2.27, "high": 2.36},
    "predicted_ms": 8.3,
    "prediction": {"predicted_ms": 8.3, "measured_ms": 8.41, "predicted_over_measured": 0.987},
    "max_rel_error": 0.021,
    "accuracy": {
        "max_error": 0.05,
        "inputs": 32,
        "worst": {"scores": 0.0182, "boxes": 0.0031},
        "mean": {"scores": 0.0164, "boxes": 0.0027},
    },
    "reduced_precision": [
        {
            "name": "mnn, spin call, int8-static",
            "targets": ["mnn"],
            "precision": ["int8-static"],
            "error": 0.0171,
            "transitions": 0,
            "predicted_ms": 8.3,
            "latency_ms": 8.41,
            "speed": 2.307,
            "benchmarked": True,
            "speedup_vs_best_single": {"median": 2.307, "low": 2.27, "high": 2.36},
            "failure": None,
        }
    ],
    "partitions": [
        ALONE["partitions"][0]
        | {
            "predicted_ms": 8.3,
            "measured_ms": 8.41,
            "precision": {"int8-static": ["conv_0", "gru_1"], "ranges": {"x": [-1.0, 1.0]}},
            "runners_up": [],
            "not_chosen": [],
        }
    ],
    "opportunities": [],
}


def _load(
    rate: float, *, instances: int = 2, p50_ms: float | None = None, p99_ms: float | None = None
) -> dict[str, Any]:
    """What a plan answers under load on two threads, as a report has it; without percentiles it was timed apart."""
    ends = {"low": None, "high": None} if p50_ms is None else {"low": 0.97 * rate, "high": 1.02 * rate}
    return {
        "latency_ms": 1e3 * instances / rate,
        "load": {
            "instances": instances,
            "threads": 2 // instances,
            "requests_per_second": {"median": rate, **ends},
            "p50_ms": p50_ms,
            "p99_ms": p99_ms,
        },
    }


_MIXED = MIX | _load(79.4, p50_ms=25.1, p99_ms=28.7)
UNDER_LOAD: dict[str, Any] = REPORT | {
    "objective": "throughput",
    "max_latency_ms": 30.0,
    "reason": "the mix answers 1.22 times as many requests a second (1.19 to 1.24)",
    "latency_ms": {"median": _MIXED["latency_ms"], "min": 24.9, "p90": 26.0},
    "figures": {**_MIXED, "max_rel_error": 2.1e-6},
    "singles": [
        SINGLES[0] | _load(58.4, p50_ms=34.0, p99_ms=39.5),
        SINGLES[1] | _load(65.3, instances=1, p50_ms=15.2, p99_ms=16.0),
        UNRACED | _load(31.0),
        *SINGLES[2:],
    ],
    "mixes": [_MIXED],
    "prediction": None,
    "threads": 1,
    "instances": 2,
}
"""Requests a second are the objective, and a mix ships twice."""
STORED = {"alone": ALONE, "old": OLD, "reduced_precision": REDUCED, "throughput": UNDER_LOAD}
"""Reports by the name of the artifact; any other holds `REPORT`."""
PLAN = "threads: 2\nspin: call\npartitions:\n- target: mnn\n  nodes: [conv_0, relu_0, pool_0]\n"
GRAPH = fake_graph(
    [
        ("conv_0", "Conv", ["x", "w"], ["a"]),
        ("relu_0", "Relu", ["a"], ["b"]),
        ("pool_0", "MaxPool", ["b"], ["c"]),
        ("gru_1", "GRU", ["c"], ["y"]),
    ],
    weights=["w"],
    shapes={"x": (1, 3, 8, 8), "w": (4, 3, 3, 3), "y": None},
)
"""Of `REPORT`; the segments fit it."""
STEPS = (
    SimpleNamespace(target="mnn", nodes=("a", "b")),
    SimpleNamespace(target="onnxruntime", nodes=("c",)),
)


@dataclass
class FakeArtifact:
    is_source = False
    path: Path
    trust: Any = None
    signer: str | None = None
    fits_signature: bool | None = None
    held_code: tuple[Any, ...] = ()
    named_code: tuple[Any, ...] = ()

    def __post_init__(self) -> None:
        if not self.path.exists():
            raise ArtifactError(f"{self.path}: no such file")

    plan = SimpleNamespace(settings=SimpleNamespace(threads=2, verified=True))

    def changed_engines(self) -> list[str]:
        return ["mnn 3.6.1 → 3.7.0"]

    def check_machine(self) -> list[str]:
        return ["cores: measured on 4, here 2"]

    manifest = SimpleNamespace(
        machine=SimpleNamespace(cpu="A CPU"),
        engines={"mnn": SimpleNamespace(version="3.6.1", licence="BSD-3-Clause")},
    )

    def report(self) -> dict[str, Any]:
        return dict(STORED.get(self.path.stem, REPORT))

    def plan_text(self) -> str:
        return PLAN

    def save_model(self, path: Path) -> None:
        path.write_text("a model")

    def graph(self) -> Graph:
        return GRAPH


@dataclass
class FakeModel:
    """Adds one to its input ``x``; the second output has a name that no file can bear."""

    artifact: Any = None
    closed: bool = False
    report: Mapping[str, Any] = field(default_factory=lambda: dict(REPORT))
    inputs: tuple[Signature, ...] = (Signature(name="x", dtype="float32", shape=(2, 3)),)
    plan: Any = field(default_factory=lambda: SimpleNamespace(partitions=STEPS))

    @property
    def sample_inputs(self) -> tuple[Signature, ...]:
        return self.inputs

    def __enter__(self) -> FakeModel:
        return self

    def __exit__(self, *_: object) -> None:
        self.closed = True

    def __call__(self, feeds: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {"y": feeds["x"] + 1, "block/flag:0": np.array([True, False]), "odd": np.array([1.0, np.inf, np.nan])}

    def load(self) -> None:
        """Nothing to load."""

    def profile(self, feeds: Mapping[str, np.ndarray]) -> list[float]:
        return [1.5, 0.25]

    def save(self, path: Path) -> Path:
        path.write_text("an artifact")
        return path


class Fakes:
    """What the verbs call, and how they called it."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, dict[str, Any]]] = []
        self.failure: BaseException | None = None
        self.model = FakeModel()
        self.tuned: list[Any] = []
        self.engines = {
            "mnn": Availability(usable=True, version="3.6.1", devices=("cpu", "vulkan:0")),
            "ncnn": Availability(usable=False, reason="not installed", fix="pip install 'intarsia[ncnn]'"),
            "odd": Availability(usable=False, reason="odd: its plug-in does not import: no module named 'odd'"),
        }

        self.checks: tuple[Check, ...] = (
            Check(
                inputs="seed 1",
                outputs=(
                    Deviation(name="y", error=2.1e-6, allowed=1e-3),
                    Deviation(name="z", error=float("inf"), allowed=1e-3),
                ),
                unchecked=("labels",),
                guilty="partition 1 on onnxruntime is wrong: z: error beyond any number, allowed 0.001",
            ),
        )
        self.timing: Timing | None = Timing(
            ms=Interval(median=15.0, low=14.8, high=15.3),
            then_ms=14.9,
            single="mnn -precision=low",
            single_ms=Interval(median=12.0, low=11.9, high=12.2),
            speedup=Interval(median=0.8, low=0.78, high=0.83),
            shown=Shown.SLOWER,
            is_slower=True,
            untimed=None,
        )
        self.benchmark_failures: dict[str, tuple[str, str]] = {}
        self.devices = {
            "cpu": (Target("llvm"),),
            "vulkan": (Target("vulkan -device_name=llvmpipe -device_type=cpu"), Target("vulkan -device_name=iGPU")),
        }
        self.unsupported = {"bnns": Availability(usable=False, reason="described only: it needs a machine of Apple's")}

    def _answer(self, answer: Any, model: Any, settings: dict[str, Any]) -> Any:
        self.calls.append((model, settings))
        if self.failure is not None:
            raise self.failure
        return answer

    def compile(self, model: Any, target: Any = None, **settings: Any) -> Any:
        return self._answer(self.model, model, settings | {"target": target})

    def compare(self, model: Any, target: Any = None, **settings: Any) -> Any:
        return self._answer(SimpleNamespace(json=lambda: COMPARISON), model, settings | {"target": target})

    def tune(self, models: Sequence[Path], target: Any = None, **settings: Any) -> Iterator[Any]:
        self.calls.append((models, settings | {"target": target}))
        for found in self.tuned or [REPORT] * len(models):
            if isinstance(found, KeyboardInterrupt):
                raise found
            yield found

    def loaded(self, opened: FakeArtifact) -> FakeModel:
        if self.failure is not None:
            raise self.failure
        return self.model

    def export(self, model: Any, folder: Path, *, has_test: bool = False) -> Any:
        return self._answer(
            (folder / "model.mnn", folder / "options.json"),
            model,
            {"folder": folder} | ({"has_test": True} if has_test else {}),
        )

    def verify_artifact(self, artifact: Any, records: Any, seeds: Any, given: Any, watch: Any) -> Any:
        return self._answer(self.checks, artifact, {"seeds": seeds, "given": dict(given)})

    def right(self) -> None:
        """Let the checks come out right."""
        self.checks = tuple(replace(each, outputs=each.outputs[:1], guilty=None) for each in self.checks)

    def retime(self, artifact: Any, seed: int, watch: Any) -> Any:
        return self._answer(self.timing, artifact, {"seed": seed})

    def benchmark(self, artifacts: Any, against: Any, budget_s: float, seed: int, watch: Any) -> Any:
        names = ("onnxruntime", "m.intarsia", "old.intarsia")
        benchmarked = [name for name in names if name not in self.benchmark_failures]
        memory = Footprint(cold_s=(0.52,), memory=(Memory(peak=61 * 10**6, steady=50 * 10**6),))
        times = {"onnxruntime": 20.0, "control": 20.0, "m.intarsia": 15.0, "old.intarsia": 40.0}
        verdict = Verdict(
            rounds_ms={name: (ms,) * 30 for name, ms in times.items() if name in (*benchmarked[:2], "control")},
            left_ms={name: (times[name],) * 10 for name in benchmarked[2:]},
            tails={name: Tail.of([times[name]] * (200 if name in benchmarked[:2] else 50)) for name in benchmarked},
            footprints=dict.fromkeys(benchmarked, memory),
            set_sizes=(10, 10, 10),
            profile_ms={},
            errors={},
            failed=self.benchmark_failures,
            is_void=False,
        )
        found = Benchmark(baseline="onnxruntime", names=names, targets=dict.fromkeys(names, "mnn"), verdict=verdict)
        return self._answer(found, artifacts, {"against": list(map(str, against)), "budget_s": budget_s, "seed": seed})

    def random_feeds(self, inputs: Sequence[Signature], seed: int) -> dict[str, np.ndarray]:
        return {value.name: np.full(value.shape or (), seed, value.dtype) for value in inputs}

    def install(self, patch: pytest.MonkeyPatch) -> None:
        """Stand in for the real modules until the test ends."""
        machine = SimpleNamespace(
            architecture="x86_64", cpu="A CPU", cores=2, isa=("avx2",), system="Linux", fingerprint="0123456789abcdef"
        )
        artifact = {"Artifact": FakeArtifact, "CompiledModel": self.loaded}
        registry = {
            "names": lambda: tuple(self.engines),
            "unsupported_names": lambda: tuple(self.unsupported),
            "probe": lambda name: (self.engines | self.unsupported)[name],
            "devices": lambda name: (self.engines | self.unsupported)[name].devices,
            "AWAY": "@",
        }
        detect = {
            "LOOKED_AT": ("cpu", "cuda", "vulkan"),
            "cores_here": lambda: cores.Cores(shown=8, affinity=4, quota=2.5),
            "memory_bytes": lambda: 12 << 30,
            "devices_here": lambda type_: self.devices.get(type_, ()),
            "lack": lambda type_: None if type_ in self.devices else f"this machine shows no {type_} device; fix it",
            "lack_of": lambda type_, index: None,
        }
        contents: dict[str, dict[str, Any]] = {
            "intarsia.driver": {"compile": self.compile, "compare": self.compare, "tune": self.tune},
            "intarsia.runtime": artifact
            | {"export": self.export, "random_feeds": self.random_feeds}
            | {"this_machine": lambda: machine},
            "intarsia.backends.registry": registry,
            "intarsia.evaluation.verification": {"verify_artifact": self.verify_artifact},
            "intarsia.evaluation.recheck": {"retime": self.retime},
            "intarsia.evaluation.benchmark": {"benchmark": self.benchmark},
            "intarsia.target.detect": detect,
        }
        for name, members in contents.items():
            module = ModuleType(name)
            vars(module).update(members)
            patch.setitem(sys.modules, name, module)


def invoke(*arguments: str | os.PathLike[str]) -> click.testing.Result:
    """One run of the command, its stdout and stderr apart."""
    runner = click.testing.CliRunner(env={"COLUMNS": "100"})
    return runner.invoke(cli, [os.fspath(argument) for argument in arguments], prog_name="intarsia")
