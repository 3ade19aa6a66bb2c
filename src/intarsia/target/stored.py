"""A target as an artifact states it: a run asks for little of it, and loading what reads any target takes its time.

Only canonical text of an engine and choices of words is read here. Any other is read by the spec language at once, and
so is this when more is asked of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

from intarsia.target.kinds.engine_choices import ENGINE_CHOICES

if TYPE_CHECKING:
    from intarsia.target.target import Target

_THREADS = "threads"
_WITHOUT_DEFAULT = frozenset({("onnxruntime", "custom-ops"), *((engine, _THREADS) for engine in ENGINE_CHOICES)})
"""Engines and those of their options that runs ask for too."""
_MOST_DIGITS = 9


def stored_target(text: str) -> Target:
    """The target of this text, equal to ``Target(text)``.

    Raises:
        SpecError: As of `Target`.
    """
    options = _options(text)
    if options is not None:
        return cast("Target", StoredTarget(text, options))
    from intarsia.target.target import Target

    return Target(text)


class StoredTarget:
    """Stands for the `Target` of its text, also for ``isinstance``, and is made of it when more is asked."""

    def __init__(self, key: str, options: Mapping[str, Any]) -> None:
        self.key = key
        self.options = MappingProxyType(options)
        self.kind_name = key.partition(" ")[0]
        self.device_type = "cpu"
        self.base = None  # what states one is no choice of words

    @cached_property
    def _target(self) -> Target:
        from intarsia.target.target import Target

        return Target(self.key)

    @property  # type: ignore[misc]
    def __class__(self) -> type[Target]:  # type: ignore[override] # whoever asks holds the class already
        return type(self._target)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._target, name)

    def __getitem__(self, name: str) -> Any:
        if name in self.options:
            return self.options[name]
        choice = ENGINE_CHOICES[self.kind_name].get(name)
        if choice is not None:
            return choice[-1]
        return None if (self.kind_name, name) in _WITHOUT_DEFAULT else self._target[name]

    def executed(self) -> Iterator[tuple[str, str]]:
        """None: no choice of words is a file that is run."""
        return iter(())

    def __eq__(self, other: object) -> bool:
        return self.key == other.key if type(other) is StoredTarget else self._target == other

    def __hash__(self) -> int:
        return hash(self.key)

    def __str__(self) -> str:
        return self.key

    def __repr__(self) -> str:
        return f"Target({self.key!r})"

    def __reduce__(self) -> tuple[type[Target], tuple[str]]:
        return self._target.__reduce__()

    def __enter__(self) -> Target:
        return self._target.__enter__()

    def __exit__(self, *exception: object) -> None:
        self._target.__exit__(*exception)


def _options(text: str) -> dict[str, Any] | None:
    """What the text of a target states, if that is an engine and choices of words, in canonical form."""
    name, *words = text.split(" ")
    choices = ENGINE_CHOICES.get(name)
    if choices is None:
        return None
    found: dict[str, Any] = {}
    for word in words:
        option, _, value = word.removeprefix("-").partition("=")
        if word != f"-{option}={value}":
            return None
        if option == _THREADS:
            if not (value.isascii() and value.isdecimal() and value[0] != "0" and len(value) <= _MOST_DIGITS):
                return None
            found[option] = int(value)
        elif option in choices and value in choices[option][1]:
            found[option] = value
        else:
            return None
    return found if list(found) == sorted(found) and len(found) == len(words) else None
