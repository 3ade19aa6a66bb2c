from __future__ import annotations

import pytest

from intarsia.spec import Bool, Kind, Level, Option, Placed, Spec, TagTable, schema

KIND = Kind(name="k", meaning="x", options=schema([Option(name="on", type=Bool(), default=True, meaning="x")]))


def _spec(*tags: str, **options: object) -> Spec[Kind]:
    return Spec.of_parts(KIND, options, tags)


def test_stated_and_default() -> None:
    spec = _spec()
    assert (spec["on"], dict(spec.options)) == (True, {})


def test_stating_a_default_is_another_value() -> None:
    assert _spec() != _spec(on=True)


def test_tags_are_not_compared() -> None:
    assert _spec("a") == _spec("b")
    assert hash(_spec("a")) == hash(_spec())
    assert (_spec("a", "b", "a").tags, _spec().tag) == (("a", "b"), "")


def test_output_forms() -> None:
    spec = _spec("a", "b", on=False)
    assert str(spec) == "k -on=false -tag=a,b"
    assert repr(spec) == "Spec('k -on=false -tag=a,b')"
    assert spec.json() == '{"kind": "k", "tag": ["a", "b"], "on": false}'
    assert (str(Placed(spec, 2)), Placed(spec, 2).export()["kind"]) == ("k:2 -on=false -tag=a,b", "k:2")


def test_frozen() -> None:
    spec = _spec()
    with pytest.raises(AttributeError, match="frozen"):
        spec.key = "x"
    with pytest.raises(AttributeError, match="frozen"):
        del spec.key


def test_levels_find_each_other() -> None:
    inner = Level(name="inner", type=Spec, kinds={}, tags=TagTable())
    outer = Level(name="outer", type=Spec, kinds={"k": KIND}, tags=inner.tags, inner={"inner": inner})
    assert outer.nested("outer") is outer
    assert outer.nested("inner") is inner
    assert (outer.kind("k"), outer.kind("x")) == (KIND, None)
