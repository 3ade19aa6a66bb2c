from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from intarsia.config import CompilationConfig
from intarsia.config.cli_overrides import Rewrites, merge_all
from intarsia.config.cli_overrides.account import account
from intarsia.errors import ConfigError, IntarsiaError, SpecError
from tests.command_flags import merge, read_flags

FILE = {
    "targets": [{"kind": "cuda", "arch": "sm_80"}, {"kind": "llvm", "mcpu": "haswell", "num-cores": 4}],
    "host": {"kind": "llvm", "mcpu": "haswell", "num-cores": 4},
    "devices": {"gpu2": "cuda:1"},
    "default_device": "gpu2",
    "libraries": ["onnxruntime"],
    "executor": {"kind": "aot", "unpacked-api": True},
    "runtime": {"kind": "crt"},
    "budget": 5,
}


def merged(*argv: str, file: dict[str, Any] | None = None) -> dict[str, Any]:
    return merge(file=FILE if file is None else file, rewrites=read_flags(argv))


def test_nothing_said_changes_nothing() -> None:
    assert merge(file=FILE) == FILE
    assert merge() == {}


def test_a_file_takes_the_place_of_the_default_file_and_its_keys_of_built_in_ones() -> None:
    builtin, default_file = {"a": 1, "budget": 2}, {"a": 3, "b": 4}
    assert merge(builtin=builtin, default_file=default_file) == {"a": 3, "b": 4, "budget": 2}
    assert merge(builtin=builtin, default_file=default_file, file={"budget": 5}) == {"a": 1, "budget": 5}


def test_target_replaces_the_list_and_what_belonged_to_it() -> None:
    assert merged("--target=mnn, opencl:1 -device=mali") == {
        "targets": [{"kind": "mnn"}, {"kind": "opencl:1", "device": "mali"}],
        "executor": FILE["executor"],
        "runtime": FILE["runtime"],
        "budget": 5,
    }


def test_target_may_be_a_whole_configuration() -> None:
    found = merged("--target", '{"targets": ["mnn"], "executor": "vm"}')
    assert found == {"targets": [{"kind": "mnn"}], "executor": {"kind": "vm"}, "runtime": FILE["runtime"], "budget": 5}


def test_an_option_edits_every_target_of_its_kind_hosts_among_them() -> None:
    found = merged("--target-llvm-mcpu=skylake", "--target-llvm-mattr=+avx2")
    edited = {"kind": "llvm", "mcpu": "skylake", "num-cores": 4, "mattr": ["+avx2"]}
    assert found == FILE | {"targets": [FILE["targets"][0], edited], "host": edited}  # type: ignore[index]


@pytest.mark.parametrize(
    ("target", "flag", "text"),
    [
        (
            "composite -devices=mnn,openvino -host=llvm",
            "--target-mnn-precision=low",
            "mnn -precision=low, openvino, llvm",
        ),
        ("nvidia/jetson-nano:cuda", "--target-llvm-num-cores=2", "num-cores=2"),
        ('[{"targets": ["mnn", "llvm"]}, "cuda"]', "--target-mnn-memory=low", "mnn -memory=low"),
        ("acl", "--target-arm-acl-threads=2", "arm_acl -threads=2, llvm"),
        ("ethosn, llvm", "--target-ethosn-tops=4", "ethos-n -tops=4, llvm"),
        ("cuda:1, llvm", "--target-cuda-arch=sm_80", "cuda:1 -arch=sm_80, llvm"),
        ('[{"tag": "nvidia/jetson-nano"}]', "--target-llvm-threads=2", "-num-cores=4 -threads=2"),
        ('{"tag": "nvidia/v100"}', "--target-cuda-max_num_threads=7", "-max_num_threads=7"),
    ],
)
def test_an_option_finds_its_target_wherever_it_stands(target: str, flag: str, text: str) -> None:
    assert text in str(CompilationConfig.of(merged("--target", target, flag, file={})))


def test_a_host_that_a_tag_brings_still_gives_way_to_the_one_that_is_stated() -> None:
    file = {"targets": ["nvidia/jetson-nano", "llvm"], "host": "llvm -mcpu=x"}
    config = CompilationConfig.of(merged("--target-llvm-threads=2", file=file))
    assert (str(config.host), str(config.targets[1])) == ("llvm -mcpu=x -threads=2", "llvm -threads=2")


def test_set_changes_one_place() -> None:
    found = merged(
        "--set=targets[0].arch=sm_90", "--set", "host=llvm", "--set=devices.gpu3=cuda:2", "--set=libraries=mnn"
    )
    assert found == FILE | {
        "targets": [{"kind": "cuda", "arch": "sm_90"}, FILE["targets"][1]],  # type: ignore[index]
        "host": {"kind": "llvm"},
        "devices": {"gpu2": "cuda:1", "gpu3": {"device": "cuda", "index": 2}},
        "libraries": ["mnn"],
    }


def test_set_comes_last_and_in_order() -> None:
    argv = ("--set=targets[0]=llvm", "--set=targets[0].mcpu=a", "--set=targets[0].mcpu=b", "--target=cuda")
    assert merged(*argv, file={}) == {"targets": [{"kind": "llvm", "mcpu": "b"}]}


def test_an_executor_replaces_the_other_with_its_options() -> None:
    assert merged("--executor=graph")["executor"] == {"kind": "graph"}
    assert merged("--executor", "aot -interface-api=c")["executor"] == {"kind": "aot", "interface-api": "c"}
    assert merged("--executor-aot-interface-api=c")["executor"] == FILE["executor"] | {"interface-api": "c"}  # type: ignore[operator]
    assert merged("--runtime-crt-system-lib")["runtime"] == {"kind": "crt", "system-lib": True}


def test_the_option_of_a_default_executor_states_it() -> None:
    assert merged("--executor-graph-link-params", file={}) == {"executor": {"kind": "graph", "link-params": True}}
    aot = (
        "--executor=aot",
        "--executor-aot-unpacked-api",
        "--executor-aot-interface-api=c",
        "--runtime-crt-system-lib",
    )
    assert merged(*aot, file={})["runtime"] == {"kind": "crt", "system-lib": True}


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--target-mnn-memory=low"], "--target-mnn-memory is passed, but no target mnn is specified; .* cuda, llvm"),
        (["--executor-graph-link-params"], "--executor-graph-link-params is passed, but .* is aot, not graph"),
        (["--executor=vm", "--executor-aot-unpacked-api"], "is vm, not aot; choose it with --executor aot"),
        (["--runtime-rpc-address=a:1"], "--runtime-rpc-address is passed, but the runtime specified is crt"),
    ],
)
def test_an_option_of_what_is_not_chosen_is_an_error(argv: list[str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        merged(*argv)


def test_errors_of_a_file_name_it() -> None:
    with pytest.raises(SpecError, match=r"^board\.json: targets\[1\]: target kind 'lvm' is not defined"):
        merge_all(file={"targets": ["cuda", "lvm"]}, file_name="board.json")


def test_the_file_itself_is_not_changed() -> None:
    file: dict[str, Any] = {"targets": [{"kind": "llvm"}]}
    merged("--target-llvm-mcpu=a", "--set=targets[0].num-cores=2", file=file)
    assert file == {"targets": [{"kind": "llvm"}]}


@given(
    st.permutations(["--target-llvm-mcpu=a", "--target-cuda-arch=sm_90", "--executor=vm", "--target-llvm-num-cores=2"])
)
def test_flags_that_do_not_touch_each_other_come_in_any_order(argv: list[str]) -> None:
    file = {"targets": ["cuda", "llvm"]}
    assert merged(*argv, file=file) == merged(*sorted(argv), file=file)


def test_who_stated_what() -> None:
    found = merge_all(
        builtin={"targets": ["llvm"], "executor": "vm"},
        file={"targets": ["cuda -arch=sm_80", "llvm"]},
        file_name="a.json",
        rewrites=read_flags(["--target-cuda-arch=sm_90", "--set=host=llvm -mcpu=x"]),
    )
    assert {path: stated.by for path, stated in found.origins.items()} == {
        "executor.kind": "built-in",
        "targets[0].kind": "a.json",
        "targets[0].arch": "--target-cuda-arch",
        "targets[1].kind": "a.json",
        "host.kind": "--set host",
        "host.mcpu": "--set host",
    }
    assert found.flagged == {"targets[0].arch", "host.kind", "host.mcpu"}


def test_options_may_be_given_as_values() -> None:
    rewrites = Rewrites(target="cuda, llvm", options={"llvm": {"mcpu": "x"}})
    assert merge(rewrites=rewrites) == {"targets": [{"kind": "cuda"}, {"kind": "llvm", "mcpu": "x"}]}


ODD = st.recursive(
    st.sampled_from([None, True, 3, 2.5, "llvm", "cuda:1", "aot", "aws/c5", "nvidia/jetson-nano:cuda", "a=b", "", "{"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(["kind", "tag", "targets", "host", "devices", "mcpu", "x"]), inner, max_size=3
        )
    ),
    max_leaves=6,
)
FIELDS = ("kind", "tag", "targets", "host", "devices", "default_device", "executor", "runtime", "libraries", "budget")
FLAGS = (
    *("--target=llvm", "--target=cuda:1, llvm", "--target={", "--target-llvm-mcpu=x", "--target-cuda-host=llvm"),
    *("--executor=aot", "--executor-aot-unpacked-api", "--executor-graph-link-params", "--runtime-crt-system-lib"),
    *("--set=targets[0].mcpu=x", "--set=host.mcpu=x", "--set=executor.link-params=1", "--set=devices.a=cuda:0"),
)


@settings(max_examples=300)
@given(st.dictionaries(st.sampled_from(FIELDS), ODD, max_size=4), st.lists(st.sampled_from(FLAGS), max_size=3))
def test_any_file_with_any_flags_is_a_configuration_or_refused(file: dict[str, Any], argv: list[str]) -> None:
    try:
        found = merge_all(file=file, rewrites=read_flags(argv))
        config = CompilationConfig.of(dict(found.form))
    except IntarsiaError:
        return
    assert all(leaf.by for leaf in account(found, config))
