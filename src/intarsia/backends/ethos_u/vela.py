"""Calls Vela, Arm's compiler for Ethos-U, and reads what it wrote: commands, weights, memory, and its estimate."""

from __future__ import annotations

import csv
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from intarsia.codegen import processes
from intarsia.errors import CompileError
from intarsia.files import scratch

PACKAGE, MODULE = "ethos-u-vela", "ethosu.vela"
TIMEOUT_S = 600.0
_MOST_TEXT = 1000
_FIGURES: Mapping[str, str] = {
    "cycles_total": "cycles",
    "inference_time": "seconds",
    "sram_memory_used": "sram_kib",
    "off_chip_flash_memory_used": "flash_kib",
    "nn_macs": "multiplications",
}
"""Columns of Vela's summary that are kept, and what they are called here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Port:
    """Where an input or a result lies in the memory of the accelerator.

    Attributes:
        offset: Bytes from the start of its region.
        size: Bytes.
        region: Number of its base address.
    """

    offset: int
    size: int
    region: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Compiled:
    """What Vela made of a file.

    Attributes:
        commands: The command stream, as the driver takes it.
        weights: Packed for the accelerator.
        weight_region: Number of the weights' base address.
        memory: Bytes of the memory between, inputs and results inside.
        memory_region: Number of its base address.
        fast: Bytes of the faster memory; 0 for none of its own.
        fast_region: Number of its base address.
        inputs: In the file's order.
        outputs: In the file's order.
        estimate: Vela's own figures: nothing was run.
    """

    commands: np.ndarray = field(repr=False)
    weights: np.ndarray = field(repr=False)
    weight_region: int
    memory: int
    memory_region: int
    fast: int
    fast_region: int
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    estimate: Mapping[str, float]


def installed() -> str | None:
    """The version that is installed; ``None`` if none is."""
    try:
        return version(PACKAGE)
    except PackageNotFoundError:
        return None


@cache
def compiled(model: bytes, accelerator: str) -> Compiled:
    """What Vela makes of a ``.tflite`` file.

    Args:
        model: The file.
        accelerator: As its option ``--accelerator-config`` takes it.

    Raises:
        CompileError: It refuses the file, or leaves a part of it to the processor.
        BackendTimeoutError: It did not end in time.
    """
    with scratch() as folder:
        path = folder / "region.tflite"
        with path.open("wb") as file:
            file.write(model)
        command = [sys.executable, "-m", MODULE, str(path), "--accelerator-config", accelerator]
        command += ["--output-format", "raw", "--output-dir", str(folder)]
        done = processes.run(command, name="vela", timeout_s=TIMEOUT_S, folder=folder)
        said = f"{done.stdout}{done.stderr}".strip()
        found = sorted(folder.glob("*.npz"))
        if done.returncode != 0 or len(found) != 1:
            raise CompileError("vela", said[-_MOST_TEXT:] or f"it ended with {done.returncode} and said nothing")
        with np.load(found[0], allow_pickle=True) as arrays:
            return _read(arrays, _estimate(folder))


def _read(arrays: Any, estimate: Mapping[str, float]) -> Compiled:
    fast, memory = int(arrays["scratch_fast_size"]), int(arrays["scratch_size"])
    regions = int(arrays["scratch_region"]), int(arrays["scratch_fast_region"])
    return Compiled(
        commands=np.frombuffer(arrays["cmd_data"].tobytes(), np.uint8),
        weights=np.frombuffer(arrays["weight_data"].tobytes(), np.uint8),
        weight_region=int(arrays["weight_region"]),
        memory=memory,
        memory_region=regions[0],
        fast=fast if regions[1] != regions[0] else 0,
        fast_region=regions[1],
        inputs=_ports(arrays, "input"),
        outputs=_ports(arrays, "output"),
        estimate=estimate,
    )


def _ports(arrays: Any, side: str) -> tuple[Port, ...]:
    rows = zip(
        arrays[f"{side}_shape"],
        arrays[f"{side}_elem_size"],
        arrays[f"{side}_offset"],
        arrays[f"{side}_region"],
        strict=True,
    )
    return tuple(
        Port(offset=int(offset), size=int(np.prod(shape)) * int(size), region=int(region))
        for shape, size, offset, region in rows
    )


def _estimate(folder: Path) -> dict[str, float]:
    found: dict[str, float] = {}
    for path in folder.glob("*summary*.csv"):
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                found |= {ours: float(row[name]) for name, ours in _FIGURES.items() if row.get(name)}
    return found
