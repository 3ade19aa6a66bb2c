"""Kernels are put down to the nodes that they are named after."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from intarsia.cost.node_times import node_times

IDS = ("conv1", "conv1.relu", "pool_1", "block/fc1", "block/gelu")


def test_what_stands_behind_a_name_is_left_off() -> None:
    run = [("conv1.relu_nchwc", 4.0), ("pool_1", 1.0), ("block/fc1/MatMulAddFusion", 2.0), ("block/gelu:0", 0.5)]
    assert node_times([run], IDS) == {"conv1.relu": 4.0, "pool_1": 1.0, "block/fc1": 2.0, "block/gelu": 0.5}


def test_a_kernel_of_no_name_goes_to_the_one_before_it() -> None:
    run = [("ReorderInput", 0.25), ("conv1_nchwc", 4.0), ("ReorderOutput", 0.5), ("pool_1", 1.0)]
    assert node_times([run], IDS) == {"conv1": 4.75, "pool_1": 1.0}


def test_a_kernel_of_several_nodes_goes_to_the_first() -> None:
    assert node_times([[("conv1/WithoutBiases,conv1,conv1.relu", 4.0), ("y,block/gelu", 1.0)]], IDS) == {
        "conv1": 4.0,
        "block/gelu": 1.0,
    }


def test_several_runs_give_medians() -> None:
    runs = [[("conv1", ms), ("pool_1", 1.0)] for ms in (3.0, 9.0, 4.0)]
    assert node_times(runs, IDS) == {"conv1": 4.0, "pool_1": 1.0}


def test_nothing_known_tells_nothing() -> None:
    assert node_times([], IDS) == {}
    assert node_times([[("other", 1.0)]], IDS) == {}


@given(st.lists(st.tuples(st.sampled_from([*IDS, "conv1_x", "y", "a/b_c"]), st.floats(0, 10)), max_size=9))
def test_no_time_is_lost(run: list[tuple[str, float]]) -> None:
    found = node_times([run], IDS)
    if found:
        assert abs(sum(found.values()) - sum(ms for _, ms in run)) < 1e-6
