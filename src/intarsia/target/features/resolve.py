"""From the options of a target (``mtriple``, ``mcpu``, ``march``, ``mattr``) to the features of its processor."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from intarsia.spec.types import Value
from intarsia.target.features.architectures import ARCHITECTURES, Architecture, architecture
from intarsia.target.features.features import Features

PROCESSOR_KINDS = frozenset({"llvm", "c", "cmsis-nn"})
"""Kinds whose ``mcpu`` names a processor that the tables know; that of others names a GPU, or is theirs to explain."""

Options = Mapping[str, Value]


def features_of(kind_name: str, options: Options) -> Features:
    """The features of a target of this kind with these options, by table.

    Without a known architecture, a feature is on where ``mattr`` says so, and implies nothing.
    """
    if kind_name not in PROCESSOR_KINDS:
        return Features()
    name, stated = _architecture_name(options), _stated(options)
    if not name:
        return Features(on=frozenset(feature for feature, is_on in stated if is_on))
    found = architecture(name)
    on = _base(found, options)
    for feature, is_on in stated:
        on = _switched(found, on, feature, is_on)
    return Features(architecture=name, on=on)


class Featured(Protocol):
    """What has features: a `Target`."""

    @property
    def features(self) -> Features:
        """What the device can do."""


def has_features(target: Featured, names: str | Iterable[str]) -> bool:
    """Whether a target's processor has the feature of that name, or all of those names; of an unknown one, false."""
    features = target.features
    return all(features.has(name) for name in ([names] if isinstance(names, str) else names))


def arm_keys(options: Options) -> tuple[str, ...]:
    """The strategy families of an Arm processor; none, where these options name no such."""
    return ("arm_cpu", "cpu") if _architecture_name(options) in ("arm", "aarch64") else ()


def _architecture_name(options: Options) -> str:
    """By the triple; without one by the processor; without that by the names of features, where only one knows them."""
    triple, processor = options.get("mtriple", ""), _processor(options)
    if triple:
        return _architecture_of(_first_part(triple))
    for name in ARCHITECTURES if processor else ():
        if architecture(name).processor(processor) is not None:
            return name
    named = [feature for feature, _ in _stated(options)]
    able = [name for name in ARCHITECTURES if named and all(map(architecture(name).feature, named))]
    return able[0] if len(able) == 1 else ""


def _architecture_of(part: str) -> str:
    if part.startswith(("aarch64", "arm64")):
        return "aarch64"
    if part.startswith("arm"):
        return "arm"
    if part.startswith("riscv"):
        return "riscv"
    return "x86" if part in ("x86_64", "x86_64h", "amd64", "i386", "i486", "i586", "i686") else ""


def _first_part(triple: str) -> str:
    """What a triple says of the processor. Thumb is a state of Arm's, and the order of bytes changes no feature."""
    part = triple.partition("-")[0].lower()
    part = "arm" + part.removeprefix("thumb") if part.startswith("thumb") else part
    return "arm" + part.removeprefix("armeb") if part.startswith("armeb") else part


def _processor(options: Options) -> str:
    """The name of the processor or version, without the features that ``+`` adds to it."""
    stated: str = options.get("mcpu") or options.get("march") or ""
    name = stated.partition("+")[0]
    return "" if name == "generic" else name


def _base(found: Architecture, options: Options) -> frozenset[str]:
    processor = _processor(options)
    on = found.processor(processor) if processor else None
    return found.triples.get(_first_part(options.get("mtriple", "")), frozenset()) if on is None else on


def _stated(options: Options) -> list[tuple[str, bool]]:
    """Each feature that is switched, in order: those after the processor's name (``cortex-m55+nomve``), then mattr."""
    stated: str = options.get("mcpu") or options.get("march") or ""
    words = [*stated.split("+")[1:], *options.get("mattr", ())]
    return [(word.lstrip("+-"), not word.startswith("-")) for word in words if word.lstrip("+-")]


def _switched(found: Architecture, on: frozenset[str], name: str, is_on: bool) -> frozenset[str]:
    feature = found.feature(name)
    if feature is None and name.startswith("no"):
        feature, is_on = found.feature(name.removeprefix("no")), not is_on
    if feature is None:  # as LLVM does, which warns of it
        return on
    return on | found.closed((feature,)) if is_on else found.without(on, feature)
