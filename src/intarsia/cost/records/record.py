"""What a measurement yields: samples, or a failure with its stage. Both are data, and both are kept."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, ConfigDict, Field

from intarsia.backends.contract.failures import Cause
from intarsia.cost.timing.statistics import Interval, median_interval

MOST = 1e12
"""No time in milliseconds or seconds, and no number of anything, is larger."""


def _no_bool(value: object) -> object:
    if isinstance(value, bool):
        raise ValueError("true and false are no numbers")
    return value


Number = Annotated[float, BeforeValidator(_no_bool)]
Ms = Annotated[Number, Field(gt=0, le=MOST, allow_inf_nan=False)]
Spent = Annotated[Number, Field(ge=0, le=MOST, allow_inf_nan=False)]
Error = Annotated[Number, Field(ge=0)]
"""Infinite where two values cannot be compared."""


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

    __pydantic_config__ = ConfigDict(extra="forbid")

    samples_ms: Annotated[tuple[Ms, ...], Field(min_length=1)]
    compile_s: Spent
    load_s: Spent
    error: Error | None
    is_complete: bool = True
    allowed: Error | None = None

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

    __pydantic_config__ = ConfigDict(extra="forbid")
    cost_ms: ClassVar[float] = math.inf

    stage: str
    reason: str
    cause: Cause
    repro: str | None = None


Outcome = Measurement | Failure


@dataclass(frozen=True, slots=True, kw_only=True)
class Instructions:
    """How many instructions a call executes on an emulated board."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    count: Annotated[int, Field(ge=0, le=int(MOST))]
    unit: Literal["instructions in QEMU"] = "instructions in QEMU"


@dataclass(frozen=True, kw_only=True)  # no slots: text and digest of a large graph's facts are worth keeping
class Key:
    """Everything a time depends on, as JSON-able facts; equal facts mean the same measurement."""

    facts: Mapping[str, Any]

    @cached_property
    def text(self) -> str:
        """Canonical JSON of the facts."""
        return json.dumps(self.facts, sort_keys=True, separators=(",", ":"))

    @cached_property
    def digest(self) -> str:
        """What the store looks it up by."""
        return hashlib.sha256(self.text.encode()).hexdigest()
