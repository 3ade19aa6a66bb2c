"""The artifact: plan, engine blobs, graph and weights in one file, with what it was built on and how to read it.

Weights are stored once, page-aligned, and mapped when it is loaded; engine blobs refer to them by name. The graph
travels too, so that a plan can be explained, edited and rebuilt from the artifact alone. A model with open dimensions
has a plan for each bucket of sizes, and what two of them have in common is stored once.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from mmap import mmap
from typing import TYPE_CHECKING, Any

import numpy as np

from intarsia.backends import registry
from intarsia.backends.contract import EngineArtifact, Signature
from intarsia.backends.contract.artifact import MappedFiles
from intarsia.backends.contract.metadata import PROGRAM
from intarsia.errors import ArtifactError, IntarsiaError, ModelError
from intarsia.files import AnyPath
from intarsia.runtime.artifact.checks import check_meta, manifest_faults, raise_first
from intarsia.runtime.artifact.container import DEPLOYMENT, Reader
from intarsia.runtime.artifact.machine import this_machine
from intarsia.runtime.artifact.manifest import StoredStep, entry_of
from intarsia.runtime.artifact.manifest_reading import read_manifest
from intarsia.runtime.artifact.trust import (
    UNSTATED,
    HeldCode,
    NamedCode,
    Trust,
    code_of,
    code_of_engine,
    holds_code,
    is_source,
)
from intarsia.runtime.dtypes import numpy_dtype
from intarsia.runtime.nested_artifacts import maker_of
from intarsia.runtime.plan import Build, Plan

if TYPE_CHECKING:
    from pathlib import Path

    from intarsia.graph import Graph
    from intarsia.runtime.buckets import InputSpec


class Artifact:
    """An artifact file, read and checked; nothing of an engine is loaded yet."""

    def __init__(self, path: AnyPath, trust: Trust = UNSTATED) -> None:
        """Read it, once its signature was checked.

        Raises:
            ArtifactError: It is damaged, or none; or not signed as asked, or would run what is not allowed.
        """
        self.place: str = os.fspath(path)
        self.trust = trust
        self._reader = Reader(path)
        if DEPLOYMENT in self._reader.sizes:
            raise ArtifactError(
                f"{path}: an artifact for several machines; say where they are: intarsia run --deployment FILE, in "
                "Python intarsia.load_deployment"
            )
        self.signer = trust.check_signature(self._reader)
        """The fingerprint of the key that signed it, as it says itself unless ``trust`` asks; ``None`` if none."""
        try:
            self.manifest = read_manifest(self._reader.read("manifest.json"))
            raise_first(manifest_faults(self.manifest, self._reader.sizes))
            self.buckets = tuple(map(self.manifest.bucket, self.manifest.buckets))
            self.plan = self.buckets[-1].plan if self.buckets else self.manifest.plan()
        except ArtifactError as error:
            raise ArtifactError(f"{path}: {error}") from error
        # At once: a `cached_property` of Python 3.11 holds a lock, which a fork may leave held for ever.
        self.named_code = self._named()
        """Libraries and interpreters that loading would run, and that are no part of it."""
        if not trust.is_read:
            self.check_code()

    def _named(self) -> tuple[NamedCode, ...]:
        steps = reversed(list(enumerate(self.manifest.steps, start=1)))
        targets = {leaf.target: number for number, step in steps for leaf in step.step.leaves}
        named = [code for target, number in targets.items() for code in code_of(target, f"partition {number}")]
        return (*named, *(code for name in self.manifest.engines for code in code_of_engine(name)))

    @property
    def path(self) -> Path:
        """Where it lies. A run takes ``place``, the same as text, and so loads no pathlib."""
        from pathlib import Path

        return Path(self.place)

    @property
    def held_code(self) -> tuple[HeldCode, ...]:
        """Machine code inside it that loading may run."""
        import hashlib

        found = []
        for number, step, file in self._held():
            content = self._reader.read(self._entry(number, file))
            sha256 = hashlib.sha256(content).hexdigest()
            found.append(HeldCode(file=entry_of(number, file), engine=step, nbytes=len(content), sha256=sha256))
        return tuple(found)

    @property
    def fits_signature(self) -> bool | None:
        """Whether the key that its signature names has signed it as it is (see `fits`); ``None`` if it has none."""
        from intarsia.runtime.artifact.signature import fits, signature_of

        signed = signature_of(self._reader)
        return None if signed is None else fits(self._reader, signed)

    def check_code(self, *more: NamedCode) -> None:
        """Ask `Trust.check_code` whether it may run what it names and holds, and what else its parts name."""
        held = [entry_of(number, file) for number, _, file in self._held()]
        self.trust.check_code(self.place, (*self.named_code, *more), held)

    def _held(self) -> Iterable[tuple[int, str, str]]:
        """Place, engine and file of each that holds machine code."""
        for number, step in enumerate(self.manifest.steps):
            for file in step.files:
                kind, name = maker_of(step.step, file)
                if holds_code(kind, name) or (self.is_source and is_source(file)):
                    yield number, kind, file

    @property
    def is_source(self) -> bool:
        """Whether it is a program of C, which is compiled where it is loaded."""
        return self.manifest.settings.ahead_of_time

    @property
    def content(self) -> mmap:
        """All bytes of the file, mapped."""
        return self._reader.buffer

    def report(self) -> dict[str, Any]:
        """What the compile that made it reported."""
        return report_in(self._reader)

    def plan_text(self) -> str:
        """The plan file that gives this plan again."""
        return self._reader.read("plan.yaml").decode(errors="replace")

    def graph(self) -> Graph:
        """The normalised graph, its weights mapped from this file."""
        from intarsia.graph import open_graph

        start, _ = self._reader.locate("weights.bin")
        content = self._reader.read("graph.onnx")
        with self._named_errors():
            return open_graph(content, self.path, start, lambda entry: self._reader.locate(entry)[0])

    def save_model(self, path: Path) -> None:
        """Write that graph as an ``.onnx`` file."""
        from intarsia.graph import extract

        graph = self.graph()
        extract(graph, (node.id for node in graph.nodes)).save(path)

    @property
    def input_spec(self) -> InputSpec:
        """The inputs and buckets of a model with open dimensions."""
        from intarsia.runtime.buckets import InputSpec

        return InputSpec(inputs=self.manifest.inputs, dims=self.manifest.dims, buckets=self.buckets)

    @property
    def sample_inputs(self) -> tuple[Signature, ...]:
        """The inputs with a shape that each may have."""
        return self.input_spec.samples() if self.buckets else self.plan.inputs

    def build(self, plan: Plan | None = None) -> Build:
        """The plan with its engine artifacts; with buckets, that of the last, or another."""
        self.check_code()
        chosen = self.plan if plan is None else plan
        steps = self._stored_steps(chosen)
        with self._named_errors():
            for number, step in steps:
                type_ = PROGRAM if self.is_source else registry.of(step.target, loading=True).meta_type(step.meta)
                check_meta(step, f"steps[{number}]", type_, chosen)
        artifacts = tuple(
            EngineArtifact(
                files=MappedFiles(
                    self.content, {name: self._reader.locate(self._entry(number, name)) for name in step.files}
                ),
                weights=step.weights,
                meta=step.meta,
            )
            for number, step in steps
        )
        return Build(plan=chosen, artifacts=artifacts)

    def weights(self) -> Mapping[str, np.ndarray]:
        """The weights that engine blobs refer to, as read-only views of the mapped file."""
        start, _ = self._reader.locate("weights.bin")
        return {
            name: np.ndarray(
                weight.shape, numpy_dtype(weight.dtype), buffer=self._reader.buffer, offset=start + weight.offset
            )
            for name, weight in self.manifest.weights.items()
        }

    def check_graph(self) -> None:
        """Raise an `ArtifactError` if manifest and graph disagree; takes the library for ONNX, and so some time."""
        from intarsia.runtime.artifact.graph_checks import graph_faults

        plans = [bucket.plan for bucket in self.buckets] or [self.plan]
        graph = self.graph()
        with self._named_errors():
            raise_first(graph_faults(self.manifest, graph, plans))

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        """Put the path before what is wrong in the file."""
        try:
            yield
        except (ArtifactError, ModelError) as error:
            raise ArtifactError(f"{self.path}: {error}") from error

    def _entry(self, step: int, file: str) -> str:
        name = entry_of(step, file)
        return self.manifest.same.get(name, name)

    def _stored_steps(self, plan: Plan) -> list[tuple[int, StoredStep]]:
        places: Sequence[int] = range(len(self.manifest.steps))
        for bucket, stored in zip(self.buckets, self.manifest.buckets, strict=True):
            if bucket.plan == plan:
                places = stored.steps
        return [(place, self.manifest.steps[place]) for place in places]

    def check_machine(self) -> list[str]:
        """Differences that only change times; an `ArtifactError` if this machine cannot stand in for its own."""
        fault = self.machine_fault()
        if fault is not None:
            raise ArtifactError(f"{self.path}: {fault}; recompile here")
        return this_machine().remarks(self.manifest.machine)

    def machine_fault(self) -> str | None:
        """Why what the engines compiled must not run on this machine; ``None`` if it may."""
        if self.is_source:
            return None
        blocking = this_machine().blocking(self.manifest.machine)
        return f"built for another machine class: {'; '.join(blocking)}" if blocking else None

    def changed_engines(self) -> list[str]:
        """Engines whose version here is not the one it was built with, as ``openvino 2026.4 → 2027.0``."""
        self.check_code()
        if self.is_source:  # all of it is in the text
            return []
        changes = []
        for name, built in self.manifest.engines.items():
            version = registry.require(name, loading=True).version or "none"
            if version != built.version:
                changes.append(f"{name} {built.version} → {version}")
        return changes


def report_in(reader: Reader) -> dict[str, Any]:
    """What a container holds of the compile that made it, and the path of it; an `ArtifactError` if it is damaged."""
    import json

    try:
        report = json.loads(reader.read("report.json"))
    except (ValueError, RecursionError) as error:
        raise ArtifactError(f"{reader.path}: its report is not understood: {error}") from error
    if not isinstance(report, dict):
        raise ArtifactError(f"{reader.path}: its report is not understood: it is no object")
    return {**report, "artifact": str(reader.path)}


@contextmanager
def reading_report(path: Path) -> Iterator[None]:
    """Raise an `ArtifactError` where a part of a file's report, which has no schema, is missing or of another type."""
    try:
        yield
    except (IntarsiaError, OSError):  # of what is done beside: printing, writing
        raise
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        raise ArtifactError(f"{path}: its report is not understood: {what}; compile the model anew") from error
