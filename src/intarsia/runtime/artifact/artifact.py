"""The artifact: plan, engine blobs, graph and weights in one file, with what it was built on and how to read it.

Weights are stored once, page-aligned, and mapped when it is loaded; engine blobs refer to them by name. The graph
travels too, so that a plan can be explained, edited and rebuilt from the artifact alone. A model with open dimensions
has a plan for each bucket of sizes, and what two of them have in common is stored once.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from mmap import mmap
from pathlib import Path
from typing import IO, Any

import numpy as np
import xxhash
from pydantic import BaseModel, ConfigDict, ValidationError

from intarsia.backends import registry
from intarsia.backends.contract import EngineArtifact, Signature
from intarsia.config.precision import Precision
from intarsia.config.settings import RunSettings
from intarsia.errors import ArtifactError, IntarsiaError, ModelError
from intarsia.graph import Graph, SizeRange, extract, open_graph
from intarsia.graph.sizes import input_dims
from intarsia.graph.store import structure, weight_index
from intarsia.partitioning import Partitioning, dump_plan
from intarsia.runtime.artifact.checks import check_graph, check_manifest, check_meta, reasons
from intarsia.runtime.artifact.container import Reader, Writer, append, create
from intarsia.runtime.artifact.known import remember
from intarsia.runtime.artifact.machine import Machine, this_machine
from intarsia.runtime.artifact.signature import fits, signature_of
from intarsia.runtime.artifact.trust import UNSTATED, HeldCode, NamedCode, Trust, code_of, code_of_engine, holds_code
from intarsia.runtime.buckets import Bucket, InputSpec
from intarsia.runtime.build import Build
from intarsia.runtime.dtypes import numpy_dtype
from intarsia.runtime.plan import Plan, Step
from intarsia.target import Target

VERSION = 2


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class _Versioned(BaseModel):
    """The one field that every version of the format has."""

    version: int


class Border(_Record):
    """`Signature`, as stored."""

    name: str
    dtype: str
    shape: tuple[int, ...] | None


class StoredStep(_Record):
    """`Step` and its `EngineArtifact`, as stored."""

    target: str
    nodes: tuple[str, ...]
    inputs: tuple[Border, ...]
    outputs: tuple[Border, ...]
    files: tuple[str, ...]
    weights: tuple[str, ...]
    meta: dict[str, Any]
    precision: Precision | None = None


class StoredWeight(_Record):
    """Where a weight's bytes lie in ``weights.bin``."""

    offset: int
    nbytes: int
    dtype: str
    shape: tuple[int, ...]


class StoredMachine(_Record):
    """`Machine`, as stored."""

    architecture: str
    isa: tuple[str, ...]
    cpu: str
    cores: int
    system: str


class EngineRecord(_Record):
    """An engine the artifact needs."""

    version: str
    licence: str


class StoredBucket(_Record):
    """`Bucket`, as stored: its plan by the places of its steps among all."""

    ranges: dict[str, tuple[int, int]]
    sizes: dict[str, int]
    settings: RunSettings
    steps: tuple[int, ...]


class Manifest(_Record):
    """``manifest.json``: everything but graph, weights and blobs.

    With buckets, ``steps`` are the distinct steps of all of them, and ``settings`` those of the last one.
    """

    version: int
    machine: StoredMachine
    engines: dict[str, EngineRecord]
    settings: RunSettings
    inputs: tuple[Border, ...]
    outputs: tuple[Border, ...]
    steps: tuple[StoredStep, ...]
    weights: dict[str, StoredWeight]
    dims: dict[str, tuple[int | str, ...]] = {}
    buckets: tuple[StoredBucket, ...] = ()
    same: dict[str, str] = {}
    """Entries that are left out, as an earlier one has the same content."""


class Artifact:
    """An artifact file, read and checked; nothing of an engine is loaded yet.

    Attributes:
        path: The file.
        trust: What whoever opened it lets it do.
        named_code: Libraries and interpreters that loading would run, and that are no part of it.
        signer: The fingerprint of the key that signed it, as it says itself unless ``trust`` asks; ``None`` if none.
    """

    def __init__(self, path: Path, trust: Trust = UNSTATED) -> None:
        """Read it, once its signature was checked.

        Raises:
            ArtifactError: It is damaged, or none; or not signed as asked, or would run what is not allowed.
        """
        self.path = path
        self.trust = trust
        self._reader = Reader(path)
        self.signer = trust.check_signature(self._reader)
        try:
            raw = self._reader.read("manifest.json")
            version = _Versioned.model_validate_json(raw).version
            if version != VERSION:
                raise ArtifactError(f"artifact format {version}, this Intarsia reads {VERSION}")
            self.manifest = Manifest.model_validate_json(raw)
            check_manifest(self.manifest, self._reader.sizes)
            self.buckets = tuple(_bucket(self.manifest, bucket) for bucket in self.manifest.buckets)
            every = range(len(self.manifest.steps))
            self.plan = self.buckets[-1].plan if self.buckets else _plan(self.manifest, every, self.manifest.settings)
        except ValidationError as error:
            raise ArtifactError(f"{path}: its manifest is not understood: {reasons(error)}") from error
        except ArtifactError as error:
            raise ArtifactError(f"{path}: {error}") from error
        # At once: a `cached_property` of Python 3.11 holds a lock, which a fork may leave held for ever.
        self.named_code = self._named()
        if not trust.is_read:
            self.check_code()

    def _named(self) -> tuple[NamedCode, ...]:
        targets = {step.target: number for number, step in reversed(list(enumerate(self.manifest.steps, start=1)))}
        named = [code for text, number in targets.items() for code in code_of(Target(text), f"partition {number}")]
        return (*named, *(code for name in self.manifest.engines for code in code_of_engine(name)))

    @property
    def held_code(self) -> tuple[HeldCode, ...]:
        """Machine code inside it that loading may run."""
        found = []
        for number, step, file in self._held():
            content = self._reader.read(self._entry(number, file))
            sha256 = hashlib.sha256(content).hexdigest()
            found.append(HeldCode(file=_entry(number, file), engine=step, nbytes=len(content), sha256=sha256))
        return tuple(found)

    @property
    def fits_signature(self) -> bool | None:
        """Whether the key that its signature names has signed it as it is; ``None`` if it has no signature.

        Raises:
            ConfigError: The library that checks signatures is not installed.
        """
        signed = signature_of(self._reader)
        return None if signed is None else fits(self._reader, signed)

    def check_code(self, *more: NamedCode) -> None:
        """Ask whether it may run what it names and holds, and what else its parts name.

        Raises:
            ArtifactError: Something was not allowed.
        """
        held = [_entry(number, file) for number, _, file in self._held()]
        self.trust.check_code(self.path, (*self.named_code, *more), held)

    def _held(self) -> Iterable[tuple[int, str, str]]:
        """Place, engine and file of each that holds machine code."""
        for number, step in enumerate(self.manifest.steps):
            kind = Target(step.target).kind.name
            for file in step.files:
                if holds_code(kind, file):
                    yield number, kind, file

    @property
    def machine(self) -> Machine:
        """The machine it was built and measured on."""
        return Machine(**self.manifest.machine.model_dump())

    @property
    def content(self) -> mmap:
        """All bytes of the file, mapped."""
        return self._reader.buffer

    def report(self) -> dict[str, Any]:
        """What the compile that made it reported."""
        try:
            report = json.loads(self._reader.read("report.json"))
        except (ValueError, RecursionError) as error:
            raise ArtifactError(f"{self.path}: its report is not understood: {error}") from error
        if not isinstance(report, dict):
            raise ArtifactError(f"{self.path}: its report is not understood: it is no object")
        return {**report, "artifact": str(self.path)}

    def plan_text(self) -> str:
        """The plan file that gives this plan again."""
        return self._reader.read("plan.yaml").decode(errors="replace")

    def graph(self) -> Graph:
        """The normalised graph, its weights mapped from this file."""
        start, _ = self._reader.locate("weights.bin")
        try:
            return open_graph(self._reader.read("graph.onnx"), self.path, start)
        except ModelError as error:
            raise ArtifactError(f"{self.path}: {error}") from error

    def save_model(self, path: Path) -> None:
        """Write that graph as an ``.onnx`` file."""
        graph = self.graph()
        extract(graph, (node.id for node in graph.nodes)).save(path)

    @property
    def input_spec(self) -> InputSpec:
        """The inputs and buckets of a model with open dimensions."""
        return InputSpec(inputs=_signatures(self.manifest.inputs), dims=self.manifest.dims, buckets=self.buckets)

    def build(self, plan: Plan | None = None) -> Build:
        """The plan with its engine artifacts; with buckets, that of the last, or the one given."""
        self.check_code()
        chosen = self.plan if plan is None else plan
        for number, step in self._stored_steps(chosen):
            self._check_meta(number, step, chosen)
        artifacts = tuple(
            EngineArtifact(
                files={name: self._reader.read(self._entry(number, name)) for name in step.files},
                weights=step.weights,
                meta=step.meta,
            )
            for number, step in self._stored_steps(chosen)
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
        """Check the manifest against the graph, which takes the library for ONNX and so some time.

        Raises:
            ArtifactError: The two do not agree.
        """
        plans = [bucket.plan for bucket in self.buckets] or [self.plan]
        try:
            check_graph(self.manifest, self.graph(), plans)
        except ArtifactError as error:
            raise ArtifactError(f"{self.path}: {error}") from error

    def _check_meta(self, number: int, step: StoredStep, plan: Plan) -> None:
        try:
            check_meta(step, f"steps[{number}]", registry.of(Target(step.target)).meta_type(step.meta), plan)
        except ArtifactError as error:
            raise ArtifactError(f"{self.path}: {error}") from error

    def _entry(self, step: int, file: str) -> str:
        name = _entry(step, file)
        return self.manifest.same.get(name, name)

    def _stored_steps(self, plan: Plan) -> list[tuple[int, StoredStep]]:
        places: Sequence[int] = range(len(self.manifest.steps))
        for bucket, stored in zip(self.buckets, self.manifest.buckets, strict=True):
            if bucket.plan == plan:
                places = stored.steps
        return [(place, self.manifest.steps[place]) for place in places]

    def check_machine(self) -> list[str]:
        """Differences that only change times.

        Raises:
            ArtifactError: If it was built for a machine that this one cannot stand in for.
        """
        fault = self.machine_fault()
        if fault is not None:
            raise ArtifactError(f"{self.path}: {fault}; recompile here")
        return this_machine().remarks(self.machine)

    def machine_fault(self) -> str | None:
        """Why what the engines compiled must not run on this machine; ``None`` if it may."""
        blocking = this_machine().blocking(self.machine)
        return f"built for another machine class: {'; '.join(blocking)}" if blocking else None

    def changed_engines(self) -> list[str]:
        """Engines whose version here is not the one it was built with, as ``openvino 2026.4 → 2027.0``."""
        self.check_code()
        changes = []
        for name, built in self.manifest.engines.items():
            version = registry.require(name, loading=True).version or "none"
            if version != built.version:
                changes.append(f"{name} {built.version} → {version}")
        return changes


@contextmanager
def reading_report(path: Path) -> Iterator[None]:
    """Where somebody goes through a file's report, which has no schema: what that comes upon is told as what it is.

    Raises:
        ArtifactError: Something in it is missing or of another type.
    """
    try:
        yield
    except (IntarsiaError, OSError):  # of what is done beside: printing, writing
        raise
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        raise ArtifactError(f"{path}: its report is not understood: {what}; compile the model anew") from error


def attach_report(path: Path, report: Mapping[str, Any]) -> None:
    """Put what a compile reported into its finished artifact, before anyone else sees the file."""
    append(path, "report.json", json.dumps(report, indent=1))
    remember(path)


def write_artifact(path: Path, graph: Graph, built: Build) -> None:
    """Write everything needed to run, explain and rebuild the plan. The file appears whole or not at all."""
    _write(path, graph, [built], _stored(built), {})


def write_buckets(path: Path, graph: Graph, buckets: Sequence[tuple[Bucket, Build]]) -> None:
    """Write one artifact for a graph with open dimensions, the bucket of the largest sizes last."""
    steps: dict[tuple[Step, RunSettings, tuple[bytes, ...]], int] = {}
    distinct: list[tuple[Step, EngineArtifact]] = []
    stored = []
    for bucket, built in buckets:
        places = []
        for step, artifact in zip(built.plan.steps, built.artifacts, strict=True):
            key = (step, built.plan.settings, tuple(artifact.files.values()))
            if key not in steps:
                steps[key] = len(distinct)
                distinct.append((step, artifact))
            places.append(steps[key])
        stored.append(
            StoredBucket(
                ranges={name: (range_.low, range_.high) for name, range_ in bucket.ranges.items()},
                sizes=dict(bucket.sizes),
                settings=built.plan.settings,
                steps=tuple(places),
            )
        )
    _write(
        path, graph, [built for _, built in buckets], distinct, {"dims": input_dims(graph), "buckets": tuple(stored)}
    )


def _write(
    path: Path,
    graph: Graph,
    builds: Sequence[Build],
    steps: Sequence[tuple[Step, EngineArtifact]],
    more: Mapping[str, Any],
) -> None:
    plan = builds[-1].plan
    index = {name: (offset, nbytes) for name, offset, nbytes in weight_index(graph)}
    needed = sorted({name for _, artifact in steps for name in artifact.weights})
    with create(path) as out:
        with out.open("weights.bin") as stream:
            places = _write_weights(stream, graph, index, needed)
        manifest = Manifest(
            version=VERSION,
            machine=StoredMachine(**asdict(this_machine())),
            engines={name: _engine(name) for built in builds for name in built.plan.engines},
            settings=plan.settings,
            inputs=tuple(map(_border, plan.inputs)),
            outputs=tuple(map(_border, plan.outputs)),
            steps=tuple(_stored_step(step, artifact) for step, artifact in steps),
            weights={
                name: StoredWeight(
                    offset=places[name],
                    nbytes=graph.weights[name].nbytes,
                    dtype=graph.weights[name].dtype,
                    shape=graph.weights[name].shape,
                )
                for name in needed
            },
            same=_write_files(out, [artifact for _, artifact in steps]),
            **more,
        )
        out.add("graph.onnx", structure(graph))
        out.add("plan.yaml", dump_plan(Partitioning(partitions=plan.partitions), plan.settings))
        out.add("manifest.json", manifest.model_dump_json(indent=1))


def _stored(built: Build) -> list[tuple[Step, EngineArtifact]]:
    return list(zip(built.plan.steps, built.artifacts, strict=True))


def _write_weights(
    stream: IO[bytes], graph: Graph, index: Mapping[str, tuple[int, int]], needed: list[str]
) -> dict[str, int]:
    """The graph's own weight file, then the small weights that engines want handed over; offset of each."""
    places: dict[str, int] = {}
    written = 0
    for name, (offset, nbytes) in sorted(index.items(), key=lambda item: item[1]):
        places[name] = offset
        if offset < written:  # equal bytes, stored once
            continue
        stream.write(bytes(offset - written))
        stream.write(graph.weights[name].array().reshape(-1).view(np.uint8).data)
        written = offset + nbytes
    for name in needed:
        if name not in places:
            padding = -written % 64
            array = np.ascontiguousarray(graph.weights[name].array())
            stream.write(bytes(padding) + array.tobytes())
            places[name] = written + padding
            written = places[name] + array.nbytes
    return places


def _write_files(out: Writer, artifacts: Sequence[EngineArtifact]) -> dict[str, str]:
    """What engines compiled, equal files once: for each that was left out the entry that has its content."""
    places: dict[bytes, str] = {}
    same = {}
    for number, artifact in enumerate(artifacts):
        for name, content in artifact.files.items():
            entry = _entry(number, name)
            place = places.setdefault(xxhash.xxh3_128_digest(content), entry)
            if place == entry:
                out.add(entry, content)
            else:
                same[entry] = place
    return same


def _entry(step: int, file: str) -> str:
    return f"steps/{step}/{file}"


def _engine(name: str) -> EngineRecord:
    return EngineRecord(version=registry.require(name).version or "none", licence=registry.get(name).licence)


def _border(value: Signature) -> Border:
    return Border(name=value.name, dtype=value.dtype, shape=value.shape)


def _stored_step(step: Step, artifact: EngineArtifact) -> StoredStep:
    return StoredStep(
        target=str(step.target),
        nodes=step.nodes,
        inputs=tuple(map(_border, step.inputs)),
        outputs=tuple(map(_border, step.outputs)),
        files=tuple(artifact.files),
        weights=artifact.weights,
        meta=dict(artifact.meta),
        precision=step.precision,
    )


def _signatures(borders: tuple[Border, ...]) -> tuple[Signature, ...]:
    return tuple(Signature(name=value.name, dtype=value.dtype, shape=value.shape) for value in borders)


def _plan(manifest: Manifest, places: Iterable[int], settings: RunSettings) -> Plan:
    return Plan(
        steps=tuple(
            Step(
                target=Target(step.target),
                nodes=step.nodes,
                inputs=_signatures(step.inputs),
                outputs=_signatures(step.outputs),
                precision=step.precision,
            )
            for step in (manifest.steps[place] for place in places)
        ),
        settings=settings,
        inputs=_signatures(manifest.inputs),
        outputs=_signatures(manifest.outputs),
    )


def _bucket(manifest: Manifest, stored: StoredBucket) -> Bucket:
    return Bucket(
        ranges={name: SizeRange(low=low, high=high) for name, (low, high) in stored.ranges.items()},
        sizes=stored.sizes,
        plan=_plan(manifest, stored.steps, stored.settings),
    )
