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
from intarsia.spec import Bool, Enum, ExecutedPath, Int, ListOf, Order, SpecOf, Str
from intarsia.spec.types import OptionType
from intarsia.target import DEVICE_TYPES, KINDS, TAGS, Target, TargetKind, register_kind, register_tag
from intarsia.target.aliases import ELSEWHERE


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
        case ExecutedPath():
            return STRINGS.filter(lambda text: "\0" not in text).map("/{}".format)
        case SpecOf():
            return targets
        case ListOf(element, order):
            plain = st.from_regex("[+-][ab]", fullmatch=True) if order is Order.SIGNED else _values(element, targets)
            return st.lists(plain, max_size=3)
    raise AssertionError(type_)


def _checked_values(kind: TargetKind) -> dict[str, st.SearchStrategy[Any]]:
    """Legal values of the options whose type does not say all."""
    bases = [device.name for device in KINDS.values() if kind.takes(device)]
    engines = [{"kind": engine.name} for engine in KINDS.values() if engine.serves and engine.takes(kind)]
    checked: dict[str, list[Any]] = {
        "cl-opt": [["-unroll-count:uint=3"]],
        "ram": [["dtcm:131072", "sram:393216"], []],
        "target_device_type": list(DEVICE_TYPES.values()),
        "arch": ["sm_80", "sm_90a"],
        "base": [{"kind": name} for name in bases],
        "compiler": [*engines, *({**engine, "threads": 2} for engine in engines)],
    }
    if kind.name in ("nvptx", "rocm"):
        checked["mcpu"] = ["sm_80"] if kind.name == "nvptx" else ["gfx90a", "gfx90a:sramecc+:xnack-"]
    return {name: st.sampled_from(values) if values else st.nothing() for name, values in checked.items()}


def _forms(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.sampled_from(list(KINDS)).flatmap(lambda name: _forms_of(KINDS[name], inner))


def _forms_of(kind: TargetKind, inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    checked = _checked_values(kind)
    values = {option.name: checked.get(option.name, _values(option.type, inner)) for option in kind.options.values()}
    possible = {name: strategy for name, strategy in values.items() if not strategy.is_empty}
    return st.fixed_dictionaries({"kind": st.just(kind.name)}, optional=possible)


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
    with pytest.raises(SpecError, match=r"^host: a target must be"):
        Target("openvino", 3)


def test_a_host_of_a_tag_gives_way() -> None:
    register_tag("board", "openvino -host='llvm -mcpu=x'")
    assert Target("board", "llvm").host == Target("llvm")


@pytest.mark.parametrize(
    ("form", "device_type"),
    [
        ("llvm", "cpu"),
        ("nvptx", "cuda"),
        ("tensorrt", "cuda"),
        ("onnxruntime", "cpu"),
        ("onnxruntime -base=cuda", "cuda"),
        ("arm_cl", "cpu"),
        ({"kind": "llvm", "target_device_type": 2}, "cuda"),
        ({"kind": "onnxruntime", "target_device_type": 2, "base": "llvm"}, "cuda"),
    ],
)
def test_device_type(form: object, device_type: str) -> None:
    assert Target(form).device_type == device_type


def test_an_unknown_device_type() -> None:
    with pytest.raises(
        SpecError, match=r"target_device_type: 3 is not a device type; write one of 1 \(cpu\), 2 \(cuda\)"
    ):
        Target("llvm -target_device_type=3")


def test_keys_that_follow_anyway_are_not_stated() -> None:
    assert Target("llvm -keys=cpu") == Target("llvm")
    assert Target("llvm -mcpu=cortex-m3 -keys=arm_cpu,cpu") == Target("llvm -mcpu=cortex-m3")
    assert Target("llvm -keys=cpu -mcpu=cortex-m3") != Target("llvm -mcpu=cortex-m3")
    assert Target({"kind": "c", "mcpu": "cortex-m4", "keys": ["cpu"]}).keys == ("cpu", "arm_cpu")
    assert Target("opencl -device=mali -keys=mali,opencl,gpu") == Target("opencl -device=mali")
    assert Target("nvptx -mtriple=nvptx64-nvidia-cuda") == Target("nvptx")


def test_the_older_spelling_of_an_engine() -> None:
    newer = Target({"kind": "tensorrt", "base": "cuda -arch=sm_80"})
    assert Target("cuda -arch=sm_80 -compiler=tensorrt") == newer
    assert Target({"kind": "cuda", "arch": "sm_80", "compiler": {"kind": "tensorrt"}}) == newer
    assert Target("cuda -arch=sm_80").with_options({"compiler": "tensorrt"}) == newer
    assert str(newer) == "tensorrt -base='cuda -arch=sm_80'"
    whole = Target("cuda -compiler='tensorrt -use_fp16' -host=x86 -threads=2 -model=a")
    assert dict(whole.options) == {
        "base": Target("cuda -model=a"),
        "host": Target("x86"),
        "threads": 2,
        "use_fp16": True,
    }


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ("tensorrt -base=llvm", "base: tensorrt does not generate code for 'llvm'; its base is a target of kind cuda"),
        ("openvino -base=mnn", "base: 'mnn' is not a device kind"),
        (
            "reference -base=cuda",
            "base: reference does not generate code for 'cuda'; its base is a target of device type cpu",
        ),
        ("cuda -compiler=openvino", "compiler: 'openvino' is not an engine that generates code for 'cuda'"),
        ("cuda -compiler=llvm", "compiler: 'llvm' is not an engine"),
        ("cuda -compiler='tensorrt -base=cuda'", "compiler: 'tensorrt -base=cuda' has a base already"),
        ("cuda -compiler=composite", "compiler: 'composite' is not an engine"),
    ],
)
def test_bases_that_do_not_fit(form: str, words: str) -> None:
    with pytest.raises(SpecError) as caught:
        Target(form)
    assert str(caught.value).startswith(words)
    assert "^" in str(caught.value)


def test_features_follow_from_the_options() -> None:
    assert Target("llvm -mtriple=x86_64-linux-gnu -mcpu=skylake-avx512").features.has_avx512f is True
    assert Target("onnxruntime -base='llvm -mcpu=skylake-avx512'").features.has_avx512f is True
    assert Target("llvm").features.get("has_avx512f") is None
    assert Target("llvm").features.get("test", True) is True
    assert Target("test").features.is_test is True


def test_features_are_not_stated() -> None:
    with pytest.raises(SpecError, match="'features' cannot be stated"):
        Target({"kind": "llvm", "features": {"has_avx512f": True}})


def test_a_kind_may_bring_its_own_features() -> None:
    with KINDS.scope():
        register_kind("mine", level="device", facts=lambda options: {"has_wings": "model" in options})
        assert Target("mine -model=a").features.has_wings is True
        host = Target(Target("cuda", "mine").export()).host
        assert host is not None
        assert host.features.has_wings is False


def test_another_spelling_of_a_library() -> None:
    assert str(Target("llvm -libs=mkldnn,cblas,dnnl")) == "llvm -libs=cblas,dnnl"


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
    for name, where in ELSEWHERE.items():
        with pytest.raises(SpecError) as caught:
            Target(f"llvm -{name}=1")
        assert where in str(caught.value)
        assert "^" in str(caught.value)
        with pytest.raises(SpecError) as caught:
            Target({"kind": "llvm", name: 1})
        assert where in str(caught.value)


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
