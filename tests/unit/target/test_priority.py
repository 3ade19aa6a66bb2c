from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intarsia.errors import SpecError
from intarsia.target import Target, parse_targets, read_priority_list

LEAVES = st.sampled_from(["llvm", "openvino", "mnn -precision=low", "ncnn:1", "onnxruntime -host='llvm -mcpu=x'"])
TREES = st.recursive(LEAVES, lambda inner: st.lists(inner, min_size=1, max_size=3), max_leaves=6)
Tree = str | list["Tree"]


def _composite(tree: Tree) -> object:
    return tree if isinstance(tree, str) else {"kind": "composite", "devices": [_composite(item) for item in tree]}


def _flat(tree: Tree) -> list[str]:
    return [tree] if isinstance(tree, str) else [leaf for item in tree for leaf in _flat(item)]


@given(TREES.map(lambda tree: [tree]))
def test_nested_composites_equal_flattened_ones(tree: list[Tree]) -> None:
    flat = {"kind": "composite", "devices": _flat(tree)}
    for of_tree, of_flat in ((_composite(tree), flat), ([_composite(tree[0])], _flat(tree))):
        assert read_priority_list(of_tree) == read_priority_list(of_flat)
    assert parse_targets(Target(_composite(tree))) == parse_targets(str(Target(flat)))


@pytest.mark.parametrize(
    ("form", "texts"),
    [
        ("llvm", ["llvm"]),
        (Target("llvm"), ["llvm"]),
        ("openvino,mnn,llvm", ["openvino", "mnn", "llvm"]),
        ("llvm -mattr=+a,+b, openvino", ["llvm -mattr=+a,+b", "openvino"]),
        ("ncnn , llvm mattr=+neon", ["ncnn", "llvm -mattr=+neon"]),
        ("'llvm -mattr=+a,+b',\"mnn\"", ["llvm -mattr=+a,+b", "mnn"]),
        (["openvino", {"kind": "llvm"}, Target("mnn")], ["openvino", "llvm", "mnn"]),
        (("openvino",), ["openvino"]),
        ('["openvino", {"kind": "llvm"}]', ["openvino", "llvm"]),
        ('{"kind": "llvm"}', ["llvm"]),
        ({"kind": "llvm"}, ["llvm"]),
        ({"cpu": "llvm"}, ["llvm"]),
        ({1: "llvm", "1": "mnn"}, ["llvm", "mnn"]),
        (
            "composite -devices='mnn, llvm -mcpu=x' -host=llvm, ncnn",
            ["mnn -host=llvm", "llvm -host=llvm -mcpu=x", "ncnn -host=llvm"],
        ),
        ("mnn, ncnn -host=llvm", ["mnn -host=llvm", "ncnn -host=llvm"]),
    ],
)
def test_forms(form: object, texts: list[str]) -> None:
    assert [str(target) for target in parse_targets(form)] == texts


def test_places() -> None:
    found = read_priority_list(["ncnn:1", "ncnn:0", "composite -devices=mnn:2"])
    assert [str(target) for target in found.targets] == ["ncnn", "ncnn", "mnn"]
    assert found.places == (1, 0, 2)


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ([], "at least one target"),
        ({}, "'kind' is not found"),
        ("", "empty target"),
        ("llvm,", "empty target"),
        ("llvm,,mnn", "empty target"),
        (None, "found None"),
        ({"cuda": "llvm"}, "'llvm' runs on cpu, but its key names the device 'cuda'"),
        ({"2": "llvm"}, "its key names the device '2'"),
        ({True: "llvm"}, "'kind' is not found"),
        ("mnn -host=llvm, ncnn -host=openvino", "'llvm' and 'openvino'"),
        ("composite -host=llvm -devices='mnn -host=openvino'", "'llvm' and 'openvino'"),
        ("composite", "names no devices"),
        ("composite:1 -devices=mnn", "has no index"),
        (["llvm", ["mnn"]], "targets[1]: a target must be"),
        (["llvm", "mnn, ncnn"], "targets[1]: this is a list of 2"),
        ("[1", "config dict"),
        ("'llvm", "never closes"),
    ],
)
def test_errors(form: object, words: str) -> None:
    with pytest.raises(SpecError) as caught:
        parse_targets(form)
    assert words in str(caught.value)


def test_problems_of_all_elements_golden() -> None:
    with pytest.raises(SpecError) as caught:
        parse_targets("llvm -mcpuu=a, opnvino, mnn")
    assert str(caught.value) == "\n".join(
        (
            "2 problems:",
            "cannot recognize 'mcpuu' as an option of 'llvm'; did you mean 'mcpu'?",
            "  llvm -mcpuu=a, opnvino, mnn",
            "        ^^^^^",
            "target kind 'opnvino' is not defined; did you mean 'openvino'?",
            "  llvm -mcpuu=a, opnvino, mnn",
            "                 ^^^^^^^",
        )
    )
