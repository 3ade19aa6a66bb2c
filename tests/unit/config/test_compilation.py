from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from intarsia.config import CompilationConfig, Executor
from intarsia.errors import SpecError
from intarsia.spec import Tag
from intarsia.target import KINDS, TAGS, Target, VirtualDevice, register_tag


@pytest.fixture(autouse=True)
def _tables_of_one_test() -> Iterator[None]:
    with TAGS.scope(), KINDS.scope():
        yield


@pytest.mark.parametrize(
    ("form", "text", "host"),
    [
        (None, "llvm", "llvm"),
        ("openvino", "openvino", "llvm"),
        ("openvino, llvm -mcpu=x -threads=2", "openvino, llvm -mcpu=x -threads=2", "llvm -mcpu=x"),
        ("openvino -host='llvm -mcpu=y', llvm", "openvino -host='llvm -mcpu=y', llvm", "llvm -mcpu=y"),
        ("composite -devices=mnn,ncnn -host=llvm", "mnn, ncnn, llvm", "llvm"),
        ("ethos-n77, acl, llvm mattr=+neon", "ethos-n -variant=n77, arm_acl, llvm -mattr=+neon", "llvm -mattr=+neon"),
        ("acl", "arm_acl, llvm", "llvm"),
        ("ethos-u, cmsis-nn, c", "ethos-u, cmsis-nn, c", "c"),
        ("cuda:0, llvm, cuda:1", "cuda:0, cuda:1, llvm", "llvm"),
        ("mnn:1", "mnn:1", "llvm"),
        ("cuda -host=opencl", "cuda -host=opencl", "opencl"),
        ({"targets": ["llvm"], "host": "llvm", "default_device": "cpu"}, "llvm", "llvm"),
        ({"targets": ["llvm"], "executor": "vm"}, "config -executor=vm -targets=llvm", "llvm"),
        (
            ["config -executor=vm -targets=llvm", "llvm"],
            "config -targets='config -executor=vm -targets=llvm',llvm",
            "llvm",
        ),
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
    assert CompilationConfig.of(text) == config
    assert all(target.host is None for target in config.flatten())


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ("llvm, llvm", "targets: [0] and [1] are equal: 'llvm'"),
        ("mnn:1, ncnn, mnn:1", "targets: [0] and [2] are equal: 'mnn:1'"),
        ("mnn -host=llvm, ncnn -host=mnn", "'llvm' and 'mnn'"),
        ({"targets": ["mnn -host=llvm"], "host": "ncnn"}, "'ncnn' and 'llvm'"),
        ({"targets": []}, "at least one target"),
        ({"targets": ["llvm", {"kind": "mnn", "host": {"kind": "llvm", "mcpu": 3}}]}, "targets[1].host.mcpu: must be"),
        ({"targets": "llvm"}, "targets: must be a list"),
        ({"targets": ["llvm"], "hots": "llvm"}, "did you mean 'host'"),
        ({"targets": ["llvm"], "target": "llvm"}, "did you mean 'targets'"),
        (3, "found 3"),
        ("", "cannot parse an empty target"),
        ('["mnn", ', "cannot load config dict"),
        ("llvm, 'mnn", "mismatched quotes"),
        ("mnn, llvm -mcpu=x, llvm -mcpu=y", "may generate code for any of 'llvm -mcpu=x', 'llvm -mcpu=y'"),
        ("tensorrt, llvm", "write: tensorrt -base=cuda"),
        ("cuda, opencl", "the targets run on cuda, opencl and none on a cpu, so there is no default device"),
        ({"targets": ["cuda"], "default_device": "metal"}, "no target is specified for device type metal"),
        ({"targets": ["cuda"], "default_device": -1}, "default_device: a device is a string"),
        ({"targets": ["cuda"], "default_device": "gpu1"}, "no device is labelled 'gpu1'"),
        ({"targets": ["cuda"], "default_device": {"memory-scope": "local"}}, "has no device type"),
        ({"targets": ["llvm"], "mcpu": "x"}, "it belongs to a target"),
        ({"targets": ["llvm"], "unpacked-api": True}, "it belongs to the executor"),
        ({"targets": ["llvm"], "libraries": ["tensort"]}, "did you mean 'tensorrt'?"),
        ({"executor": "vm"}, "at least one target is required"),
        ({"targets": ["llvm", {"targets": ["mnn"], "executor": "vmm"}]}, "targets[1].executor: executor kind 'vmm'"),
        ({"machines": {"a": "llvm"}}, "intarsia.compile_deployment"),
        ("composite", "'composite' names no devices"),
        ("mnn, composite:1 -devices=llvm", "so it has no index"),
        ({"targets": ["llvm"], "host": "composite -devices=llvm"}, "a host is one"),
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
    assert str(CompilationConfig.of("v/box").targets[1]) == "llvm -mcpu=x -tag=v/board"
    assert CompilationConfig.of("v/box").tags == ("v/box",)
    assert [type(element) for element in CompilationConfig.of("v/box, llvm").targets] == [CompilationConfig, Target]


def test_an_explicit_host_wins_over_that_of_a_tag_only() -> None:
    register_tag("v/gpu", "cuda -host='llvm -mcpu=x'")
    assert CompilationConfig.of("v/gpu").host == Target("llvm -mcpu=x")
    assert CompilationConfig.of({"targets": ["v/gpu"], "host": "llvm -mcpu=y"}).host == Target("llvm -mcpu=y")
    with pytest.raises(SpecError, match="two hosts are stated and differ: 'llvm -mcpu=y' and 'llvm -mcpu=z'"):
        CompilationConfig.of({"targets": ["v/gpu -host='llvm -mcpu=z'"], "host": "llvm -mcpu=y"})


def test_a_deployment_s_tag_leads_to_deployments() -> None:
    TAGS.register("v/farm", Tag(name="v/farm", level="deployment", form={"machines": {"a": "llvm"}}))
    with pytest.raises(SpecError, match=r"intarsia\.compile_deployment"):
        CompilationConfig.of("v/farm")


def test_none_is_the_target_in_scope_else_llvm() -> None:
    assert CompilationConfig.of() == CompilationConfig.of("llvm")
    with Target("ncnn"):
        assert CompilationConfig.of() == CompilationConfig.of("ncnn")


def test_the_configuration_of_an_accelerator_with_a_co_processor() -> None:
    inner = {"kind": "config", "host": "risc-v", "executor": "graph", "targets": ["ext_dev"]}
    config = CompilationConfig.of({"host": "arm", "executor": "vm", "targets": [inner]})
    (nested,) = config.targets
    assert isinstance(nested, CompilationConfig)
    assert (nested.executor, config.executor) == (Executor("graph"), Executor("vm"))
    assert (nested.host, config.host) == (Target("risc-v"), Target("arm"))
    assert (config.flatten(), config.device_type) == ((Target("ext_dev"),), "ext_dev")


def test_an_engine_with_its_own_executor_and_library() -> None:
    inner = {"kind": "config", "host": "x86", "executor": "cuda-graph", "targets": ["cuda"], "libraries": ["tensor-rt"]}
    config = CompilationConfig.of({"host": "x86", "executor": "vm", "targets": [inner, "cuda"]})
    nested = config.targets[0]
    assert isinstance(nested, CompilationConfig)
    assert (nested.libraries, config.libraries) == (("tensorrt",), ())
    assert (str(nested.executor), str(config.executor), str(config.runtime)) == ("cuda-graph", "vm", "python")


def test_labels_of_two_equal_devices() -> None:
    form = {
        "targets": ["cuda -arch=sm_80", "llvm"],
        "devices": {"gpu1": "cuda:0", "gpu2": {"device": "cuda", "index": 1}},
    }
    config = CompilationConfig.of(form | {"default_device": "gpu2"})
    second = VirtualDevice(target=Target("cuda -arch=sm_80"), index=1)
    assert config.devices["gpu2"] == config.default_device == second
    assert config.canonical_device("gpu2") == config.canonical_device("cuda:1") == second
    assert config.canonical_device({"memory-scope": "local"}) == VirtualDevice(memory_scope="local")


def test_finding_targets() -> None:
    config = CompilationConfig.of("tensorrt, cuda -arch=sm_80, llvm -mcpu=x")
    assert config.target_for("cuda") == Target("cuda -arch=sm_80")
    assert config.target_of_kind("tensorrt") == Target("tensorrt")
    assert config.target_of_kind("cutlass") is None
    assert config.canonical_target(Target("cuda -arch=sm_80", "llvm -mcpu=x")) == Target("cuda -arch=sm_80")
    assert config.canonical_target("metal") == Target("metal")
    assert config.default_device == VirtualDevice(target=Target("llvm -mcpu=x"), index=0)
    with pytest.raises(SpecError, match="no target is specified for device type metal; the targets run on cuda, cpu"):
        config.target_for("metal")
    assert CompilationConfig.of("mnn, openvino").target_for("cpu") is None


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.yaml", "targets: [cuda, llvm]\nexecutor: {kind: graph, link-params: true}\n"),
        ("a.json", '{"targets": ["cuda", "llvm"], "executor": "graph -link-params"}'),
        ("a.yml", "- cuda\n- llvm\n"),
        ("a.txt", "cuda, llvm\n"),
    ],
)
def test_a_file_is_read_by_its_suffix(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    config = CompilationConfig.of(tmp_path / name)
    assert [str(target) for target in config.targets] == ["cuda", "llvm"]
    (tmp_path / "twice.yaml").write_text("targets: [llvm]\ntargets: [cuda]\n")
    with pytest.raises(SpecError, match=r"twice\.yaml, line 2: 'targets' appears more than once"):
        CompilationConfig.of(tmp_path / "twice.yaml")


def test_files(tmp_path: Path) -> None:
    file = tmp_path / "machine.json"
    file.write_text('{"targets": ["mnn", "ncnn"]}\n')
    assert CompilationConfig.of(file) == CompilationConfig.of("mnn, ncnn")
    with pytest.raises(SpecError, match="cannot read the target file"):
        CompilationConfig.of(tmp_path / "none.json")
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SpecError, match="cannot read the target file"):
        CompilationConfig.of(file)
