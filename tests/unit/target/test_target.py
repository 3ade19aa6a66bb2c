from __future__ import annotations

import copy
import doctest
import pickle
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import intarsia.target.target as module
from intarsia.errors import SpecError
from intarsia.spec import Bool, Enum, Int, ListOf, Order, SpecOf, Str
from intarsia.spec.types import OptionType
from intarsia.target import KINDS, TAGS, Target, engine_kind, register_tag


@pytest.fixture(autouse=True)
def _tags_of_one_test() -> Iterator[None]:
    with TAGS.scope():
        yield


STRINGS = st.text(st.sampled_from("ab+'\"\\ ,=-{:\té"), max_size=8)


def _values(type_: OptionType, targets: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    match type_:
        case Bool():
            return st.booleans()
        case Int():
            return st.integers(min_value=type_.minimum)
        case Enum():
            return st.sampled_from(type_.choices)
        case Str():
            return STRINGS
        case SpecOf():
            return targets
        case ListOf(element, order):
            plain = st.from_regex("[+-][ab]", fullmatch=True) if order is Order.SIGNED else _values(element, targets)
            return st.lists(plain, max_size=3)
    raise AssertionError(type_)


def _forms(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.sampled_from(list(KINDS)).flatmap(
        lambda name: st.fixed_dictionaries(
            {"kind": st.just(name)},
            optional={
                option.name: _values(option.type, inner)
                for option in KINDS[name].options.values()
                if option.name != "cl-opt"
            },
        )
    )


FORMS = st.recursive(st.sampled_from(list(KINDS)).map(lambda name: {"kind": name}), _forms, max_leaves=3)


@settings(max_examples=200)
@given(FORMS)
def test_every_output_form_parses_back(form: dict[str, Any]) -> None:
    target = Target(form)
    for back in (Target(str(target)), Target(target.json()), Target(target.export()), Target(target)):
        assert back == target
        assert hash(back) == hash(target)
        assert str(back) == str(target)


@given(FORMS)
def test_copies_and_pickles_are_equal(form: dict[str, Any]) -> None:
    target = Target(form)
    assert pickle.loads(pickle.dumps(target)) == copy.deepcopy(target) == target


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("llvm", "llvm"),
        ("llvm mattr=+neon,-avx512f,+a", "llvm -mattr=+neon,-avx512f,+a"),
        ("llvm -mattr=+b,+a,-c,+b", "llvm -mattr=+a,-c,+b"),
        ("llvm -libs=b,a,b --mcpu x", "llvm -libs=a,b -mcpu=x"),
        (
            "llvm -cl-opt='-unroll-threshold:uint=100,-unroll-count:uint=3'",
            "llvm -cl-opt=-unroll-threshold:uint=100,-unroll-count:uint=3",
        ),
        ("llvm -jit=orcjit -fast-math", "llvm -fast-math=true -jit=orcjit"),
        ("llvm -host='llvm -mcpu=x'", "llvm -host='llvm -mcpu=x'"),
        ("composite --host=llvm --devices=openvino,llvm", "composite -devices=openvino,llvm -host=llvm"),
        ('{"kind": "ncnn", "winograd": false}', "ncnn -winograd=false"),
    ],
)
def test_canonical_text(form: object, text: str) -> None:
    assert str(Target(form)) == text


def test_stated_and_default_options() -> None:
    target = Target("onnxruntime -threads=2")
    assert dict(target.options) == {"threads": 2}
    assert (target["optimization-level"], target["threads"], target["base"]) == ("all", 2, None)


@pytest.mark.parametrize(
    ("form", "keys"),
    [
        ("llvm", ("cpu",)),
        ("llvm -device=arm_cpu", ("arm_cpu", "cpu")),
        ({"kind": "llvm", "keys": ["cpu", "arm_cpu"], "device": "arm_cpu"}, ("cpu", "arm_cpu")),
        ({"kind": "llvm", "keys": ["mine"]}, ("mine",)),
        ("llvm -keys=a,b,a", ("a", "b")),
    ],
)
def test_keys(form: object, keys: tuple[str, ...]) -> None:
    assert Target(form).keys == keys


def test_hosts() -> None:
    assert Target("llvm").host is None
    assert Target("openvino", "llvm").host == Target("llvm")
    assert Target("openvino", {"kind": "llvm"}) == Target("openvino -host=llvm") == Target("openvino").with_host("llvm")
    assert Target("openvino -host=llvm", "llvm") == Target("openvino -host=llvm")
    assert Target(Target("openvino -host=llvm"), "mnn").host == Target("mnn")
    assert Target("openvino -host=llvm").with_host(None) == Target("openvino")
    with pytest.raises(SpecError, match="states 'llvm' and the argument 'mnn'"):
        Target("openvino -host=llvm", "mnn")
    with pytest.raises(SpecError, match=r"^host: a target is"):
        Target("openvino", 3)


def test_a_host_of_a_tag_gives_way() -> None:
    register_tag("board", "openvino -host='llvm -mcpu=x'")
    assert Target("board", "llvm").host == Target("llvm")


def test_device_type() -> None:
    assert Target("llvm").device_type == "cpu"
    with KINDS.scope():
        KINDS.register("box", engine_kind("box", "an engine", device_type="cuda"))
        assert Target("box").device_type == "cuda"
        assert Target("openvino -base=box").device_type == "cuda"


def test_with_options() -> None:
    target = Target("onnxruntime -threads=2 -tag=mine")
    changed = target.with_options({"optimization-level": "basic", "threads": None})
    assert (dict(changed.options), changed.tag) == ({"optimization-level": "basic"}, "mine")
    assert dict(target.options) == {"threads": 2}
    with pytest.raises(SpecError, match="did you mean 'threads'"):
        target.with_options({"thread": 1})
    with pytest.raises(SpecError, match="threads: must be an int"):
        target.with_options({"threads": "1"})


def test_a_target_says_where_other_settings_go() -> None:
    for name in module.ELSEWHERE:
        with pytest.raises(SpecError, match=r"belongs to|setting of") as caught:
            Target(f"llvm -{name}=1")
        assert "^" in str(caught.value)
        with pytest.raises(SpecError, match=r"belongs to|setting of"):
            Target({"kind": "llvm", name: 1})


WORDS = """llvm openvino composite reference x -mattr=+a,-b -cl-opt=-x=true -devices= ' " \\ , mnn:1 -host= -threads=2
precision=low -tag=a,b {"kind": "llvm"} -base -keys=''"""
PARTS = st.sampled_from([*WORDS.split(), " ", "\n"])


@settings(max_examples=500)
@given(st.lists(PARTS, max_size=8).map(" ".join) | st.lists(PARTS, max_size=8).map("".join))
def test_any_text_gives_a_target_or_our_error(text: str) -> None:
    try:
        target = Target(text)
    except SpecError:
        return
    assert Target(str(target)) == target


def test_unknown_kind_golden() -> None:
    with pytest.raises(SpecError) as caught:
        Target("onnxruntim -threads=2")
    assert str(caught.value) == "\n".join(
        (
            "target kind 'onnxruntim' is not defined; did you mean 'onnxruntime'?",
            "  onnxruntim -threads=2",
            "  ^^^^^^^^^^",
        )
    )


def test_nested_errors_golden() -> None:
    form = {"kind": "composite", "devices": ["llvm -mcpuu=x", "nosuchkind"], "host": {"kind": "llvm", "mcpu": 3}}
    with pytest.raises(SpecError) as caught:
        Target(form)
    assert str(caught.value) == "\n".join(
        (
            "3 problems:",
            "devices[0]: cannot recognize 'mcpuu' as an option of 'llvm'; did you mean 'mcpu'?",
            "  llvm -mcpuu=x",
            "        ^^^^^",
            "devices[1]: target kind 'nosuchkind' is not defined; known are " + ", ".join(KINDS),
            "  nosuchkind",
            "  ^^^^^^^^^^",
            "host.mcpu: must be a str, found 3 (int)",
        )
    )


def test_register_tag() -> None:
    target = register_tag("v/board", "llvm -mcpu=x", variants={"fast": "llvm -mcpu=x -fast-math"}, source="data sheet")
    assert target == Target("llvm -mcpu=x") == Target("v/board")
    assert Target("v/board:fast")["fast-math"]
    with pytest.raises(SpecError, match="'v/board' has been previously defined"):
        register_tag("v/board", "llvm")
    assert register_tag("v/board", "mnn", override=True) == Target("mnn")


@pytest.mark.parametrize(
    ("name", "form", "variants"),
    [("llvm", "mnn", {}), ("v/x", "nope", {}), ("v/x", "v/x", {}), ("v/x", "llvm", {"a": "nope"})],
)
def test_tags_that_are_refused_leave_nothing_behind(name: str, form: str, variants: dict[str, str]) -> None:
    with pytest.raises(SpecError):
        register_tag(name, form, variants=variants)
    assert name not in TAGS


def test_examples() -> None:
    assert doctest.testmod(module).failed == 0
