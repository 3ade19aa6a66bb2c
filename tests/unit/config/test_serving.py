from __future__ import annotations

from collections.abc import Iterator

import pytest

from intarsia.config import CompilationConfig, NestedEngine, engines
from intarsia.errors import BackendUnavailableError, ConfigError
from intarsia.target import KINDS, TAGS, Target, engine_kind

USABLE = ("ncnn", "onnxruntime", "reference")
BASE = "-base='llvm -mcpu=x'"


@pytest.fixture(autouse=True)
def _tables_of_one_test() -> Iterator[None]:
    with TAGS.scope(), KINDS.scope():
        yield


@pytest.mark.parametrize(
    ("form", "texts"),
    [
        ("llvm", ["onnxruntime", "ncnn"]),
        ("ncnn, llvm", ["ncnn", "onnxruntime"]),
        ("openvino, llvm, reference", ["openvino", "onnxruntime", "ncnn", "reference"]),
        ("llvm -threads=2", ["onnxruntime -threads=2", "ncnn -threads=2"]),
        (
            "llvm -mcpu=x -threads=2, ncnn",
            [f"onnxruntime {BASE} -threads=2", f"ncnn {BASE} -threads=2", f"ncnn {BASE}"],
        ),
        ("llvm:0, llvm:1", ["onnxruntime", "ncnn"]),
        ("composite -devices=ncnn,openvino -host=llvm", ["ncnn", "openvino", "onnxruntime"]),
        ("openvino", ["openvino"]),
        ("cuda, llvm", ["onnxruntime -base=cuda", "onnxruntime", "ncnn"]),
        ({"targets": ["llvm"], "libraries": ["ncnn"]}, ["ncnn"]),
        ("acl", ["arm_acl", "onnxruntime", "ncnn"]),
        ("c", ["c"]),
        ("llvm, c", ["onnxruntime", "ncnn", "c"]),
        ("c -threads=2, onnxruntime", ["c -threads=2", "onnxruntime"]),
        ("ncnn, c -mcpu=haswell", ["ncnn -base='llvm -mcpu=haswell'", "c -mcpu=haswell"]),
    ],
)
def test_engines(form: object, texts: list[str]) -> None:
    assert [str(target) for target in engines(CompilationConfig.of(form), USABLE)] == texts


def test_engines_of_a_plug_in() -> None:
    KINDS.register("mine", engine_kind("mine", "an engine", serves=("llvm",)))
    KINDS.register("other", engine_kind("other", "an engine"))
    found = engines(CompilationConfig.of(None), ["other", "mine", "ncnn", "unknown"])
    assert [str(target) for target in found] == ["ncnn", "mine"]


def test_no_engine_names_what_to_install() -> None:
    with pytest.raises(BackendUnavailableError, match=r"pip install 'intarsia\[onnxruntime\]'"):
        engines(CompilationConfig.of("llvm"), ["reference"])


def test_a_nested_configuration_is_one_engine() -> None:
    inner = {"kind": "config", "targets": ["ncnn"], "executor": "vm"}
    config = CompilationConfig.of([inner, "onnxruntime"])
    nested, after = engines(config, USABLE)
    assert isinstance(nested, NestedEngine)
    assert nested.config == config.targets[0]
    assert nested.engines == (Target("ncnn"),)
    assert str(nested) == "config -executor=vm -targets=ncnn"
    assert after == Target("onnxruntime")


def test_a_nested_configuration_stays_though_nothing_serves_it() -> None:
    (nested, *_) = engines(CompilationConfig.of(["config -targets=cuda -libraries=tensorrt", "llvm"]), USABLE)
    assert isinstance(nested, NestedEngine)
    assert nested.engines == ()


def test_a_library_that_is_not_usable_is_named() -> None:
    with pytest.raises(BackendUnavailableError, match=r"serves cuda; it needs one of tensorrt: .*\[tensorrt\]"):
        engines(CompilationConfig.of({"targets": ["cuda"], "libraries": ["tensorrt"]}), USABLE)


@pytest.mark.parametrize(
    ("form", "instead"),
    [
        (["arm_acl"], "arm_acl, llvm"),
        ("ethos-u, cmsis-nn", "ethos-u, cmsis-nn, llvm"),
        ("tensorrt", "tensorrt, cuda, llvm"),
        ({"targets": ["tensorrt -base='cuda -arch=sm_80'"], "host": "llvm -mcpu=x"}, "cuda -arch=sm_80, llvm -mcpu=x"),
        ([{"targets": ["arm_acl"], "executor": "graph"}], "config -executor=graph -targets=arm_acl, llvm"),
    ],
)
def test_accelerators_alone_are_refused_with_the_list_to_write(form: object, instead: str) -> None:
    config = CompilationConfig.of(form)
    with pytest.raises(ConfigError, match="only part of a graph") as caught:
        engines(config, USABLE)
    assert f"{instead}" in str(caught.value)
    whole = str(caught.value).partition("write ")[2].strip("\"'")
    assert engines(CompilationConfig.of(whole), USABLE)


def test_devices_that_nothing_serves_stay_as_stand_ins() -> None:
    config = CompilationConfig.of("ethos-u, cmsis-nn, c")
    assert [str(each) for each in engines(config, USABLE, stand_ins=True)] == ["ethos-u", "cmsis-nn", "c"]
    assert [str(each) for each in engines(CompilationConfig.of("llvm"), [], stand_ins=True)] == ["llvm"]
    asked = CompilationConfig.of({"targets": ["cuda"], "libraries": ["tensorrt", "cudnn"]})
    assert [str(each) for each in engines(asked, USABLE, stand_ins=True)] == ["cudnn", "tensorrt"]
    nested = CompilationConfig.of([{"kind": "config", "targets": ["c"]}, "ncnn"])
    (inner, _) = engines(nested, USABLE, stand_ins=True)
    assert isinstance(inner, NestedEngine)
    assert [str(each) for each in inner.engines] == ["c"]
