"""The stack of ``with target:`` blocks around the caller. It only ever fills a missing argument."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING

from intarsia.errors import SpecError

if TYPE_CHECKING:
    from intarsia.target.target import Target

_STACK: ContextVar[tuple[Target, ...]] = ContextVar("targets in scope", default=())
"""Innermost last. Each thread and each task has its own."""


def enter(target: Target) -> None:
    """Make this the current target."""
    _STACK.set((*_STACK.get(), target))


def leave(target: Target) -> None:
    """Make the one around it current again.

    Raises:
        SpecError: It is not the current target: blocks were left in another order than they were entered.
    """
    *around, innermost = _STACK.get() or (None,)
    if innermost is not target:
        raise SpecError(f"cannot leave the scope of {str(target)!r}: the innermost scope is that of {str(innermost)!r}")
    _STACK.set(tuple(around))


def current(*, allow_none: bool = True) -> Target | None:
    """The innermost target in scope.

    Raises:
        SpecError: There is none, and ``allow_none`` is false.
    """
    stack = _STACK.get()
    if not stack and not allow_none:
        raise SpecError("no target is in scope; pass one, or call inside 'with Target(…):'")
    return stack[-1] if stack else None


def target_or_current(form: object = None) -> Target:
    """The target of this form, else the one in scope.

    Raises:
        SpecError: There is neither; or the form is not a target.
    """
    from intarsia.target.target import Target  # which needs this module to be loaded

    if form is not None:
        return Target(form)
    found = current()
    if found is None:
        raise SpecError("target is not set: pass it as an argument, or call inside 'with Target(…):'")
    return found
