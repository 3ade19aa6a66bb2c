from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import EntryPoint

import pytest

from intarsia.errors import SpecError
from intarsia.spec import Bool, Option
from intarsia.target import DEVICE_TYPES, KINDS, Target, TargetKind, engine_kind
from intarsia.target.aliases import ELSEWHERE
from intarsia.target.kinds import catalogue


@pytest.fixture(autouse=True)
def _kinds_of_one_test() -> Iterator[None]:
    with KINDS.scope():
        yield


def test_the_table() -> None:
    assert KINDS["llvm"].engines[:4] == ("onnxruntime", "openvino", "mnn", "ncnn")
    assert KINDS["cuda"].engines[-4:] == ("tensorrt", "cutlass", "cudnn", "cublas")
    assert [name for name, kind in KINDS.items() if kind.is_reference] == ["reference"]
    assert {kind.level for kind in KINDS.values()} == {"device", "engine", "syntax"}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_each_row(kind: TargetKind) -> None:
    assert kind.device_type in DEVICE_TYPES
    assert all(KINDS[name].level == "engine" for name in kind.engines)
    assert all(KINDS[name].level == "device" and kind.takes(KINDS[name]) for name in kind.serves)
    assert kind.meaning
    for option in kind.options.values():
        assert option.meaning
        stated = {} if option.default is None else {option.name: option.type.data(option.default)}
        assert Target({"kind": kind.name, **stated})[option.name] == option.default


def test_device_types() -> None:
    numbers = {name: DEVICE_TYPES[KINDS[name].device_type] for name in KINDS if KINDS[name].level != "engine"}
    assert numbers == {
        **dict.fromkeys(("llvm", "c", "stackvm", "hybrid", "composite", "nested", "control-flow", "test"), 1),
        "cuda": 2,
        "nvptx": 2,
        "opencl": 4,
        "sdaccel": 4,
        "vulkan": 7,
        "metal": 8,
        "rocm": 10,
        "ext_dev": 12,
        "webgpu": 15,
        "hexagon": 16,
        "aocl": 32,
        "aocl_sw_emu": 32,
    }


def test_an_engine_serves_no_device_that_it_would_have_to_bring() -> None:
    assert KINDS["ethos-u"].takes(KINDS["c"])
    assert "ethos-u" not in KINDS["c"].engines
    assert "cmsis-nn" in KINDS["c"].engines


def test_an_option_is_declared_at_one_level() -> None:
    assert not {name for kind in KINDS.values() for name in kind.options} & set(ELSEWHERE)


def test_an_engine_kind_cannot_declare_a_common_option_again() -> None:
    with pytest.raises(SpecError, match="option 'model' is already registered"):
        engine_kind("mine", "an engine", [Option(name="model", type=Bool(), meaning="x")])


MINE = engine_kind("mine", "an engine", serves=("llvm",))


def _offer(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    point = EntryPoint(name=name, value=value, group=catalogue.PLUGIN_GROUP)
    monkeypatch.setattr(catalogue, "_offered", lambda: {name: point})


def test_a_plug_in_brings_a_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    _offer(monkeypatch, "mine", "offering:MINE")
    monkeypatch.setattr(EntryPoint, "load", lambda self: MINE)
    assert Target("mine -threads=2")["threads"] == 2
    assert "mine" in KINDS


@pytest.mark.parametrize("value", ["intarsia_no_such_module:KIND", "intarsia.target:KINDS", "intarsia.target:NOPE"])
def test_a_plug_in_that_is_broken(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    _offer(monkeypatch, "mine", value)
    with pytest.raises(SpecError, match="'mine'"):
        Target("mine")
