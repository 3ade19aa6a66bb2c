"""What a measurement yields: samples, or a failure with its stage. Both are data, and both are kept."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from intarsia.backends.contract.failures import Cause
from intarsia.cost.timing.statistics import Interval, median_interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """Times of one partition of a model, measured while it ran as it will run in the product.

    Attributes:
        samples_ms: One entry for each timed run, in order.
        compile_s: Seconds the engine took to compile the partition.
        load_s: Seconds to load and bind it.
        error: Largest max|a-b| / max|b| against the reference; ``None`` if no output of it had a reference.
        is_complete: False if it was given up as hopeless after the prefilter.
        allowed: What the output with that error was allowed; ``None`` where there was no reference, or in old records.
    """

    samples_ms: tuple[float, ...]
    compile_s: float
    load_s: float
    error: float | None
    is_complete: bool = True
    allowed: float | None = None

    @property
    def interval(self) -> Interval:
        """Median with its 95 % interval, in milliseconds."""
        return median_interval(self.samples_ms)

    @property
    def cost_ms(self) -> float:
        """The comparable number: the median."""
        return self.interval.median


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """An engine accepted a partition and then crashed, hung, raised, or answered wrongly: infinite cost.

    Attributes:
        stage: ``compile``, ``load``, ``run``, ``verify``, ``timeout`` or ``crash``.
        reason: What it said, or how it differed.
        cause: Whose doing it is; only what is the engine's is kept.
        repro: A script that shows the failure again.
    """

    stage: str
    reason: str
    cause: Cause
    repro: str | None = None

    @property
    def cost_ms(self) -> float:
        """Infinite."""
        return math.inf


Outcome = Measurement | Failure


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """Everything a time depends on, as JSON-able facts; equal facts mean the same measurement."""

    facts: Mapping[str, Any]

    @property
    def text(self) -> str:
        """Canonical JSON of the facts."""
        return json.dumps(self.facts, sort_keys=True, separators=(",", ":"))

    @property
    def digest(self) -> str:
        """What the store looks it up by."""
        return hashlib.sha256(self.text.encode()).hexdigest()


def to_json(outcome: Outcome) -> dict[str, Any]:
    """An outcome as a JSON object."""
    return asdict(outcome)


def from_json(data: Mapping[str, Any]) -> Outcome:
    """The outcome that `to_json` wrote, of a record that is as `intarsia.cost.records.outcomes` asks."""
    if "stage" in data:
        return Failure(**{**data, "cause": Cause(data["cause"])})
    return Measurement(**{**data, "samples_ms": tuple(data["samples_ms"])})
