"""What a record of each kind says, as it lies in the store: what is not so is no record.

Records come from files of others, from hands, and from disks that failed, so nothing of them is believed by its looks.
Whether a record fits the graph that it is asked for, the caller checks.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    TypeAdapter,
    ValidationError,
    model_validator,
)

from intarsia.backends.contract.failures import Cause
from intarsia.config.precision import Scheme
from intarsia.config.settings import Spin
from intarsia.cost.records.record import MOST, Error, Failure, Instructions, Measurement, Ms, Number, Spent
from intarsia.cost.timing.footprint import Footprint
from intarsia.cost.timing.verdict import CONTROL_NAME, MEMORY_STAGE, Verdict

Kind = Literal[
    "partition",
    "nodes",
    "stages",
    "prefilter",
    "no time",
    "search",
    "paired_benchmark",
    "footprint",
    "reduced_precision",
    "accuracy",
    "instructions",
]
"""What a record is of."""
KINDS: tuple[Kind, ...] = get_args(Kind)
_NO_CAUSE = "it is of an earlier version, which did not tell whose doing a failure was"


Count = Annotated[int, Field(ge=0, le=int(MOST))]
Lasting = Literal["engine"]
assert Lasting.__args__ == (Cause.ENGINE.value,)  # type: ignore[attr-defined]


class _Row(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")


class _Nodes(_Row):
    ms: tuple[Spent, ...]
    cause: Lasting | None = None

    @model_validator(mode="after")
    def _says_why_there_is_nothing(self) -> _Nodes:
        if not self.ms and self.cause is None:
            raise ValueError(_NO_CAUSE)
        return self


class _Stages(_Row):
    stages: Count
    fault: str | None = None
    skipped: str | None = None
    cause: Lasting | None = None

    @model_validator(mode="after")
    def _says_why_nothing_was_checked(self) -> _Stages:
        if self.skipped is not None and self.cause is None:
            raise ValueError(_NO_CAUSE)
        return self


class _Prefilter(_Row):
    reason: str


class _NoTime(_Row):
    budget_s: Spent


class _Plan(_Row):
    name: str
    partitions: Annotated[tuple[Any, ...], Field(min_length=1)]
    spin: Spin
    parallel: bool
    predicted_ms: tuple[Spent | None, ...]

    @model_validator(mode="after")
    def _predicts_each_partition(self) -> Self:
        if len(self.predicted_ms) != len(self.partitions):
            raise ValueError("as many predictions as partitions are needed")
        return self


class _Mix(_Plan):
    partitions: Annotated[tuple[tuple[str, tuple[Count, ...]], ...], Field(min_length=1)]
    embed: bool
    measured_ms: Ms


class _Search(_Row):
    segments: Count
    rounds: Count
    is_finished: bool
    candidates: Count
    is_complete: bool = False
    shares: dict[str, tuple[Spent | None, ...]]
    known: tuple[tuple[Count, Count, str, str | None, Spent | None], ...]
    mixes: tuple[_Mix, ...]

    @model_validator(mode="after")
    def _lies_within_the_segments(self) -> _Search:
        if any(not start < end <= self.segments for start, end, *_ in self.known):
            raise ValueError("a partition does not lie within the segments")
        if any(len(ms) != self.segments for ms in self.shares.values()):
            raise ValueError("as many shares as segments are needed")
        return self


_Precision = tuple[tuple[tuple[str, Scheme], ...], tuple[tuple[str, float, float], ...], tuple[tuple[str, str], ...]]


class _ReducedPrecisionPlan(_Plan):
    error: Error
    label: str
    partitions: Annotated[tuple[tuple[str, tuple[str, ...], _Precision | None], ...], Field(min_length=1)]


class _ReducedPrecision(_Row):
    found: tuple[_ReducedPrecisionPlan, ...]
    dropped: tuple[tuple[str, str], ...]
    reason: str


class _Accuracy(_Row):
    max_error: Annotated[Number, Field(ge=0, allow_inf_nan=False)]
    inputs: Annotated[int, Field(ge=1, le=int(MOST))]
    worst: Annotated[dict[str, Error], Field(min_length=1)]
    mean: Annotated[dict[str, Error], Field(min_length=1)]

    @model_validator(mode="after")
    def _is_of_the_same_outputs(self) -> _Accuracy:
        if self.worst.keys() != self.mean.keys():
            raise ValueError("largest and mean error are of different outputs")
        return self


def _partition_of(row: object) -> str:
    return "failure" if isinstance(row, Mapping) and "stage" in row else "measurement"


_ADAPTERS: Mapping[Kind, TypeAdapter[Any]] = {
    "partition": TypeAdapter(
        Annotated[
            Annotated[Measurement, Tag("measurement")] | Annotated[Failure, Tag("failure")],
            Discriminator(_partition_of),
        ]
    ),
    "nodes": TypeAdapter(_Nodes),
    "stages": TypeAdapter(_Stages),
    "prefilter": TypeAdapter(_Prefilter),
    "no time": TypeAdapter(_NoTime),
    "search": TypeAdapter(_Search),
    "paired_benchmark": TypeAdapter(Verdict),
    "footprint": TypeAdapter(Footprint),
    "reduced_precision": TypeAdapter(_ReducedPrecision),
    "accuracy": TypeAdapter(_Accuracy),
    "instructions": TypeAdapter(
        Annotated[
            Annotated[Instructions, Tag("measurement")] | Annotated[Failure, Tag("failure")],
            Discriminator(_partition_of),
        ]
    ),
}


def _shown(text: str) -> str:
    if any(unicodedata.category(each) in _UNSHOWN for each in text):
        raise ValueError("it has control characters")
    return text


_UNSHOWN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
Name = Annotated[str, AfterValidator(_shown)]
"""What is shown on a terminal."""


class _Facts(BaseModel):
    """What is read of the facts of any record."""

    model_config = ConfigDict(strict=True)

    machine: Name = ""
    engines: dict[Name, Name] = {}


class _Provenance(BaseModel):
    model_config = ConfigDict(strict=True)

    model: Name | None = None
    machine: Name = ""
    config: dict[str, Any] | None = None


_MADE_AT = TypeAdapter(Annotated[Number, Field(ge=0, le=2.5e11, allow_inf_nan=False)])  # years that a calendar has


def value_of(kind: Kind, outcome: Mapping[str, Any]) -> Any:
    """The value that an outcome from `checked_outcome` stands for."""
    return _ADAPTERS[kind].validate_python(outcome)


def checked_outcome(kind: Kind, text: str | bytes) -> Mapping[str, Any]:
    """An outcome as a mapping; a `ValueError` says why it is not what a record of this kind says."""
    found = _ADAPTERS[kind].validate_json(text, strict=True)
    if isinstance(found, Failure) and not found.cause.is_lasting:
        raise ValueError("a failure that is not its engine's doing is not kept")
    if isinstance(found, Verdict):
        _check_verdict(found)
    return _mapping(text)


def checked_facts(text: str | bytes) -> Mapping[str, Any]:
    """The facts of a record; a `ValueError` says why they are none."""
    _Facts.model_validate_json(text)
    facts = _mapping(text)
    if not facts:
        raise ValueError("there are no facts")
    return facts


def checked_provenance(text: str | bytes) -> Mapping[str, Any]:
    """The provenance of a record; a `ValueError` says why it is none."""
    _Provenance.model_validate_json(text)
    return _mapping(text)


def _mapping(text: str | bytes) -> Mapping[str, Any]:
    """A text that was found to be an object, as it stands: what a schema would turn into other types stays."""
    found = json.loads(text)
    assert isinstance(found, dict)
    return found


def checked_moment(made_at: object) -> float:
    """When a record was made; a `ValueError` says why it is no moment."""
    moment: float = _MADE_AT.validate_python(made_at)
    return moment


def is_of_an_earlier_version(why: str) -> bool:
    """Whether what `what_is_wrong` told is no damage, but a failure of the time before its cause was kept."""
    return why.endswith(_NO_CAUSE) or why == "failure.cause: Field required"


def what_is_wrong(error: Exception) -> str:
    """In one line what the checks above say."""
    text = str(error)
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_input=False)[0]
        message = first["msg"].removeprefix("Value error, ")
        text = ": ".join(filter(None, (".".join(map(str, first["loc"])), message)))
    return "".join(each if each.isprintable() else " " for each in text)


def _check_verdict(verdict: Verdict) -> None:
    """Whether it can be asked what it is asked: who was benchmarked has figures, and the first ran twice."""
    _check_rounds(verdict)
    weighed = {name for name, (stage, _) in verdict.failed.items() if stage == MEMORY_STAGE}
    if not (verdict.benchmarked | weighed) <= verdict.footprints.keys():
        raise ValueError("nothing is known of the memory of a contender")
    for tail in verdict.tails.values():
        if tail.p99 is not None and not all(
            0 < each <= MOST for each in (tail.p99.low, tail.p99.median, tail.p99.high)
        ):
            raise ValueError("slowest calls that are none")
    if verdict.has_transient_failure:
        raise ValueError(_NO_CAUSE)


def _check_rounds(verdict: Verdict) -> None:
    rounds, left = verdict.rounds_ms, verdict.left_ms
    total = sum(verdict.set_sizes)
    if verdict.is_replayed or rounds.keys() & left.keys():
        raise ValueError("a contender both stayed and left")
    if any(size <= 0 for size in verdict.set_sizes):
        raise ValueError("a set without rounds")
    if rounds and (CONTROL_NAME not in rounds or next(iter(rounds)) == CONTROL_NAME or not total):
        raise ValueError("the first contender did not run twice")
    if left and not rounds:
        raise ValueError("nobody stayed")
    if any(len(ms) != total for ms in rounds.values()) or any(not 0 < len(ms) <= total for ms in left.values()):
        raise ValueError("rounds are missing")
