"""The time of kernels is attributed to the nodes that they are named after."""

from __future__ import annotations

from functools import partial

import onnx
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper

from intarsia.cost.timing.node_times import node_times, nodes_named
from intarsia.graph import load_model

IDS = ("conv1", "conv1.relu", "pool_1", "block/fc1", "block/gelu")
VALUES = ("conv1_out", "pool_1", "conv1.relu_0", "fc1", "y")
"""What each yields; the second is called as another node is."""


def _chain() -> onnx.ModelProto:
    value = partial(helper.make_tensor_value_info, elem_type=TensorProto.FLOAT, shape=[1])
    nodes = [
        helper.make_node("Relu", [read], [written], name=id_)
        for id_, read, written in zip(IDS, ("x", *VALUES), VALUES, strict=False)
    ]
    graph = helper.make_graph(nodes, "chain", [value("x")], [value(VALUES[-1])])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


NODES = load_model(_chain()).nodes


def test_what_stands_behind_a_name_is_left_off() -> None:
    run = [("conv1.relu_nchwc", 4.0), ("pool_1", 1.0), ("block/fc1/MatMulAddFusion", 2.0), ("block/gelu:0", 0.5)]
    assert node_times([run], NODES) == {"conv1.relu": 4.0, "pool_1": 1.0, "block/fc1": 2.0, "block/gelu": 0.5}


def test_a_kernel_named_after_what_it_yields_goes_to_the_node_that_yields_it() -> None:
    run = [("conv1_out_nchwc", 3.0), ("fc1_nchwc", 2.0), ("conv1.relu_0_token_7", 1.0)]
    assert node_times([run], NODES) == {"conv1": 3.0, "block/fc1": 2.0, "pool_1": 1.0}
    assert node_times([[("pool_1_nchwc", 1.0)]], NODES) == {"pool_1": 1.0}


def test_a_kernel_of_no_name_goes_to_the_one_before_it() -> None:
    run = [("ReorderInput", 0.25), ("conv1_nchwc", 4.0), ("ReorderOutput", 0.5), ("pool_1", 1.0)]
    assert node_times([run], NODES) == {"conv1": 4.75, "pool_1": 1.0}


def test_a_kernel_of_several_nodes_goes_to_the_first() -> None:
    assert node_times([[("conv1/WithoutBiases,conv1,conv1.relu", 4.0), ("y,block/gelu", 1.0)]], NODES) == {
        "conv1": 4.0,
        "block/gelu": 1.0,
    }


def test_several_runs_give_medians() -> None:
    runs = [[("conv1", ms), ("pool_1", 1.0)] for ms in (3.0, 9.0, 4.0)]
    assert node_times(runs, NODES) == {"conv1": 4.0, "pool_1": 1.0}


def test_nothing_known_tells_nothing() -> None:
    assert node_times([], NODES) == {}
    assert node_times([[("other", 1.0)]], NODES) == {}


@given(st.lists(st.tuples(st.sampled_from([*IDS, "conv1_x", "y", "a/b_c"]), st.floats(0, 10)), max_size=9))
def test_no_time_is_lost(run: list[tuple[str, float]]) -> None:
    found = node_times([run], NODES)
    if found:
        assert abs(sum(found.values()) - sum(ms for _, ms in run)) < 1e-6


def test_nodes_are_found_by_the_names_that_an_engine_made_of_them() -> None:
    found = nodes_named(["conv1_out_nchwc", "block/fc1/MatMulAddFusion", "reorder"], NODES)
    assert found == {"conv1": "conv1_out_nchwc", "block/fc1": "block/fc1/MatMulAddFusion"}
