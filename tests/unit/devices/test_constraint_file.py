"""Files of constraints: what they say, and where they are wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intarsia.devices import Constraint, Subject, dump_constraints, parse_constraints, read_constraints
from intarsia.errors import ConfigError
from intarsia.target import VirtualDevice

TEXT = """\
nodes:
  conv1: gpu2
  1e3: "cuda:1"
values:
  mask: {device: cpu, constrain_result: true}
  x:
  - cpu
  - {device: gpu2, constrain_body: false, constrain_result: true}
inputs: cpu
outputs: {y: {device: cuda, index: 1, target: cuda -arch=sm_80}}
"""


def test_a_file_says_what_is_where() -> None:
    found = parse_constraints(TEXT, "d.yaml")
    y = VirtualDevice.of("cuda:1 -target='cuda -arch=sm_80'")
    assert [(each.subject.value, each.name, each.device) for each in found] == [
        ("node", "conv1", "gpu2"),
        ("node", "1e3", "cuda:1"),
        ("value", "mask", "cpu"),
        ("value", "x", "cpu"),
        ("value", "x", "gpu2"),
        ("inputs", "", "cpu"),
        ("outputs", "y", y),
    ]
    assert [(each.constrain_body, each.constrain_result) for each in found[2:5]] == [
        (True, True),
        (True, False),
        (False, True),
    ]
    assert found[0].source == "d.yaml, line 2"


def test_json_is_read_too(tmp_path: Path) -> None:
    path = tmp_path / "devices.json"
    path.write_text(json.dumps({"nodes": {"a": "gpu1"}, "outputs": "cpu"}, indent=1), encoding="utf-8")
    assert [str(each) for each in read_constraints(path)] == [
        f"node 'a' on 'gpu1' (from {path}, line 3)",
        f"all outputs on 'cpu' (from {path}, line 5)",
    ]


NAMES = st.text(min_size=1, max_size=5)
DEVICES = st.sampled_from(["gpu1", "cpu:1", VirtualDevice.of("cuda:1 -memory-scope='a b'")])


@given(
    st.lists(
        st.one_of(
            st.builds(Constraint.node, NAMES, DEVICES),
            st.builds(Constraint.value, NAMES, DEVICES, constrain_body=st.booleans(), constrain_result=st.booleans()),
            st.builds(Constraint.inputs, DEVICES, st.one_of(st.just(""), NAMES)),
            st.builds(Constraint.outputs, DEVICES),
        )
    )
)
def test_a_file_gives_its_constraints_again(constraints: list[Constraint]) -> None:
    text = dump_constraints(constraints)
    again = parse_constraints(text, "f")
    assert sorted(map(_said, again)) == sorted(map(_said, constraints))
    assert dump_constraints(again) == text


def _said(each: Constraint) -> tuple[Subject, str, str, bool, bool]:
    return each.subject, each.name, str(each.device), each.constrain_body, each.constrain_result


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("nodes: {a: cpu", "d.yaml, line 1: this is not YAML"),
        ("\x00", "this is not YAML"),
        ("- a", "line 1: a file of device constraints must be a mapping"),
        ("nods: {a: cpu}", "there is no section 'nods'; did you mean 'nodes'?"),
        ("nodes: {a: cpu}\nnodes: {}", "line 2: 'nodes' appears more than once\n  nodes: {}\n  ^^^^^"),
        ("nodes:\n  a: cpu\n  a: gpu", "line 3: 'a' appears more than once\n    a: gpu\n    ^"),
        ("nodes: cpu", "section 'nodes' must be a mapping from names to devices"),
        ("nodes: {'': cpu}", "a name is missing"),
        ("nodes: {[a]: cpu}", "a name must be text"),
        ("nodes: {a: }", "nodes.a: a device is missing"),
        ("nodes: {a: {device: cpu, constrain_result: 1}}", "'constrain_result' must be true or false, found 1"),
        ("nodes: {a: {devise: cpu}}", "nodes.a: devise: cannot recognize 'devise' as a part of a device"),
        ("nodes: {a: [[cpu]]}", "a device must be text, or a mapping"),
        (
            "nodes: {a: {device: !!python/name:os.system x}}",
            "the tag '!!python/name:os.system' has no meaning",
        ),
    ],
)
def test_what_a_file_cannot_say(text: str, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_constraints(text, "d.yaml")
    assert says in str(caught.value)


def test_all_problems_are_told_together() -> None:
    with pytest.raises(ConfigError) as caught:
        parse_constraints("nods: {}\nvalues: {a: {index: -1}}\ninputs: ['x']", "d.yaml")
    assert [line.split(":")[0] for line in str(caught.value).splitlines() if not line.startswith("  ")] == [
        "d.yaml, line 1",
        "d.yaml, line 2",
        "d.yaml, line 3",
    ]


def test_an_empty_file_says_nothing() -> None:
    assert parse_constraints("", "d.yaml") == ()


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read as a file of device constraints"):
        read_constraints(tmp_path / "none.yaml")
