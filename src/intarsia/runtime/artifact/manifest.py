"""``manifest.json``: its records, and the plan and the buckets that they stand for."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, PlainSerializer, PlainValidator

from intarsia.backends.contract import Signature
from intarsia.config.precision import Precision
from intarsia.config.settings import RunSettings
from intarsia.graph import SizeRange
from intarsia.runtime.artifact.machine import Machine
from intarsia.runtime.buckets import Bucket
from intarsia.runtime.plan import Plan, Step
from intarsia.target import Target

VERSION = 2


def _target(form: object) -> Target:
    if isinstance(form, Target):
        return form
    if not isinstance(form, str):
        raise ValueError("Input should be a valid string")
    return Target(form)


StoredTarget = Annotated[Target, PlainValidator(_target), PlainSerializer(str)]
"""A target, which is text in the file."""


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Versioned(BaseModel):
    """The one field that every version of the format has."""

    version: int


class StoredStep(_Record):
    """`Step` and its `EngineArtifact`, as stored."""

    target: StoredTarget
    nodes: tuple[str, ...]
    inputs: tuple[Signature, ...]
    outputs: tuple[Signature, ...]
    files: tuple[str, ...]
    weights: tuple[str, ...]
    meta: dict[str, Any]
    precision: Precision | None = None

    @property
    def step(self) -> Step:
        """What of it the plan has."""
        return Step(**{name: getattr(self, name) for name in Step.__slots__})


class StoredWeight(_Record):
    """Where a weight's bytes lie in ``weights.bin``."""

    offset: int
    nbytes: int
    dtype: str
    shape: tuple[int, ...]


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
    machine: Machine
    engines: dict[str, EngineRecord]
    settings: RunSettings
    inputs: tuple[Signature, ...]
    outputs: tuple[Signature, ...]
    steps: tuple[StoredStep, ...]
    weights: dict[str, StoredWeight]
    dims: dict[str, tuple[int | str, ...]] = {}
    buckets: tuple[StoredBucket, ...] = ()
    same: dict[str, str] = {}
    """Entries that are left out, as an earlier one has the same content."""

    def plan(self, bucket: StoredBucket | None = None) -> Plan:
        """The plan of a bucket, or of all steps where there are no buckets."""
        steps = self.steps if bucket is None else [self.steps[place] for place in bucket.steps]
        settings = (bucket or self).settings
        return Plan(
            steps=tuple(stored.step for stored in steps), settings=settings, inputs=self.inputs, outputs=self.outputs
        )

    def bucket(self, stored: StoredBucket) -> Bucket:
        """A bucket with its plan."""
        ranges = {name: SizeRange(low=low, high=high) for name, (low, high) in stored.ranges.items()}
        return Bucket(ranges=ranges, sizes=stored.sizes, plan=self.plan(stored))


def entry_of(step: int, file: str) -> str:
    """The entry of the artifact that holds a file of a step."""
    return f"steps/{step}/{file}"
