"""`dataclass` for what a run of an artifact loads: the standard one compiles six methods of each class it makes.

Compiling them took half of the time of all that a run imports. Here all classes share one method of each kind, which
looks the fields up: making a value takes microseconds more, and making a class a fifth of the time.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass  # as what it is for whoever checks types
else:
    Class = TypeVar("Class", bound=type)

    def dataclass(*, frozen: bool, slots: bool, kw_only: bool) -> Callable[[Class], Class]:
        """What the standard one makes with these three set. It takes no other options, and none of the three unset."""
        if not (frozen and slots and kw_only):
            raise TypeError("a light dataclass is frozen, has slots and takes keywords only")
        return _made

    def _made(cls: Class) -> Class:
        for name, method in _METHODS.items():
            if name not in vars(cls):
                setattr(cls, name, method)
        return dataclasses.dataclass(init=False, repr=False, eq=False, slots=True, kw_only=True)(cls)


def _init(self: Any, /, **given: Any) -> None:
    place = object.__setattr__
    missing = []
    for field in dataclasses.fields(self):
        name = field.name
        if name in given:
            place(self, name, given.pop(name))
        elif field.default is not dataclasses.MISSING:
            place(self, name, field.default)
        elif field.default_factory is not dataclasses.MISSING:
            place(self, name, field.default_factory())
        else:
            missing.append(name)
    if missing or given:
        told = [f"is missing {', '.join(missing)}"] if missing else []
        told += [f"has no {', '.join(given)}"] if given else []
        raise TypeError(f"{type(self).__name__} {' and '.join(told)}")


def _values(self: Any) -> tuple[Any, ...]:
    return tuple(_items(self).values())


def _items(self: Any) -> dict[str, Any]:
    return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}


def _repr(self: Any) -> str:
    said = (f"{name}={value!r}" for name, value in _items(self).items())
    return f"{type(self).__qualname__}({', '.join(said)})"


def _eq(self: Any, other: object) -> bool:
    return _values(self) == _values(other) if type(self) is type(other) else NotImplemented


def _hash(self: Any) -> int:
    return hash(_values(self))


def _setattr(self: Any, name: str, value: object) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _delattr(self: Any, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _reduce(self: Any) -> tuple[Any, ...]:
    return partial(self.__class__, **_items(self)), ()


_METHODS: dict[str, Callable[..., Any]] = {
    "__init__": _init,
    "__repr__": _repr,
    "__eq__": _eq,
    "__hash__": _hash,
    "__setattr__": _setattr,
    "__delattr__": _delattr,
    "__reduce__": _reduce,
}
