"""Functions with one implementation per strategy family: the target's first key that has one decides."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Generic, ParamSpec, TypeVar

from intarsia.spec import Registry
from intarsia.target.target import Target

P = ParamSpec("P")
R = TypeVar("R")


class Dispatch(Generic[P, R]):
    """A function that calls the implementation of the target in scope, else its default.

    Example:
        >>> tile = Dispatch(lambda: 1)
        >>> @tile.register("gpu")
        ... def _() -> int:
        ...     return 32
        >>> with Target("cuda"):
        ...     tile()
        32
        >>> tile()
        1
    """

    __slots__ = ("_default", "_rows")

    def __init__(self, default: Callable[P, R]) -> None:
        self._default = default
        self._rows: Registry[Callable[P, R]] = Registry("implementation for key")

    def register(self, *keys: str, override: bool = False) -> Callable[[Callable[P, R]], Callable[P, R]]:
        """A decorator: the function implements these families.

        Raises:
            SpecError: One of them has an implementation, and ``override`` was not asked for. Then none is added.
        """

        def add(function: Callable[P, R]) -> Callable[P, R]:
            with self._rows.scope():
                for key in keys:
                    self._rows.register(key, function, override=override)
            for key in keys:
                self._rows.register(key, function, override=True)
            return function

        return add

    @contextmanager
    def overridden(self, rows: Mapping[str, Callable[P, R]]) -> Iterator[None]:
        """Other implementations inside the block; what was before is back after it."""
        with self._rows.scope():
            for key, function in rows.items():
                self._rows.register(key, function, override=True)
            yield

    def implementation(self, target: Target | None) -> Callable[P, R]:
        """What would be called for this target; the default for none."""
        keys = () if target is None else target.keys
        return next((self._rows[key] for key in keys if key in self._rows), self._default)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the implementation of the target in scope."""
        return self.implementation(Target.current())(*args, **kwargs)
