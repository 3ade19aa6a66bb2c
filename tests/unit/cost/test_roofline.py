"""The least time that nodes take by what a device states, checked by hand; and nothing where it states nothing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from intarsia.cost.roofline import LABEL, Roofline, estimate, roofline_of
from intarsia.graph import Graph, load_model
from intarsia.target import Target

FIGURES = "-peak-flops=1000000000 -memory-bandwidth=1000000000"
DEVICE = Target(f"cuda -arch=sm_80 {FIGURES}")
amounts = st.integers(1, 10**15)


def network() -> Graph:
    """A product of 2*4*8*16 operations over (4*8 + 8*16 + 4*16) * 4 bytes, then 64 operations over 512 bytes."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["y"], name="product"),
        helper.make_node("Relu", ["y"], ["z"], name="relu"),
    ]
    weight = numpy_helper.from_array(np.ones((8, 16), np.float32), "w")
    ports = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in (("x", (4, 8)), ("z", (4, 16)))]
    graph = helper.make_graph(nodes, "g", ports[:1], ports[1:], [weight])
    return load_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10))


def test_a_node_takes_what_its_operations_or_its_bytes_take() -> None:
    found = estimate(network(), ["product"], DEVICE)
    assert found is not None
    assert found.ms == pytest.approx(1e3 * max(2 * 4 * 8 * 16, 4 * (32 + 128 + 64)) / 1e9)
    assert found.by_bytes == 0.0
    found = estimate(network(), ["relu"], DEVICE)
    assert found is not None
    assert found.ms == pytest.approx(1e3 * 2 * 4 * 64 / 1e9)
    assert found.by_bytes == 1.0
    assert LABEL in str(found)


def test_nodes_come_one_after_the_other() -> None:
    parts = [estimate(network(), [id_], DEVICE) for id_ in ("product", "relu")]
    whole = estimate(network(), ["product", "relu"], DEVICE)
    assert whole is not None
    assert whole.ms == pytest.approx(sum(part.ms for part in parts if part is not None))


@pytest.mark.parametrize("text", ["cuda", "cuda -peak-flops=5", "llvm -memory-bandwidth=5", "onnxruntime", "tensorrt"])
def test_without_both_figures_there_is_no_estimate(text: str) -> None:
    assert roofline_of(Target(text)) is None
    assert estimate(network(), ["relu"], Target(text)) is None


def test_an_engine_has_the_figures_of_its_base() -> None:
    expected = Roofline(peak_flops=10**9, memory_bandwidth=10**9)
    assert roofline_of(Target({"kind": "tensorrt", "base": f"cuda {FIGURES}"})) == expected
    assert roofline_of(Target("nvidia/nvidia-l4")) == Roofline(
        peak_flops=30_300_000_000_000, memory_bandwidth=300_000_000_000
    )


@given(amounts, amounts, amounts, amounts)
def test_a_better_device_takes_no_longer(peak: int, bandwidth: int, operations: int, moved: int) -> None:
    slow = Roofline(peak_flops=peak, memory_bandwidth=bandwidth)
    fast = Roofline(peak_flops=2 * peak, memory_bandwidth=2 * bandwidth)
    assert fast.ms(operations, moved) == pytest.approx(slow.ms(operations, moved) / 2)
    assert slow.ms(operations, moved) >= max(slow.ms(operations, 0), slow.ms(0, moved))
