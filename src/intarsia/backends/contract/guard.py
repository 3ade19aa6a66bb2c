"""The one place where an exception of an engine's library becomes one of ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from intarsia.backends.contract.slots import BoundCall
from intarsia.errors import BackendError, ExecutionError, IntarsiaError


@contextmanager
def guard(error: type[BackendError], backend: str) -> Iterator[None]:
    """Turns what a library raises inside the block into ``error``, which names the engine and keeps the cause."""
    try:
        yield
    except IntarsiaError:
        raise
    except Exception as raised:
        raise _translated(error, backend, raised) from raised


def guarded(call: BoundCall, backend: str, owners: tuple[object, ...] = ()) -> BoundCall:
    """``call`` under the same guard, keeping alive the owners of memory that the engine knows only by pointer.

    A plain ``try`` costs nothing while nothing fails; a context manager costs a microsecond.
    """

    def bound(_owners: tuple[object, ...] = owners) -> None:
        try:
            call()
        except IntarsiaError:
            raise
        except Exception as raised:
            raise _translated(ExecutionError, backend, raised) from raised

    return bound


def _translated(error: type[BackendError], backend: str, raised: Exception) -> BackendError:
    text = str(raised).strip() or type(raised).__name__
    return error(backend, text[:2000])
