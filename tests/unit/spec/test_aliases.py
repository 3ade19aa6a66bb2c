"""Aliases of a toy level: what they leave behind, and when they mean a whole."""

from __future__ import annotations

from typing import Any

import pytest

from intarsia.errors import SpecError
from intarsia.spec import Kind, Level, Option, Placed, Spec, Str, Tag, TagTable, list_of_specs, read, read_list, schema
from intarsia.spec.tags import Alias

TAGS = TagTable()
WORD = Option(name="word", type=Str(), meaning="a word")
KINDS = {
    "part": Kind(name="part", meaning="a part", options=schema((WORD,))),
    "whole": Kind(
        name="whole",
        meaning="of parts",
        options=schema((Option(name="parts", type=list_of_specs("thing"), meaning="parts"),)),
    ),
}


def _whole(chief: Spec[Any]) -> Spec[Any]:
    return Spec.of_parts(KINDS["whole"], {"parts": (chief,)}, ())


LEVEL = Level(
    name="thing",
    type=Spec,
    kinds=KINDS,
    tags=TAGS,
    aliases={
        "chief": Alias(form={"kind": "part", "word": "a"}, whole=True),
        "other": Alias(form={"kind": "part", "word": "b"}),
        "whole": Alias(form={"kind": "part"}),
    },
    whole=_whole,
)


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("other", "part -word=b"),
        ("other -word=c", "part -word=c"),
        ({"kind": "other"}, "part -word=b"),
        ({"kind": "other", "word": "c"}, "part -word=c"),
        ({"kind": "other", "tag": "t"}, "part -word=b -tag=t"),
        ("chief", "whole -parts=\"'part -word=a'\""),
        ("chief -word=c", "whole -parts=\"'part -word=c'\""),
        ({"kind": "chief"}, "whole -parts=\"'part -word=a'\""),
        ("whole -parts=chief", "whole -parts=\"'part -word=a'\""),
        ("whole", "whole"),
    ],
)
def test_what_an_alias_stands_for(form: object, text: str) -> None:
    assert str(read(LEVEL, form)) == text


def test_in_a_list_an_alias_is_no_whole() -> None:
    assert [str(each) for each in read_list(LEVEL, "chief, other")] == ["part -word=a", "part -word=b"]
    assert [str(each) for each in read_list(LEVEL, ["chief", "other"])] == ["part -word=a", "part -word=b"]
    assert [str(each) for each in read_list(LEVEL, "chief")] == ["whole -parts=\"'part -word=a'\""]
    (placed,) = read_list(LEVEL, "chief:1")
    assert isinstance(placed, Placed)
    assert str(placed) == "part:1 -word=a"
    assert str(read(LEVEL, "chief", alone=False)) == str(read(LEVEL, "chief", path="here")) == "part -word=a"


def test_a_tag_of_the_same_name_goes_first() -> None:
    with TAGS.scope():
        TAGS.register("other", Tag(name="other", level="thing", form="part -word=tagged"))
        TAGS.register("mine", Tag(name="mine", level="thing", form="chief"))
        assert read(LEVEL, "other")["word"] == "tagged"
        assert str(read(LEVEL, "mine")) == "whole -parts=\"'part -word=a'\" -tag=mine"


def test_an_alias_is_offered_as_a_spelling() -> None:
    with pytest.raises(SpecError, match="did you mean 'other'"):
        read(LEVEL, "othr")
