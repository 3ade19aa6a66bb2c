"""Who a plan races against: every engine called directly, at each of its settings, as far as it answers rightly."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

import networks
from benchmarks import engine_files
from benchmarks.paired_benchmark import Contender, Look, Result, screen
from intarsia.backends import registry
from intarsia.config import RunSettings, Spin
from intarsia.cost.timing.statistics import Interval
from intarsia.runtime import this_machine, thread_budget
from intarsia.runtime.verify import TOLERANCE

DEFAULT = "onnxruntime-default"
PRODUCT = "intarsia"
BASELINES = ("onnxruntime", "openvino", "mnn", "ncnn")
"""The engines whose best is to be beaten, each tuned alike. What is our own is not among them."""
EXPORTED = ("mnn", "ncnn")
"""Those of them that read files of their own; the others read ONNX."""
CLOSE = 1.25
"""Settings that a first look shows to be slower than this many times the best do not race."""
MOST = 4
"""Settings that race, at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """What a first look showed.

    Attributes:
        contenders: Everyone who started, by name.
        looks_ms: Milliseconds of those that answer rightly.
        wrong: Largest max|a-b| / max|b| against ONNX Runtime's defaults of those that do not.
    """

    contenders: Mapping[str, Contender]
    looks_ms: Mapping[str, float]
    wrong: Mapping[str, float]

    @property
    def tuned(self) -> list[str]:
        """All but ONNX Runtime's defaults, the fastest first."""
        return sorted((name for name in self.looks_ms if name != DEFAULT), key=self.looks_ms.__getitem__)

    def racing(self, shipped: Collection[str] = ()) -> list[Contender]:
        """ONNX Runtime's defaults, the fastest settings as far as they are close, and the best of the engines shipped.

        A look errs where the machine changes its pace; what ships was timed more than once.
        """
        close = [name for name in self.tuned if self.looks_ms[name] <= CLOSE * self.looks_ms[self.tuned[0]]]
        default = [DEFAULT] if DEFAULT in self.looks_ms else []
        best = [found[0] for engine in shipped if (found := self.best_of(engine)) is not None]
        return [self.contenders[name] for name in dict.fromkeys((*default, *close[:MOST], *best))]

    def best_of(self, engine: str, result: Result | None = None) -> tuple[str, float] | None:
        """The engine's best setting and its milliseconds: in the race, else at the first look."""
        names = [name for name in self.tuned if self.contenders[name].kind == engine]
        raced = [(name, result.median_ms(name)) for name in names if result and name in result.rounds_ms]
        looks = [(name, self.looks_ms[name]) for name in names]
        return min(raced or looks, key=lambda pair: pair[1], default=None)


def onnx_readers(model: Path) -> Iterator[Contender]:
    """The engines that read ONNX."""
    yield Contender(name=DEFAULT, kind=DEFAULT, model=model)
    yield Contender(name="openvino", kind="openvino", model=model)
    for level in ("all", "extended"):
        for spin in (True, False):
            name = f"onnxruntime-{level}{'' if spin else '-nospin'}"
            yield Contender(name=name, kind="onnxruntime", model=model, options={"level": level, "spin": spin})


def exported(artifact: Path, report: Mapping[str, Any], folder: Path) -> Iterator[Contender]:
    """The engines that read files of their own, as far as they take the network whole, as they were tuned for it."""
    for single in report["singles"]:
        engine = single["target"].split()[0]
        if engine not in EXPORTED or "failure" in single:
            continue
        settings = RunSettings(threads=thread_budget(), spin=Spin(single["spin"]))
        if engine_files.write(artifact, single["tuned"], settings, folder / engine):
            yield Contender(name=single["tuned"], kind=engine, model=folder / engine)


def look(contenders: Sequence[Contender], feeds: Path, folder: Path, threads: int | None = None) -> Field:
    """See who starts, who answers rightly, and how fast they are, about; on all threads if none are stated."""
    looks = screen(contenders, feeds, threads or thread_budget(), folder)
    errors = {name: _error(found, looks[DEFAULT]) for name, found in looks.items() if DEFAULT in looks}
    wrong = {name: error for name, error in errors.items() if not error <= TOLERANCE["float32"]}
    return Field(
        contenders={contender.name: contender for contender in contenders if contender.name in looks},
        looks_ms={name: found.ms for name, found in looks.items() if name not in wrong},
        wrong=wrong,
    )


def _error(found: Look, expected: Look) -> float:
    pairs = list(zip(found.outputs, expected.outputs, strict=False))
    if len(found.outputs) != len(expected.outputs) or any(a.size != b.size for a, b in pairs):
        return float("inf")
    return max((_apart(a, b) for a, b in pairs), default=0.0)


def _apart(actual: np.ndarray, expected: np.ndarray) -> float:
    """Engines call the same numbers by other shapes and types: only the numbers count."""
    a, b = (array.astype(np.float64).ravel() for array in (actual, expected))
    scale = float(np.abs(b).max(initial=0.0))
    return float(np.abs(a - b).max(initial=0.0)) / (scale or 1.0)


def save_network(name: str, folder: Path) -> Path:
    """Write the network and return its path; in a process of its own, which takes what built it along when it ends.

    Raises:
        ImportError: It needs the ``bench`` extra.
    """
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(networks.save, name, folder).result()


def save_feeds(model: Path, folder: Path) -> Path:
    """The inputs of everyone, as a file."""
    path = folder / "feeds.npz"
    np.savez(path, allow_pickle=False, **networks.feeds(model, seed=1))
    return path


def machine() -> dict[str, Any]:
    """What the figures were measured on."""
    here = this_machine()
    return {"cpu": here.cpu, "architecture": here.architecture, "threads": thread_budget()}


def versions() -> dict[str, str | None]:
    """The engines that are raced against."""
    return {name: registry.require(name).version for name in BASELINES}


def figures(result: Result) -> dict[str, Any]:
    """Medians, the control, and how much was measured."""
    return {
        "median_ms": {name: round(result.median_ms(name), 4) for name in result.rounds_ms},
        "control": round(result.control, 4),
        "void": result.is_void,
        "sets": len(result.set_sizes),
        "rounds": result.rounds,
    }


def interval(found: Interval) -> dict[str, float]:
    """For a file."""
    return {name: round(value, 4) for name, value in asdict(found).items()}


def summary(report: Mapping[str, Any]) -> dict[str, Any]:
    """What of a compile's report is kept with the figures."""
    kept = (
        *("chosen", "spin", "reason", "latency_ms", "predicted_ms", "speedup_vs_best_single", "transitions"),
        "max_rel_error",
    )
    of_parts = ("target", "predicted_ms", "measured_ms")
    parts = [{**{key: part[key] for key in of_parts}, "nodes": len(part["nodes"])} for part in report["partitions"]]
    counts = {key: value for key, value in report["search"].items() if isinstance(value, int | float)}
    return {**{key: report[key] for key in kept}, "partitions": parts, "search": counts}
