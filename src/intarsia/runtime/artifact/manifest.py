"""``manifest.json``: its records, and the plan and the buckets that they stand for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, fields, is_dataclass
from typing import TYPE_CHECKING, Any

from intarsia.backends.contract import Signature
from intarsia.config.settings import RunSettings
from intarsia.light_dataclass import dataclass
from intarsia.runtime.artifact.machine import Machine
from intarsia.runtime.plan import Plan, Step, StepBody

if TYPE_CHECKING:
    from intarsia.config.precision import Precision
    from intarsia.runtime.buckets import Bucket
    from intarsia.target import Target

VERSION = 2
_RARE: Mapping[str, object] = {"inside": None, "bodies": (), "instances": 1, "batch": 1}
"""Fields that are left out where they are as in almost every plan: older readers, and that in C++, do not know them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredStep:
    """`Step` and its `EngineArtifact`, as stored."""

    target: Target
    nodes: tuple[str, ...]
    inputs: tuple[Signature, ...]
    outputs: tuple[Signature, ...]
    files: tuple[str, ...]
    weights: tuple[str, ...]
    meta: Mapping[str, Any]
    precision: Precision | None = None
    inside: Plan | None = None
    bodies: tuple[StepBody, ...] = ()

    @property
    def step(self) -> Step:
        """What of it the plan has."""
        return Step(**{name: getattr(self, name) for name in Step.__slots__})


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredWeight:
    """Where a weight's bytes lie in ``weights.bin``."""

    offset: int
    nbytes: int
    dtype: str
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineRecord:
    """An engine the artifact needs."""

    version: str
    licence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredBucket:
    """`Bucket`, as stored: its plan by the places of its steps among all."""

    ranges: Mapping[str, tuple[int, int]]
    sizes: Mapping[str, int]
    settings: RunSettings
    steps: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """``manifest.json``: everything but graph, weights and blobs.

    With buckets, ``steps`` are the distinct steps of all of them, and ``settings`` those of the last one.
    """

    version: int
    machine: Machine
    engines: Mapping[str, EngineRecord]
    settings: RunSettings
    inputs: tuple[Signature, ...]
    outputs: tuple[Signature, ...]
    steps: tuple[StoredStep, ...]
    weights: Mapping[str, StoredWeight]
    dims: Mapping[str, tuple[int | str, ...]] = field(default_factory=dict)
    buckets: tuple[StoredBucket, ...] = ()
    same: Mapping[str, str] = field(default_factory=dict)
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
        from intarsia.graph.ranges import SizeRange
        from intarsia.runtime.buckets import Bucket

        ranges = {name: SizeRange(low=low, high=high) for name, (low, high) in stored.ranges.items()}
        return Bucket(ranges=ranges, sizes=stored.sizes, plan=self.plan(stored))

    def json(self) -> str:
        """The text of the file."""
        import json

        return json.dumps(self, default=_plain, ensure_ascii=False, indent=1)


def entry_of(step: int, file: str) -> str:
    """The entry of the artifact that holds a file of a step."""
    return f"steps/{step}/{file}"


def _plain(value: Any) -> Any:
    """A record as an object of JSON, without what only few steps or settings have; a target as its text."""
    if is_dataclass(value):
        found = {each.name: getattr(value, each.name) for each in fields(value)}
        return {name: each for name, each in found.items() if name not in _RARE or each != _RARE[name]}
    return str(value)
