"""The bodies of control flow in a plan file: what is written is read back, and mistakes are told by their line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intarsia.config.settings import RunSettings
from intarsia.errors import PlanError
from intarsia.partitioning import (
    BodyPlan,
    Partition,
    Partitioning,
    bodies_by_node,
    bodies_text,
    dump_plan,
    parse_bodies,
    parse_plan,
)
from intarsia.target import Target

FLOW = Target("control-flow")
TARGETS = (Target("onnxruntime -threads=2"), Target("openvino"), Target("mnn"))
PLAN = """\
version: 1
partitions:
- target: control-flow
  nodes: [Loop_0]
  bodies:
  - node: Loop_0
    body: body
    partitions:
    - {target: mnn, nodes: [Conv_0]}
"""
plain = st.builds(
    Partition, target=st.sampled_from(TARGETS), nodes=st.lists(st.sampled_from("abcd"), min_size=1).map(tuple)
)


def _flow(inner: st.SearchStrategy[Partition]) -> st.SearchStrategy[Partition]:
    bodies = st.lists(
        st.builds(
            BodyPlan,
            node=st.just("loop"),
            body=st.sampled_from(("body", "then_branch")),
            partitions=st.lists(inner, min_size=1, max_size=2).map(tuple),
            embed=st.booleans(),
            parallel=st.booleans(),
        ),
        min_size=1,
        max_size=2,
        unique_by=lambda plan: plan.body,
    )
    return st.builds(Partition, target=st.just(FLOW), nodes=st.just(("loop",)), bodies=bodies.map(tuple))


partitions = st.recursive(plain, _flow, max_leaves=4)


@given(part=partitions)
def test_bodies_are_read_back_at_any_depth(part: Partition) -> None:
    text = dump_plan(Partitioning(partitions=(part,)), RunSettings(threads=1))
    assert parse_plan(text).partitions == (part,)


@given(part=_flow(plain))
def test_the_plans_of_a_node_are_read_back_from_one_line(part: Partition) -> None:
    text = bodies_text(part.bodies)
    assert "\n" not in text
    assert parse_bodies(text) == tuple(sorted(part.bodies, key=lambda plan: plan.body))
    assert bodies_text(tuple(reversed(part.bodies))) == text
    assert bodies_by_node(part.bodies) == {"loop": text}


def test_the_targets_of_a_partition_are_those_inside_too() -> None:
    (part,) = parse_plan(PLAN).partitions
    assert [str(target) for target in part.targets] == ["control-flow", "mnn"]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("node: Loop_0", "node: Loop_1", "'Loop_1' is not a node of this partition"),
        ("{target: mnn,", "{target: mnnn,", "mnnn"),
        ("target: control-flow", "target: openvino", "'bodies' is of control-flow, and the target is 'openvino'"),
        ("    body: body\n", "", "a body needs 'body'"),
        ("{target: mnn,", "{device: cpu, target: mnn,", "a device is that of the partition around"),
    ],
)
def test_what_is_wrong_with_a_body_is_told(old: str, new: str, told: str) -> None:
    with pytest.raises(PlanError, match=told):
        parse_plan(PLAN.replace(old, new))


def test_what_is_no_plan_of_a_body_is_an_error_of_ours() -> None:
    with pytest.raises(PlanError):
        parse_bodies("[{")
