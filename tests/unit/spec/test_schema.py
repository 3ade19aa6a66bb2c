from __future__ import annotations

import pytest

from intarsia.spec import Bool, Option, schema


def _option(name: str) -> Option:
    return Option(name=name, type=Bool(), meaning="for tests")


def test_an_option_is_declared_once() -> None:
    with pytest.raises(ValueError, match="already declared"):
        schema([_option("a")], [_option("a")])


@pytest.mark.parametrize("name", ["kind", "tag", "a b", "", "-a", "a=b", "1a"])
def test_names_that_cannot_be_written(name: str) -> None:
    with pytest.raises(ValueError, match="cannot be the name of an option"):
        schema([_option(name)])


def test_order_of_declaration_is_kept() -> None:
    assert list(schema([_option("b"), _option("a")])) == ["b", "a"]
