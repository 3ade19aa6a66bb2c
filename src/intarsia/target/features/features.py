"""`Features`: what is known of a device, to be asked by name; and how it follows from a target's options.

These are ``mtriple``, ``mcpu``, ``march`` and ``mattr``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Protocol

from intarsia.spec.types import Value
from intarsia.target.features.architectures import ARCHITECTURES, Architecture, architecture

_NOTHING: Mapping[str, Value] = MappingProxyType({})
_PROFILES = {"is_a_profile": "aclass", "is_r_profile": "rclass", "is_m_profile": "mclass"}

PROCESSOR_KINDS = frozenset({"llvm", "c", "cmsis-nn"})
"""Kinds whose ``mcpu`` names a processor that the tables know; that of others names a GPU, or is theirs to explain."""
Options = Mapping[str, Value]


class Features:
    """What a device can do. Read-only, and derived: never a part of what a target states.

    Any name may be asked as an attribute, and what nothing is known of is ``None``: ``has_…`` of a feature of the
    processor in any spelling, ``is_…`` of an architecture (``is_x86``, ``is_aarch64``, ``is_arm``, ``is_riscv``) or
    of a profile of Arm's (``is_a_profile``), and whatever facts the kind derives itself.

    Example:
        >>> from intarsia.target import Target
        >>> features = Target("llvm -mcpu=cascadelake -mattr=-avx512vl").features
        >>> features.has_avx512_vnni, features.has_avx512vl, features.is_aarch64, features.has_sve
        (True, False, False, None)
    """

    __slots__ = ("_facts", "_on", "architecture")

    architecture: str
    """Name of the processor's architecture, one of `ARCHITECTURES`; empty where it is not known."""

    def __init__(
        self, facts: Mapping[str, Value] = _NOTHING, *, architecture: str = "", on: frozenset[str] = frozenset()
    ) -> None:
        place = object.__setattr__
        place(self, "architecture", architecture)
        place(self, "_on", on)
        place(self, "_facts", MappingProxyType(dict(facts)))

    def has(self, name: str) -> bool:
        """Whether the processor has the feature of that name; false where that is not known."""
        return self._state_of(name) is True

    def get(self, name: str, default: Value = None) -> Value:
        """The attribute of that name, or the default where nothing is known."""
        found = getattr(self, name, None)
        return default if found is None else found

    def __getattr__(self, name: str) -> Value:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in self._facts:
            return self._facts[name]
        if name.startswith("has_"):
            return self._state_of(name.removeprefix("has_"))
        if name in _PROFILES:
            return self._is_of_profile(_PROFILES[name])
        asked = name.removeprefix("is_")
        return asked == self.architecture if asked != name and asked in ARCHITECTURES and self.architecture else None

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("features cannot be set: they follow from the target's options; change those")

    def __iter__(self) -> Iterator[str]:
        """The processor's features, by their LLVM names, sorted."""
        return iter(sorted(self._on))

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.has(name)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Features):
            return NotImplemented
        mine = (self.architecture, self._on, self._facts)
        return mine == (other.architecture, other._on, other._facts)

    def __hash__(self) -> int:
        return hash((self.architecture, self._on))

    def __reduce__(self) -> tuple[Callable[..., Features], tuple[Mapping[str, Value], str, frozenset[str]]]:
        return _restored, (dict(self._facts), self.architecture, self._on)

    def __repr__(self) -> str:
        facts = f"{dict(self._facts)!r}, " if self._facts else ""
        return f"Features({facts}architecture={self.architecture!r}, on={{{', '.join(self)}}})"

    def _state_of(self, name: str) -> bool | None:
        if not self.architecture:
            return True if name in self._on else None
        feature = architecture(self.architecture).feature(name)
        return None if feature is None else feature in self._on

    def _is_of_profile(self, feature: str) -> bool | None:
        if not self.architecture:
            return None
        if self.architecture == "aarch64":
            return feature == ("rclass" if "v8r" in self._on else "aclass")
        return feature in self._on


def _restored(facts: Mapping[str, Value], architecture: str, on: frozenset[str]) -> Features:
    return Features(facts, architecture=architecture, on=on)


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
