from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intarsia.config import CompilationConfig, engines
from intarsia.errors import BackendUnavailableError, SpecError
from intarsia.spec import Tag
from intarsia.target import KINDS, TAGS, Target, engine_kind, register_tag

USABLE = ("ncnn", "onnxruntime", "reference")


@pytest.fixture(autouse=True)
def _tables_of_one_test() -> Iterator[None]:
    with TAGS.scope(), KINDS.scope():
        yield


TEXTS = st.sampled_from(
    ["llvm", "llvm:0", "llvm -mcpu=x", "mnn", "ncnn:1 -model='a, b'", "openvino -libs=b,a", "composite -devices=mnn:3"]
)


@given(st.lists(TEXTS, min_size=1, max_size=4, unique=True), st.sampled_from([None, "llvm", "llvm -mcpu=y", "mnn"]))
def test_every_output_form_reads_back(texts: list[str], host: str | None) -> None:
    config = CompilationConfig.of({"targets": texts} if host is None else {"targets": texts, "host": host})
    for back in (CompilationConfig.of(str(config)), CompilationConfig.of(config.json())):
        assert back == config
        assert hash(back) == hash(config)
    assert CompilationConfig.of(config.export()) == config == CompilationConfig.of(config)


@given(st.lists(TEXTS, max_size=4, unique=True))
def test_reading_the_own_targets_again_changes_nothing(texts: list[str]) -> None:
    config = CompilationConfig.of([text for text in texts if ":" not in text] or "mnn")
    assert CompilationConfig.of(config.targets) == config


@pytest.mark.parametrize(
    ("form", "text", "host"),
    [
        (None, "llvm", "llvm"),
        ("openvino", "openvino", "llvm"),
        ("openvino, llvm -mcpu=x -threads=2", "openvino, llvm -mcpu=x -threads=2", "llvm -mcpu=x"),
        ("openvino -host='llvm -mcpu=y', llvm", "openvino -host='llvm -mcpu=y', llvm", "llvm -mcpu=y"),
        ("composite -devices=mnn,ncnn -host=llvm", "mnn, ncnn", "llvm"),
        ({"targets": ["mnn"], "host": "llvm -mcpu=z"}, "mnn -host='llvm -mcpu=z'", "llvm -mcpu=z"),
        ('{"targets": ["mnn:1"]}', "mnn:1", "llvm"),
        ({"kind": "config", "targets": ["mnn"]}, "mnn", "llvm"),
        ({"cpu": "mnn"}, "mnn", "llvm"),
        (Target("ncnn"), "ncnn", "llvm"),
    ],
)
def test_forms_and_hosts(form: object, text: str, host: str) -> None:
    config = CompilationConfig.of(form)
    assert (str(config), str(config.host)) == (text, host)
    assert all(target.host is None for target in config.targets)


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ("llvm, llvm", "targets[0] and targets[1] are equal: 'llvm'"),
        ("mnn:1, ncnn, mnn:1", "targets[0] and targets[2] are equal: 'mnn:1'"),
        ("mnn -host=llvm, ncnn -host=mnn", "'llvm' and 'mnn'"),
        ({"targets": ["mnn -host=llvm"], "host": "ncnn"}, "'ncnn' and 'llvm'"),
        ({"targets": []}, "at least one target"),
        ({"targets": ["llvm", {"kind": "mnn", "host": {"kind": "llvm", "mcpu": 3}}]}, "targets[1].host.mcpu: must be"),
        ({"targets": "llvm"}, "targets: must be a list"),
        ({"targets": ["llvm"], "hots": "llvm"}, "did you mean 'host'"),
        ({"targets": ["llvm"], "target": "llvm"}, "did you mean 'targets'"),
        (3, "found 3"),
    ],
)
def test_errors(form: object, words: str) -> None:
    with pytest.raises(SpecError) as caught:
        CompilationConfig.of(form)
    assert words in str(caught.value)


def test_target_host_is_an_older_spelling() -> None:
    with pytest.warns(DeprecationWarning, match="target_host"):
        config = CompilationConfig.of({"targets": ["mnn"], "target_host": "llvm -mcpu=x"})
    assert config.host == Target("llvm -mcpu=x")


def test_a_tag_may_name_a_target_or_a_configuration() -> None:
    register_tag("v/board", "llvm -mcpu=x")
    form = {"targets": ["mnn", "v/board"]}
    TAGS.register("v/box", Tag(name="v/box", level="config", form=form, variants={"one": {"targets": ["mnn"]}}))
    assert str(CompilationConfig.of("v/board")) == "llvm -mcpu=x -tag=v/board"
    assert CompilationConfig.of("v/box") == CompilationConfig.of("mnn, llvm -mcpu=x")
    assert CompilationConfig.of("v/box:one") == CompilationConfig.of("mnn")
    assert CompilationConfig.of({"tag": "v/box", "host": "mnn"}).host == Target("mnn")
    with pytest.raises(SpecError, match="names a config"):
        Target("v/box")


def test_files(tmp_path: Path) -> None:
    file = tmp_path / "machine.json"
    file.write_text('{"targets": ["mnn", "ncnn"]}\n')
    assert CompilationConfig.of(file) == CompilationConfig.of("mnn, ncnn")
    with pytest.raises(SpecError, match="cannot read the target file"):
        CompilationConfig.of(tmp_path / "none.json")
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SpecError, match="cannot read the target file"):
        CompilationConfig.of(file)


@pytest.mark.parametrize(
    ("form", "texts"),
    [
        ("llvm", ["onnxruntime", "ncnn"]),
        ("ncnn, llvm", ["ncnn", "onnxruntime"]),
        ("openvino, llvm, reference", ["openvino", "onnxruntime", "ncnn", "reference"]),
        ("llvm -threads=2", ["onnxruntime -threads=2", "ncnn -threads=2"]),
        (
            "llvm -mcpu=x -threads=2, ncnn",
            ["onnxruntime -base='llvm -mcpu=x' -threads=2", "ncnn -base='llvm -mcpu=x' -threads=2", "ncnn"],
        ),
        ("llvm:0, llvm:1", ["onnxruntime", "ncnn"]),
    ],
)
def test_engines(form: str, texts: list[str]) -> None:
    assert [str(target) for target in engines(CompilationConfig.of(form), USABLE)] == texts


def test_engines_of_a_plug_in() -> None:
    KINDS.register("mine", engine_kind("mine", "an engine", serves=("llvm",)))
    KINDS.register("other", engine_kind("other", "an engine"))
    found = engines(CompilationConfig.of(None), ["other", "mine", "ncnn", "unknown"])
    assert [str(target) for target in found] == ["ncnn", "mine"]


def test_no_engine_names_what_to_install() -> None:
    with pytest.raises(BackendUnavailableError, match=r"pip install 'intarsia\[onnxruntime\]'"):
        engines(CompilationConfig.of("llvm"), ["reference"])
