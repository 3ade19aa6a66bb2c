"""A driver, a runtime and a registry that answer at once: the command line is tested without any engine."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import click.testing
import numpy as np
import pytest

from intarsia.backends.base import Availability, Signature
from intarsia.cli.main import cli
from intarsia.errors import ArtifactError

SINGLES: list[dict[str, Any]] = [
    {"target": "onnxruntime", "tuned": "onnxruntime -optimization-level=all", "spin": "free", "latency_ms": 21.7},
    {"target": "mnn", "tuned": "mnn", "spin": "call", "latency_ms": 19.4},
    {"target": "ncnn", "failure": {"stage": "capability", "reason": "gru_1: no GRU", "repro": None}},
    {"target": "odd", "failure": {"stage": "crash", "reason": "signal 11", "repro": "/cache/repro/odd.py"}},
]
MACHINE = {"cpu": "A CPU", "architecture": "x86_64", "cores": 2}
REPORT: dict[str, Any] = {
    "artifact": None,
    "model": "model.onnx",
    "strategy": "collage",
    "latency_ms": {"median": 15.96, "min": 15.4, "p90": 17.25},
    "singles": SINGLES,
    "best_single": "mnn",
    "speedup_vs_best_single": {"median": 1.2155, "low": 1.19, "high": 1.241},
    "chosen": "collage-1",
    "reason": "it beats the best single engine beyond the noise",
    "predicted_ms": 15.2,
    "partitions": [
        {"target": "mnn", "nodes": ["conv_0", "relu_0", "pool_0"], "predicted_ms": 11.25, "measured_ms": 11.9},
        {"target": "onnxruntime", "nodes": ["gru_1"], "predicted_ms": 3.95, "measured_ms": None},
    ],
    "switches": 1,
    "spin": "call",
    "max_rel_error": 2.1e-6,
    "mixes": [
        {
            "name": "collage-1",
            "targets": ["mnn", "onnxruntime"],
            "switches": 1,
            "predicted_ms": 15.2,
            "latency_ms": 15.96,
        }
    ],
    "search": {"seconds": 41.26, "measured": 120, "cached": 3, "atoms": 9, "finished": True, "control_void": False},
    "threads": 2,
    "machine": MACHINE,
}
COMPARISON: dict[str, Any] = {
    "singles": SINGLES,
    "best_single": "mnn",
    "recommendation": "mnn: 1.12 x the speed of the next, onnxruntime",
    "threads": 2,
    "machine": MACHINE,
}
PLAN = "threads: 2\nspin: call\npartitions:\n- target: mnn\n  nodes: [conv_0, relu_0, pool_0]\n"
STEPS = (
    SimpleNamespace(target="mnn", nodes=("a", "b")),
    SimpleNamespace(target="onnxruntime", nodes=("c",)),
)


@dataclass
class FakeArtifact:
    path: Path

    def __post_init__(self) -> None:
        if not self.path.exists():
            raise ArtifactError(f"{self.path}: no such file")

    machine = SimpleNamespace(cpu="A CPU")
    manifest = SimpleNamespace(engines={"mnn": SimpleNamespace(version="3.6.1", licence="BSD-3-Clause")})

    def report(self) -> dict[str, Any]:
        return dict(REPORT)

    def plan_text(self) -> str:
        return PLAN


@dataclass
class FakeModel:
    """Adds one to its input ``x``; the second output has a name that no file can bear."""

    artifact: Any = None
    closed: bool = False
    report: Mapping[str, Any] = field(default_factory=lambda: dict(REPORT))
    inputs: tuple[Signature, ...] = (Signature(name="x", dtype="float32", shape=(2, 3)),)
    plan: Any = field(default_factory=lambda: SimpleNamespace(partitions=STEPS))

    def __enter__(self) -> FakeModel:
        return self

    def __exit__(self, *_: object) -> None:
        self.closed = True

    def __call__(self, feeds: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {"y": feeds["x"] + 1, "block/flag:0": np.array([True, False]), "odd": np.array([1.0, np.inf, np.nan])}

    def profile(self, feeds: Mapping[str, np.ndarray]) -> list[float]:
        return [1.5, 0.25]

    def save(self, path: Path) -> Path:
        path.write_text("an artifact")
        return path


class Fakes:
    """What the verbs call, and how they called it."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, dict[str, Any]]] = []
        self.failure: Exception | None = None
        self.model = FakeModel()
        self.engines = {
            "mnn": Availability(usable=True, version="3.6.1", devices=("cpu",)),
            "ncnn": Availability(usable=False, reason="not installed", mend="pip install 'intarsia[ncnn]'"),
            "odd": Availability(usable=False, reason="odd: its plug-in does not import: no module named 'odd'"),
        }

    def _answer(self, answer: Any, model: Any, settings: dict[str, Any]) -> Any:
        self.calls.append((model, settings))
        if self.failure is not None:
            raise self.failure
        return answer

    def compile(self, model: Any, target: Any = None, **settings: Any) -> Any:
        return self._answer(self.model, model, settings | {"target": target})

    def compare(self, model: Any, target: Any = None, **settings: Any) -> Any:
        return self._answer(SimpleNamespace(json=lambda: COMPARISON), model, settings | {"target": target})

    def load(self, path: Path) -> Any:
        return self._answer(self.model, path, {})

    def export(self, model: Any, folder: Path) -> Any:
        return self._answer((folder / "model.mnn", folder / "options.json"), model, {"folder": folder})

    def random_feeds(self, inputs: Sequence[Signature], seed: int) -> dict[str, np.ndarray]:
        return {value.name: np.full(value.shape or (), seed, value.dtype) for value in inputs}

    def install(self, patch: pytest.MonkeyPatch) -> None:
        """Stand in for the real modules until the test ends."""
        machine = SimpleNamespace(architecture="x86_64", cpu="A CPU", cores=2, isa=("avx2",))
        artifact = {"Artifact": FakeArtifact, "CompiledModel": lambda opened: self.model}
        registry = {"names": lambda: tuple(self.engines), "probe": lambda name: self.engines[name]}
        contents: dict[str, dict[str, Any]] = {
            "intarsia.driver": {"compile": self.compile, "compare": self.compare},
            "intarsia.runtime": artifact
            | {"load": self.load, "export": self.export, "random_feeds": self.random_feeds}
            | {"this_machine": lambda: machine},
            "intarsia.backends.registry": registry,
        }
        for name, members in contents.items():
            module = ModuleType(name)
            vars(module).update(members)
            patch.setitem(sys.modules, name, module)


def invoke(*arguments: str | os.PathLike[str]) -> click.testing.Result:
    """One run of the command, its stdout and stderr apart."""
    runner = click.testing.CliRunner(env={"COLUMNS": "100"})
    return runner.invoke(cli, [os.fspath(argument) for argument in arguments], prog_name="intarsia")
