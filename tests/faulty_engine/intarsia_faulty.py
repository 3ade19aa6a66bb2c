"""An engine that fails on demand: it takes every node, and then does what its ``mode`` says.

It is installed like any plug-in: this folder, with the distribution beside it, is put on the path.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

import numpy as np

from intarsia.backends.contract import (
    Availability,
    Backend,
    BoundCall,
    EngineArtifact,
    Executable,
    Signature,
    Slot,
    Traits,
)
from intarsia.config import RunSettings
from intarsia.errors import CompileError, LoadError
from intarsia.graph import Graph, Node, SubModel
from intarsia.spec import Enum, Option
from intarsia.target import Target, engine_kind

MODES = ("segfault", "hang", "raise", "wrong", "compile", "refused-compile", "refused-load")
"""``compile`` fails as nobody expects; the two that are refused fail as the contract asks."""
FAULTY = engine_kind(
    "faulty",
    "fails on demand",
    (Option(name="mode", type=Enum(MODES), default="raise", meaning="how it fails"),),
)


class FaultyBackend(Backend):
    """Accepts all, and fails as its target says."""

    name: ClassVar[str] = "faulty"
    extra: ClassVar[str] = "faulty"
    licence: ClassVar[str] = "Apache-2.0"
    traits: ClassVar[Traits] = Traits(writes_in_place=True)

    def probe(self) -> Availability:
        return Availability(usable=True, version="0.1", devices=("cpu",))

    def refusal(self, node: Node, graph: Graph, target: Target) -> str | None:
        return None

    def compile(self, model: SubModel, target: Target, settings: RunSettings) -> EngineArtifact:
        if target["mode"] == "compile":
            raise ValueError("an exception that nobody expected")
        if target["mode"] == "refused-compile":
            raise CompileError(self.name, "no kernel for this shape")
        borders = {"inputs": model.inputs, "outputs": model.outputs}
        return EngineArtifact(
            files={}, meta={side: [[v.name, v.dtype, v.shape] for v in values] for side, values in borders.items()}
        )

    def load(
        self, artifact: EngineArtifact, weights: Mapping[str, np.ndarray], target: Target, settings: RunSettings
    ) -> Executable:
        if target["mode"] == "refused-load":
            raise LoadError(self.name, "not enough memory")
        return FaultyExecutable(artifact, target["mode"])

    def export(self, model: SubModel, target: Target, settings: RunSettings, folder: Path) -> tuple[Path, ...]:
        return ()


class FaultyExecutable(Executable):
    """Fails when it is called."""

    def __init__(self, artifact: EngineArtifact, mode: str) -> None:
        self.inputs, self.outputs = (
            tuple(Signature(name=n, dtype=d, shape=tuple(s)) for n, d, s in artifact.meta[side])
            for side in ("inputs", "outputs")
        )
        self._mode = mode

    def bind(self, inputs: Mapping[str, np.ndarray | Slot], outputs: Mapping[str, np.ndarray | Slot]) -> BoundCall:
        def call() -> None:
            if self._mode == "segfault":
                ctypes.string_at(0)
            if self._mode == "hang":
                time.sleep(3600)
            if self._mode == "raise":
                raise RuntimeError("it never works")
            for array in outputs.values():
                assert isinstance(array, np.ndarray)
                array[...] = 0.5

        return call
