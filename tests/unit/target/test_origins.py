from __future__ import annotations

import doctest
import sys
from collections.abc import Iterator

import pytest

from intarsia.target import TAGS, Origin, Target, origins, register_tag

module = sys.modules[origins.__module__]


@pytest.fixture(autouse=True)
def _tags_of_one_test() -> Iterator[None]:
    with TAGS.scope():
        yield


def tags(target: Target) -> dict[str, str]:
    return {name: origin.tag for name, origin in origins(target).items()}


def test_an_option_is_the_tags_that_first_stated_it() -> None:
    register_tag("base", "llvm -mcpu=a -num-cores=2", source="sheet")
    register_tag("more", "base -num-cores=4", source="visit")
    register_tag("most", {"tag": "more", "mcpu": "a", "jit": "orcjit"}, source="guess")
    target = Target("most -threads=3")
    assert tags(target) == {"mcpu": "base", "num-cores": "more", "jit": "most", "threads": ""}
    assert origins(target)["num-cores"] == Origin(tag="more", source="visit")


def test_an_override_is_the_targets_own() -> None:
    register_tag("base", "llvm -mcpu=a -num-cores=2", source="sheet")
    assert tags(Target("base -mcpu=b")) == {"mcpu": "", "num-cores": "base"}


def test_without_a_tag_and_with_one_that_is_gone() -> None:
    assert tags(Target("llvm -mcpu=a")) == {"mcpu": ""}
    assert tags(Target("llvm -mcpu=a -tag=gone")) == {"mcpu": ""}
    assert tags(Target("llvm -mcpu=a -tag=nvidia/jetson-nano:cuda,nvidia/jetson-nano:gone")) == {"mcpu": ""}


def test_a_label_alone_states_nothing() -> None:
    register_tag("base", "llvm -mcpu=a")
    assert tags(Target("llvm -mcpu=b -tag=base")) == {"mcpu": ""}


@pytest.mark.parametrize(
    "form", ["base:fast", '{"tag": "base:fast"}', {"tag": ["base:fast"]}, Target("llvm -mcpu=b -tag=base:fast")]
)
def test_every_form_of_extending(form: object) -> None:
    register_tag("base", "llvm -mcpu=a", variants={"fast": "base -mcpu=b"})
    register_tag("more", form)
    assert tags(Target("more")) == {"mcpu": "base:fast"}


def test_of_a_shipped_row() -> None:
    found = origins(Target("nvidia/jetson-agx-orin-64gb"))
    assert found["registers_per_block"].tag == "nvidia/sm_87"
    assert found["host"].tag == "nvidia/jetson-agx-orin-64gb"
    assert all(origin.source for origin in found.values())


def test_examples() -> None:
    assert doctest.testmod(module).failed == 0
