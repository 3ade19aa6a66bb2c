"""``manifest.json``: its records, and the plan and the buckets that they stand for."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict

from intarsia.backends.contract import Signature
from intarsia.config.precision import Precision
from intarsia.config.settings import RunSettings
from intarsia.graph import SizeRange
from intarsia.runtime.buckets import Bucket
from intarsia.runtime.plan import Plan, Step
from intarsia.target import Target

VERSION = 2


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Versioned(BaseModel):
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


def entry_of(step: int, file: str) -> str:
    """The entry of the artifact that holds a file of a step."""
    return f"steps/{step}/{file}"


def signatures(borders: tuple[Border, ...]) -> tuple[Signature, ...]:
    """The inputs or outputs that are stored so."""
    return tuple(Signature(name=value.name, dtype=value.dtype, shape=value.shape) for value in borders)


def plan_of_steps(manifest: Manifest, bucket: StoredBucket | None = None) -> Plan:
    """The plan of a bucket, or of all steps where there are no buckets."""
    places = range(len(manifest.steps)) if bucket is None else bucket.steps
    return Plan(
        steps=tuple(
            Step(
                target=Target(step.target),
                nodes=step.nodes,
                inputs=signatures(step.inputs),
                outputs=signatures(step.outputs),
                precision=step.precision,
            )
            for step in (manifest.steps[place] for place in places)
        ),
        settings=(bucket or manifest).settings,
        inputs=signatures(manifest.inputs),
        outputs=signatures(manifest.outputs),
    )


def bucket_of(manifest: Manifest, stored: StoredBucket) -> Bucket:
    """A bucket with its plan."""
    return Bucket(
        ranges={name: SizeRange(low=low, high=high) for name, (low, high) in stored.ranges.items()},
        sizes=stored.sizes,
        plan=plan_of_steps(manifest, stored),
    )
