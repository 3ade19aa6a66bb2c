from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from intarsia.config import CompilationConfig
from intarsia.config.cli_overrides import merge_all
from intarsia.config.cli_overrides.account import Leaf, account
from intarsia.target import Target
from tests.command_flags import read_flags
from tests.unit.config.strategies import configs


def leaves(*argv: str, file: dict[str, Any] | None = None) -> dict[str, Leaf]:
    merged = merge_all(file=file, file_name="a.json", rewrites=read_flags(argv))
    return {leaf.path: leaf for leaf in account(merged, CompilationConfig.of(dict(merged.form)))}


def test_each_leaf_says_where_it_comes_from() -> None:
    found = leaves(
        "--target-llvm-threads=2",
        "--executor=vm",
        "--set=targets[1].mattr=+avx512vnni",
        file={"targets": ["nvidia/nvidia-a100 -max_num_threads=7", "aws/cpu/c5.4xlarge"], "runtime": "cpp"},
    )
    said = {path: (leaf.value, leaf.by, leaf.tag) for path, leaf in found.items()}
    assert said["targets[0].kind"] == ("cuda", "a.json", "")
    assert said["targets[0].tag"] == ("nvidia/nvidia-a100", "a.json", "")
    assert said["targets[0].arch"] == ("sm_80", "a.json", "nvidia/sm_80")
    assert said["targets[0].max_num_threads"] == ("7", "a.json", "")
    assert said["targets[1].num-cores"] == ("8", "a.json", "aws/cpu/c5.4xlarge")
    assert said["targets[1].threads"] == ("2", "--target-llvm-threads", "")
    assert said["targets[1].mattr"] == ("+avx512vnni", "--set targets[1].mattr", "")
    assert said["executor.kind"] == ("vm", "--executor", "")
    assert said["runtime.kind"] == ("cpp", "a.json", "")
    assert said["host"][1:] == ("derived", "")
    assert said["default_device"] == ("cpu:0", "derived", "")
    assert found["targets[0].arch"].source.startswith("NVIDIA")


def test_a_flag_that_says_what_a_tag_says_is_named() -> None:
    assert leaves("--target=aws/c5", "--target-llvm-mcpu=skylake-avx512")["targets[0].mcpu"].by == "--target-llvm-mcpu"


def test_paths_are_those_of_the_result_where_composites_are_spliced() -> None:
    composite = "composite -devices=mnn,'composite -devices=openvino' -host='llvm -mcpu=x'"
    found = leaves("--target", f"ncnn, {composite}", "--target-openvino-threads=3", "--target-llvm-num-cores=2")
    assert [path for path in found if path.startswith("targets")] == [
        "targets[0].kind",
        "targets[1].kind",
        "targets[2].kind",
        "targets[2].threads",
        "targets[3].kind",
        "targets[3].mcpu",
        "targets[3].num-cores",
    ]
    assert found["targets[2].threads"].by == "--target-openvino-threads"
    assert (found["targets[3].num-cores"].by, found["host.num-cores"].by) == ("--target-llvm-num-cores",) * 2


def test_nested_configurations_devices_and_libraries() -> None:
    file = {
        "targets": [{"targets": ["mnn", "llvm"], "executor": "vm"}, "cuda:1", "llvm"],
        "devices": {"gpu2": "cuda:0"},
        "default_device": "gpu2",
        "libraries": ["tensorrt"],
    }
    said = {path: leaf.by for path, leaf in leaves(file=file).items()}
    assert said["targets[0].targets[0].kind"] == said["targets[0].executor.kind"] == "a.json"
    assert (said["targets[0].runtime"], said["targets[0].host"]) == ("default", "derived")
    assert (said["devices.gpu2"], said["devices.cuda:1"]) == ("a.json", "derived")
    assert said["default_device"] == said["libraries"] == "a.json"
    assert said["targets[1].kind"] == "a.json"


def test_what_the_tag_of_a_whole_brings_names_the_tag() -> None:
    found = leaves("--target=nvidia/jetson-nano:cuda", "--set=host.num-cores=2")
    assert (found["host.mcpu"].tag, found["host.mcpu"].by) == ("nvidia/jetson-nano:cuda", "--target")
    assert found["host.mcpu"].source
    assert (found["host.num-cores"].tag, found["host.num-cores"].by) == ("", "--set host.num-cores")


@pytest.mark.parametrize(
    "argv",
    [["--target=nvidia/jetson-nano"], ["--target", '[{"tag": "nvidia/jetson-nano"}]', "--set=targets[0].arch=sm_72"]],
)
def test_a_host_that_the_tag_of_a_target_brings(argv: list[str]) -> None:
    found = leaves(*argv)
    assert (found["host.mcpu"].by, found["host.mcpu"].tag) == ("--target", "nvidia/jetson-nano")
    edited = leaves("--target=nvidia/jetson-nano", "--target-llvm-mcpu=x")
    assert (edited["host.mcpu"].by, edited["host.mcpu"].tag) == ("--target-llvm-mcpu", "")
    assert (edited["host.num-cores"].tag, edited["host.kind"].tag) == ("nvidia/jetson-nano",) * 2
    assert leaves("--target=cuda -host=llvm")["host.kind"].tag == ""


@given(configs())
def test_any_configuration_means_the_same_merged_and_each_of_its_leaves_is_told_once(form: dict[str, Any]) -> None:
    config = CompilationConfig.of(form)
    for stated in (form, config.export()):
        merged = merge_all(file=stated, file_name="a.json")
        assert CompilationConfig.of(dict(merged.form)) == config
        paths = [leaf.path for leaf in account(merged, config)]
        assert len(paths) == len(set(paths))
        for index, element in enumerate(config.targets):
            inner = ("kind", *element.options) if isinstance(element, Target) else ("executor", "default_device")
            assert all(any(path.startswith(f"targets[{index}].{name}") for path in paths) for name in inner)


@pytest.mark.parametrize("text", ["llvm", "mnn, openvino", "acl"])
def test_no_leaf_is_without_an_origin(text: str) -> None:
    assert all(leaf.by for leaf in leaves("--target", text).values())
