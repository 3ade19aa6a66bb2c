from __future__ import annotations

import pytest

from intarsia.errors import SpecError
from intarsia.spec import Tag


@pytest.mark.parametrize("name", ["", "-a", "a b", "a'b", 'a"b', "a\\b", "{a", "[a", "a=b"])
def test_names_that_text_could_not_hold(name: str) -> None:
    with pytest.raises(SpecError, match="cannot name a tag"):
        Tag(name=name, level="target", form="llvm")


@pytest.mark.parametrize("variant", ["1", "a:b"])
def test_variants_that_would_be_read_otherwise(variant: str) -> None:
    with pytest.raises(SpecError, match="cannot name a variant"):
        Tag(name="a", level="target", form="llvm", variants={variant: "llvm"})


def test_a_name_may_hold_a_comma_and_dots() -> None:
    assert Tag(name="v/gt-730-ddr3,128bit.x", level="target", form="llvm").source == ""
