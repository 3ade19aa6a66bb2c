from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from intarsia.errors import SpecError
from intarsia.spec import Tag, TagTable, Variant
from intarsia.spec.tags import TagSource


class Drawer(TagSource):
    """A source that is a dict, and notes whether it was read as a whole."""

    def __init__(self, *names: str) -> None:
        self._tags = {name: Tag(name=name, level="target", form="mnn") for name in names}
        self.was_read = False

    def find(self, name: str) -> Tag | None:
        return self._tags.get(name)

    def with_comma(self, text: str) -> tuple[str, ...]:
        return tuple(name for name in self._tags if "," in name)

    def similar(self, name: str) -> Iterator[str]:
        return iter(self._tags)

    def tags(self) -> Mapping[str, Tag]:
        self.was_read = True
        return self._tags


@pytest.mark.parametrize("name", ["", "-a", "a b", "a'b", 'a"b', "a\\b", "{a", "[a", "a=b"])
def test_names_that_text_could_not_hold(name: str) -> None:
    with pytest.raises(SpecError, match="cannot be the name of a tag"):
        Tag(name=name, level="target", form="llvm")


@pytest.mark.parametrize("variant", ["1", "a:b"])
def test_variants_that_would_be_read_otherwise(variant: str) -> None:
    with pytest.raises(SpecError, match="cannot name a variant"):
        Tag(name="a", level="target", form="llvm", variants={variant: "llvm"})


def test_a_name_may_hold_a_comma_and_dots() -> None:
    assert Tag(name="v/gt-730-ddr3,128bit.x", level="target", form="llvm").source == ""


def test_a_variant_is_of_the_tags_level_or_names_its_own() -> None:
    machine = Variant(level="config", form={"targets": ["mnn"]})
    tag = Tag(name="a", level="target", form="llvm", variants={"fast": "llvm -fast-math", "all": machine})
    assert tag.chosen() == Variant(level="target", form="llvm")
    assert tag.chosen("fast") == Variant(level="target", form="llvm -fast-math")
    assert tag.chosen("all") == machine
    assert tag.chosen("none") is None


def test_what_is_registered_stands_before_the_sources_and_a_nearer_source_before_a_farther() -> None:
    near, far = Drawer("a", "b"), Drawer("b", "c")
    tags = TagTable(near, far)
    own = Tag(name="a", level="target", form="ncnn")
    with pytest.raises(SpecError, match="tag 'a' has been previously defined"):
        tags.register("a", own)
    tags.register("a", own, override=True)
    assert tags["a"] is own
    assert tags["b"] is near.find("b")
    assert tags["c"] is far.find("c")
    assert tags.find("d") is None
    assert list(tags) == ["a", "b", "c"]
    assert len(tags) == 3
    with pytest.raises(KeyError):
        tags["d"]


def test_asking_for_a_name_reads_no_source_as_a_whole() -> None:
    source = Drawer("v/a")
    tags = TagTable(source)
    assert "v/a" in tags
    assert "v/b" not in tags
    assert not tags.__contains__(3)
    tags.register("v/b", Tag(name="v/b", level="target", form="mnn"))
    assert tags.with_comma("v/a, v/b") == ()
    assert tags.similar("v/c") == ("v/b", "v/a")
    assert not source.was_read
    assert dict(tags).keys() == {"v/a", "v/b"}
    assert source.was_read


def test_a_scope_keeps_what_the_sources_hold() -> None:
    tags = TagTable(Drawer("a"))
    with tags.scope():
        assert "a" in tags
        tags.register("b", Tag(name="b", level="target", form="mnn"))
    assert list(tags) == ["a"]


def test_names_with_a_comma_matter_only_to_text_with_one() -> None:
    tags = TagTable(Drawer("v/a,1", "v/b"))
    tags.register("c,1", Tag(name="c,1", level="target", form="mnn"))
    assert tags.with_comma("v/a") == ()
    assert set(tags.with_comma("v/a,1")) == {"c,1", "v/a,1"}


@pytest.mark.parametrize(
    ("word", "level"), [("a", "target"), ("a:all", "config"), ("a:x", ""), ("a:1", ""), ("b", ""), ("b:all", "")]
)
def test_level_of(word: str, level: str) -> None:
    tags = TagTable()
    variants = {"all": Variant(level="config", form="mnn")}
    tags.register("a", Tag(name="a", level="target", form="mnn", variants=variants))
    assert tags.level_of(word) == level
