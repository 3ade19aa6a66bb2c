"""Writes an artifact: the manifest, the graph, each weight once, and what engines compiled, equal files once."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
import xxhash

from intarsia.backends import registry
from intarsia.backends.contract import EngineArtifact
from intarsia.config.settings import RunSettings
from intarsia.graph import Graph
from intarsia.graph.packed import PackedTensor, Place
from intarsia.graph.sizes import input_dims
from intarsia.graph.store import WEIGHTS, PackedPlaces, structure, weight_index
from intarsia.partitioning import Partitioning, dump_plan
from intarsia.runtime.artifact.container_writing import ALIGNMENT, Writer, append, create
from intarsia.runtime.artifact.known import remember
from intarsia.runtime.artifact.machine import this_machine
from intarsia.runtime.artifact.manifest import (
    VERSION,
    EngineRecord,
    Manifest,
    StoredBucket,
    StoredStep,
    StoredWeight,
    entry_of,
)
from intarsia.runtime.artifact.packed_weights import packed_weights
from intarsia.runtime.buckets import Bucket
from intarsia.runtime.plan import Build, Step


def write_artifact(path: Path, graph: Graph, built: Build) -> None:
    """Write everything needed to run, explain and rebuild the plan. The file appears whole or not at all."""
    _write(path, graph, [built], list(zip(built.plan.steps, built.artifacts, strict=True)), {})


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
    needed = sorted({name for _, artifact in steps for name in artifact.weights})
    packed = packed_weights(graph, [built.plan for built in builds], needed)
    index = {name: (offset, nbytes) for name, offset, nbytes in weight_index(graph, packed.keys())}
    entries = _entries([artifact for _, artifact in steps])
    with create(path) as out:
        with out.open(WEIGHTS) as stream:
            places, end = _write_weights(stream, graph, index, needed)
            held = _write_packed(stream, end, packed, entries)
        manifest = Manifest(
            version=VERSION,
            machine=this_machine(),
            engines={name: _engine(name, built) for built in builds for name in built.plan.engines},
            settings=plan.settings,
            inputs=plan.inputs,
            outputs=plan.outputs,
            steps=tuple(_stored_step(step, artifact) for step, artifact in steps),
            weights={
                name: StoredWeight(offset=places[name], nbytes=weight.nbytes, dtype=weight.dtype, shape=weight.shape)
                for name, weight in ((name, graph.weights[name]) for name in needed)
            },
            same=_write_files(out, [artifact for _, artifact in steps], entries),
            **more,
        )
        out.add("graph.onnx", structure(graph, held))
        out.add("plan.yaml", dump_plan(Partitioning(partitions=plan.partitions), plan.settings))
        out.add("manifest.json", manifest.json())


def _write_weights(
    stream: IO[bytes], graph: Graph, index: Mapping[str, tuple[int, int]], needed: list[str]
) -> tuple[dict[str, int], int]:
    """The graph's own weight file, then small weights that engines want handed over; offset of each, and the end."""
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
    return places, written


def _entries(artifacts: Sequence[EngineArtifact]) -> dict[bytes, str]:
    """Of each content of a file that engines compiled the entry that has it: the first of equal ones."""
    places: dict[bytes, str] = {}
    for number, artifact in enumerate(artifacts):
        for name, content in artifact.files.items():
            places.setdefault(xxhash.xxh3_128_digest(content), entry_of(number, name))
    return places


def _write_packed(
    stream: IO[bytes], end: int, packed: Mapping[str, PackedTensor], entries: Mapping[bytes, str]
) -> dict[str, PackedPlaces]:
    """The places of weights in few bits: files that an engine reads where they are equal, else behind ``end``."""
    written = end

    def placed(array: np.ndarray) -> Place:
        nonlocal written
        content = array.reshape(-1).view(np.uint8).data
        entry = entries.get(xxhash.xxh3_128_digest(content))
        if entry is not None:
            return Place(location=entry, offset=0)
        padding = -written % 64
        stream.write(bytes(padding))
        stream.write(content)
        offset = written + padding
        written = offset + array.nbytes
        return Place(location=WEIGHTS, offset=offset)

    return {name: (tensor, placed(tensor.content), placed(tensor.scales)) for name, tensor in packed.items()}


def _write_files(out: Writer, artifacts: Sequence[EngineArtifact], places: Mapping[bytes, str]) -> dict[str, str]:
    """What engines compiled, equal files once: for each that was left out the entry that has its content."""
    same = {}
    for number, artifact in enumerate(artifacts):
        for name, content in artifact.files.items():
            entry = entry_of(number, name)
            place = places[xxhash.xxh3_128_digest(content)]
            if place == entry and len(content) >= ALIGNMENT:  # weights of its own, which are mapped
                out.place(entry, content)
            elif place == entry:
                out.add(entry, content)
            else:
                same[entry] = place
    return same


def _engine(name: str, built: Build) -> EngineRecord:
    """A program that was compiled ahead of time was written without the engines' own compilers."""
    found = registry.require(name, loading=built.plan.settings.ahead_of_time)
    return EngineRecord(version=found.version or "none", licence=registry.get(name).licence)


def _stored_step(step: Step, artifact: EngineArtifact) -> StoredStep:
    return StoredStep(
        **{name: getattr(step, name) for name in Step.__slots__},
        files=tuple(artifact.files),
        weights=artifact.weights,
        meta=dict(artifact.meta),
    )


def attach_report(path: Path, report: Mapping[str, Any]) -> None:
    """Put what a compile reported into its finished artifact, before anyone else sees the file."""
    append(path, "report.json", json.dumps(report, indent=1))
    remember(path)
