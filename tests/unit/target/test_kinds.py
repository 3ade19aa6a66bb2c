from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from intarsia.errors import SpecError
from intarsia.spec import Bool, Option
from intarsia.target import DEVICE_TYPES, KINDS, Target, engine_kind, kinds
from intarsia.target.target import ELSEWHERE


@pytest.fixture(autouse=True)
def _kinds_of_one_test() -> Iterator[None]:
    with KINDS.scope():
        yield


def test_the_table() -> None:
    assert KINDS["llvm"].engines == ("onnxruntime", "openvino", "mnn", "ncnn")
    assert [name for name, kind in KINDS.items() if kind.is_reference] == ["reference"]
    assert {kind.level for kind in KINDS.values()} == {"device", "engine", "syntax"}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_each_row(kind: kinds.TargetKind) -> None:
    assert kind.device_type in DEVICE_TYPES
    assert all(KINDS[name].level == "engine" for name in kind.engines)
    for option in kind.options.values():
        assert option.meaning
        assert option.default is None or str(Target({"kind": kind.name, option.name: option.default}))


PAGE = Path(__file__).parents[3] / "docs" / "spec-language.md"


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_the_docs_list_each_option(kind: kinds.TargetKind) -> None:
    page = PAGE.read_text(encoding="utf-8")
    common = set.intersection(*(set(kind.options) for kind in KINDS.values() if kind.level != "syntax"))
    for option in kind.options.values():
        default = "" if option.default is None else option.type.text(option.default)
        label = option.type.label.replace("|", "\\|")
        row = (
            f"| `{option.name}` | {label} | {default} | {option.meaning}{f' ({option.unit})' if option.unit else ''} |"
        )
        assert row in page
    assert f"### `{kind.name}`" in page
    assert common == {"threads", "keys", "device", "model", "libs", "host"}


def test_an_option_is_declared_at_one_level() -> None:
    assert not {name for kind in KINDS.values() for name in kind.options} & set(ELSEWHERE)


@pytest.mark.parametrize(
    "entry", ["-a", "--a", "-a=true", "-a:bool=0", "-a:int=-3", "-a:uint=3", "-a:string=x y", "-a:string="]
)
def test_llvm_options_that_are_well_formed(entry: str) -> None:
    assert Target({"kind": "llvm", "cl-opt": [entry]})["cl-opt"] == (entry,)


@pytest.mark.parametrize(
    "entry",
    ["", "a", "---a", "-", "-a:", "-a:=", "-a:bool", "-a=", "-a:x=1", "-a=2", "-a=fred", "-a:uint=-1", "-a:int=x"],
)
def test_llvm_options_that_are_malformed(entry: str) -> None:
    with pytest.raises(SpecError, match="cl-opt: malformed LLVM option"):
        Target({"kind": "llvm", "cl-opt": [entry]})


def test_an_engine_kind_cannot_declare_a_common_option_again() -> None:
    with pytest.raises(ValueError, match="'model' is already declared"):
        engine_kind("mine", "an engine", [Option(name="model", type=Bool(), meaning="x")])


MINE = engine_kind("mine", "an engine", serves=("llvm",))


def _offer(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    point = EntryPoint(name=name, value=value, group=kinds.PLUGIN_GROUP)
    monkeypatch.setattr(kinds, "_offered", lambda: {name: point})


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
