"""A Ctrl-C is an `Interrupted`, and the best plan so far is closed where nobody takes it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from intarsia.driver.interruption import as_interrupted, without_best
from intarsia.errors import Interrupted


def test_any_ctrl_c_becomes_interrupted() -> None:
    best = Interrupted(best=SimpleNamespace())
    with pytest.raises(Interrupted) as caught, as_interrupted():
        raise best
    assert caught.value is best
    with pytest.raises(Interrupted) as caught, as_interrupted():
        raise KeyboardInterrupt
    assert caught.value.best is None


def test_the_best_so_far_is_closed() -> None:
    closed = []
    with pytest.raises(Interrupted) as caught, without_best():
        raise Interrupted(best=SimpleNamespace(close=lambda: closed.append(True)))
    assert (closed, caught.value.best) == ([True], None)
