from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from intarsia.errors import SpecError
from intarsia.spec import Bool, ListOf, Option, Str
from intarsia.target import KINDS, TAGS, Target, parse_targets, register_kind, register_tag


@pytest.fixture(autouse=True)
def _kinds_of_one_test() -> Iterator[None]:
    with KINDS.scope(), TAGS.scope():
        yield


def test_plain_defaults() -> None:
    register_kind("my_hwa2", {"local_memory_size": 131072, "variant": "version1", "fast": False})
    plain, stated = Target("my_hwa2"), Target("my_hwa2 --local_memory_size=262144 --variant=version2 --fast")
    assert [plain[name] for name in ("local_memory_size", "variant", "fast")] == [131072, "version1", False]
    assert [stated[name] for name in ("local_memory_size", "variant", "fast")] == [262144, "version2", True]
    assert Target(str(stated)) == stated
    with pytest.raises(SpecError, match="must be a bool"):
        Target({"kind": "my_hwa2", "fast": 1})


def test_the_scope_ends() -> None:
    with KINDS.scope():
        register_kind("mine")
    with pytest.raises(SpecError, match="'mine' is not defined"):
        Target("mine")


def test_everything_that_can_be_said() -> None:
    def fill(options: Mapping[str, Any]) -> Mapping[str, Any]:
        return {**options, "names": ("woof",)} if "names" in options else options

    kind = register_kind(
        "mine",
        [Option(name="names", type=ListOf(Str()), meaning="names")],
        meaning="my device",
        level="device",
        device_type="metal",
        keys=("mine", "gpu"),
        fill=fill,
        check=lambda options: [("names", "no model")] if "names" in options and "model" not in options else [],
        attrs={"Attr1": "Value1"},
    )
    assert KINDS["mine"] is kind
    assert (kind.attrs["Attr1"], kind.meaning, kind.level) == ("Value1", "my device", "device")
    target = Target("mine -names=cake -model=x")
    assert (target["names"], target.device_type, target.keys) == (("woof",), "metal", ("mine", "gpu"))
    with pytest.raises(SpecError, match="names: no model"):
        Target("mine -names=cake")


def test_an_engine_of_a_devices_kind() -> None:
    register_kind("byoc-mine", {"level": 3}, device_type="cuda", serves=("cuda",), partial=True)
    engine, device = parse_targets("byoc-mine -level=2, cuda -arch=sm_80")
    assert engine.refines(device)
    assert engine.keys == ("cuda",)
    assert Target("cuda -arch=sm_80 -compiler='byoc-mine -level=2'") == engine.with_options({"base": device.export()})


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("llvm", {}, "target kind 'llvm' is already registered"),
        ("acl", {}, "'acl' is already registered as another spelling of a target"),
        ("v/tag", {}, "'v/tag' is already registered as a tag"),
        ("a b", {}, "'a b' cannot be the name of a target kind"),
        ("", {}, "'' cannot be the name of a target kind"),
        ("mine", {"model": "my_model"}, "option 'model' is already registered; every kind has it"),
        ("mine", {"base": "x"}, "option 'base' is already registered"),
        ("mine", {"x": None}, "option 'x': a default must be a str, int or bool, found NoneType"),
        ("mine", {"x": 1.5}, "option 'x': a default must be a str, int or bool, found float"),
        ("mine", {"a=b": 1}, "'a=b' cannot be the name of an option"),
        (
            "mine",
            [Option(name="x", type=Bool(), meaning="x"), Option(name="x", type=Bool(), meaning="x")],
            "'x' is already declared",
        ),
    ],
)
def test_what_is_refused_leaves_nothing_behind(name: str, options: Any, words: str) -> None:
    register_tag("v/tag", "llvm")
    before = dict(KINDS)
    with pytest.raises(SpecError) as caught:
        register_kind(name, options)
    assert words in str(caught.value)
    assert dict(KINDS) == before


def test_devices_that_do_not_exist() -> None:
    with pytest.raises(SpecError, match="device type 'tpu' is not known; known are cpu, cuda"):
        register_kind("mine", device_type="tpu")
    with pytest.raises(SpecError, match="serves 'mnn', which is not a device kind"):
        register_kind("mine", serves=("mnn",))


def test_a_kind_is_replaced_when_asked() -> None:
    register_kind("mine", {"a": 1})
    register_kind("mine", {"b": 1}, override=True)
    assert Target("mine")["b"] == 1
