"""Options by which an engine computes in less than fp32, and the processors on which that is fast."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from intarsia.spec.types import Value
    from intarsia.target.target import Target


@dataclass(frozen=True, slots=True, kw_only=True)
class ReducedPrecisionOption:
    """A value of an option of the engine ``kind`` with which it computes in elements of ``type``, less than fp32.

    ``isa`` are features, by their Linux names, any of which makes that faster than fp32. ``rounds_weights`` says that
    each weight is rounded to that type as it is, so that one which is of that type already stays what it is.
    ``is_fine`` says that results err by some 1e-3.
    """

    kind: str
    option: str
    value: Value
    type: str
    isa: frozenset[str]
    rounds_weights: bool = False
    is_fine: bool = False


REDUCED_OPTIONS = (
    ReducedPrecisionOption(
        kind="openvino",
        option="inference-precision",
        value="f16",
        type="f16",
        isa=frozenset({"avx512_fp16", "asimdhp"}),
        rounds_weights=True,
    ),
    ReducedPrecisionOption(
        kind="openvino",
        option="inference-precision",
        value="bf16",
        type="bf16",
        isa=frozenset({"avx512_bf16", "amx_bf16"}),
        rounds_weights=True,
    ),
    ReducedPrecisionOption(
        kind="winograd",
        option="inference-precision",
        value="i16",
        type="i16",
        isa=frozenset({"avx512_vnni"}),
        is_fine=True,
    ),
    ReducedPrecisionOption(kind="mnn", option="precision", value="low", type="f16", isa=frozenset({"asimdhp"})),
    ReducedPrecisionOption(kind="ncnn", option="fp16", value=True, type="f16", isa=frozenset({"asimdhp"})),
)
"""Most accurate first. In f16 a number has 11 significant bits, in bf16 8."""


def reduced_type(target: Target) -> str | None:
    """The element type that a target's options make its engine compute in, if that is less than fp32."""
    option = _option(target)
    return None if option is None else option.type


def rounded_type(target: Target) -> str | None:
    """The element type to which a target's engine rounds weights as they are; ``None`` if it computes otherwise."""
    option = _option(target)
    return option.type if option is not None and option.rounds_weights else None


def _option(target: Target) -> ReducedPrecisionOption | None:
    several = (each for each in REDUCED_OPTIONS if each.kind == target.kind.name)
    return next((each for each in several if target[each.option] == each.value), None)


def reduced_targets(target: Target, isa: Collection[str], *, fine: bool = False) -> tuple[Target, ...]:
    """The target in each type of less than fp32 that its engine has, and that these features make fast.

    Args:
        target: In fp32.
        isa: What the processor has.
        fine: Whether only types count that err little.
    """
    return tuple(
        target.with_options({each.option: each.value})
        for each in REDUCED_OPTIONS
        if each.kind == target.kind.name and not each.isa.isdisjoint(isa) and (each.is_fine or not fine)
    )
