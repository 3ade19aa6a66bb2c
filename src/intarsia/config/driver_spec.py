"""What `Executor` and `Runtime` share: a spec of one kind and its options, without tags and without parts."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from types import MappingProxyType
from typing import Self

from intarsia.errors import SpecError
from intarsia.spec import Kind, Level, Spec, read
from intarsia.spec.types import Value
from intarsia.target.elsewhere import ELSEWHERE


class Drive(Spec[Kind]):
    """One way of driving a whole model. The values are those of its subclasses.

    Args:
        form: A kind, text, JSON text, a dict, or an existing value.
        options: More options, as in a dict. An option that the form states too is an error.

    Raises:
        SpecError: With every problem, its place, and the nearest legal spelling.
    """

    __slots__ = ()

    def __init__(self, form: object, options: Mapping[str, object] | None = None) -> None:
        spec = read(self.level(), form)
        if options:
            twice = sorted(spec.options.keys() & options.keys())
            if twice:
                raise SpecError(f"{twice[0]}: stated by {str(spec)!r} and by the argument; leave one out")
            spec = read(self.level(), {**spec.export(), **options})
        self._fix(spec.kind, spec.options, spec.tags)

    @classmethod
    @abstractmethod
    def level(cls) -> Level:
        """The level of the spec language whose values these are."""

    @property
    def values(self) -> Mapping[str, Value]:
        """The value of each option that has one: stated, or the kind's default."""
        defaults = {option.name: option.default for option in self.kind.options.values() if option.default is not None}
        return MappingProxyType(dict(sorted((defaults | dict(self.options)).items())))

    def __contains__(self, name: object) -> bool:
        """Whether this option has a value: stated, or the kind's default."""
        return name in self.values

    def with_options(self, options: Mapping[str, Value]) -> Self:
        """A copy that states these options, given as in a dict; ``None`` takes one back.

        Raises:
            SpecError: The kind has no such option, or a value is not of its type.
        """
        stated = self.export() | dict(options)
        return type(self)({name: value for name, value in stated.items() if value is not None})


def elsewhere(kinds: Mapping[str, Kind], others: Mapping[str, Mapping[str, Kind]]) -> Mapping[str, str]:
    """What these kinds refuse beside their own mistakes, each with where it goes.

    Args:
        kinds: Those of the level that refuses.
        others: Those of other levels, by the words for where they go.
    """
    own = {name for kind in kinds.values() for name in kind.options}
    table = {name: where for name, where in ELSEWHERE.items() if name not in own}
    for word, rows in others.items():
        table |= {name: f"it belongs to {word}" for kind in rows.values() for name in kind.options}
    return MappingProxyType(table)
