from __future__ import annotations

import pytest

from intarsia.errors import SpecError
from intarsia.spec import Registry


def test_redefinition_is_refused_unless_asked_for() -> None:
    rows: Registry[int] = Registry("row", {"a": 1})
    with pytest.raises(SpecError, match="row 'a' has been previously defined"):
        rows.register("a", 2)
    rows.register("a", 2, override=True)
    assert dict(rows) == {"a": 2}


def test_a_view_taken_before_does_not_change() -> None:
    rows: Registry[int] = Registry("row", {"a": 1})
    names = iter(rows)
    rows.register("b", 2)
    assert list(names) == ["a"]
    assert len(rows) == 2


def test_scope_undoes_what_was_registered() -> None:
    rows: Registry[int] = Registry("row")
    with rows.scope():
        rows.register("a", 1)
        assert "a" in rows
    assert "a" not in rows
