"""`Features`: what is known of a device, to be asked by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from intarsia.spec.types import Value
from intarsia.target.features.architectures import ARCHITECTURES, architecture

_NOTHING: Mapping[str, Value] = MappingProxyType({})
_PROFILES = {"is_a_profile": "aclass", "is_r_profile": "rclass", "is_m_profile": "mclass"}


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
