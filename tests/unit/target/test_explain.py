from __future__ import annotations

import doctest
import importlib

import pytest

from intarsia.target import KINDS, TAGS, Target, register_kind, register_tag
from intarsia.target.explain import Field, explain


def fields(target: object) -> dict[str, Field]:
    return {field.name: field for field in explain(Target(target))}


def test_each_field_says_where_it_comes_from() -> None:
    found = fields("aws/cpu/c5.4xlarge -threads=4 -opt-level=2")
    origins = {name: (field.origin, field.tag) for name, field in found.items()}
    assert origins["mcpu"] == ("extends", "aws/c5")
    assert origins["num-cores"] == ("tag", "aws/cpu/c5.4xlarge")
    assert origins["threads"] == origins["opt-level"] == ("user", "")
    assert origins["device_type"] == origins["features"] == ("derived", "")
    assert found["mcpu"].source
    assert not found["threads"].source


def test_what_overrides_a_tag_is_the_users() -> None:
    found = fields({"tag": "aws/cpu/c5.4xlarge", "num-cores": 3})
    assert (found["num-cores"].value, found["num-cores"].origin) == ("3", "user")


def test_what_follows_from_the_rest_is_derived_and_what_is_left_out_default() -> None:
    with KINDS.scope():
        register_kind(
            "my-npu", {"rows": 3, "cells": 9}, fill=lambda o: {"cells": o["rows"] ** 2, **o} if "rows" in o else o
        )
        assert {
            name: field.origin for name, field in fields("my-npu -rows=4").items() if name in ("rows", "cells")
        } == {
            "rows": "user",
            "cells": "derived",
        }
        assert fields("my-npu -rows=4 -cells=16") == fields("my-npu -rows=4")
        assert fields("my-npu -rows=4 -cells=5")["cells"].origin == "user"
        assert {field.origin for name, field in fields("my-npu").items() if name in ("rows", "cells")} == {"default"}


def test_a_tag_is_followed_through_what_it_extends() -> None:
    with TAGS.scope():
        register_tag("a/core", "llvm -mcpu=haswell", source="core sheet")
        register_tag("a/board", "a/core -num-cores=4", source="board sheet")
        found = fields("a/board -threads=2")
    assert [(f.name, f.origin, f.tag, f.source) for f in list(found.values())[:3]] == [
        ("mcpu", "extends", "a/core", "core sheet"),
        ("num-cores", "tag", "a/board", "board sheet"),
        ("threads", "user", "", ""),
    ]


@pytest.mark.parametrize("name", KINDS)
def test_every_option_with_a_value_has_one_field(name: str) -> None:
    found = [field.name for field in explain(Target(name))]
    assert len(found) == len(set(found))
    assert {option.name for option in KINDS[name].options.values() if option.default is not None} <= set(found)


def test_the_example_holds() -> None:
    assert doctest.testmod(importlib.import_module("intarsia.target.explain")).failed == 0
