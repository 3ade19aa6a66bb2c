"""What ncnn's backend says and does for a Vulkan device, without ncnn and without a device."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from onnx import TensorProto, helper

from intarsia.backends.ncnn.backend import NcnnBackend
from intarsia.backends.ncnn.vulkan import require_kernels
from intarsia.config.settings import RunSettings
from intarsia.errors import LoadError
from intarsia.graph import Graph, extract, load_model
from intarsia.target import Target

BACKEND = NcnnBackend()
CPU, VULKAN = Target("ncnn"), Target("ncnn -base=vulkan")
SETTINGS = RunSettings(threads=3)


def graph(op_type: str, *shapes: tuple[int, ...], output: tuple[int, ...], **attributes: Any) -> Graph:
    names = [f"x{number}" for number in range(len(shapes))]
    proto = helper.make_graph(
        [helper.make_node(op_type, names, ["y"], name="node", **attributes)],
        "test",
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in zip(names, shapes, strict=True)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, output)],
    )
    return load_model(helper.make_model(proto, opset_imports=[helper.make_opsetid("", 21)], ir_version=10))


@pytest.mark.parametrize(
    ("net", "reason"),
    [
        (graph("Relu", (1, 8, 4, 4), output=(1, 8, 4, 4)), None),
        (graph("MatMul", (1, 4, 8), (1, 8, 4), output=(1, 4, 4)), "MatMul has no Vulkan kernel"),
        (graph("MaxPool", (1, 8, 6), output=(1, 8, 5), kernel_shape=[2]), "Pooling1D has no Vulkan kernel"),
        (graph("Gelu", (1, 8, 4), output=(1, 8, 4)), "approximation by tanh"),
        (graph("Gelu", (1, 8, 4), output=(1, 8, 4), approximate="tanh"), None),
    ],
    ids=["Relu", "MatMul", "MaxPool-1D", "Gelu", "Gelu-tanh"],
)
def test_a_node_that_would_not_run_on_the_device_is_refused_there(net: Graph, reason: str | None) -> None:
    assert BACKEND.refusal(net.nodes[0], net, CPU) is None
    found = BACKEND.refusal(net.nodes[0], net, VULKAN)
    assert found is None if reason is None else found is not None and reason in found


def test_what_no_buffer_of_the_device_holds_is_refused() -> None:
    large = graph("Relu", (1, 8, 2048, 2049), output=(1, 8, 2048, 2049))
    assert BACKEND.refusal(large.nodes[0], large, CPU) is None
    told = BACKEND.refusal(large.nodes[0], large, VULKAN)
    assert told is not None
    assert "larger than a buffer of the device, which has 134217728 bytes" in told
    stated = Target("ncnn -base='vulkan -max_storage_buffer_range=4294967295'")
    assert BACKEND.refusal(large.nodes[0], large, stated) is None


def test_what_ncnn_does_not_take_is_refused_with_the_same_reason() -> None:
    net = graph("Tan", (1, 8), output=(1, 8))
    assert BACKEND.refusal(net.nodes[0], net, VULKAN) == BACKEND.refusal(net.nodes[0], net, CPU)


def test_the_device_computes_in_float32_unless_the_target_says_otherwise(tmp_path: Path) -> None:
    model = extract(graph("Relu", (1, 8, 4, 4), output=(1, 8, 4, 4)), ["node"])
    for target, half in ((VULKAN, False), (Target("ncnn -fp16 -base=vulkan"), True)):
        *_, options = BACKEND.export(model, target, SETTINGS, tmp_path)
        stated = json.loads(options.read_text())["opt"]
        assert stated["use_vulkan_compute"]
        assert {value for name, value in stated.items() if "fp16" in name} == {half}
        assert not any(value for name, value in stated.items() if "bf16" in name)


def test_mesas_device_in_software_has_the_threads_of_the_plan() -> None:
    assert BACKEND.environment(SETTINGS)["LP_NUM_THREADS"] == "3"


def test_channels_in_blocks_are_for_the_cpu() -> None:
    assert not BACKEND.follows_blocks(VULKAN)


def test_without_a_device_nothing_runs_on_the_cpu_instead(monkeypatch: pytest.MonkeyPatch) -> None:
    artifact = BACKEND.compile(extract(graph("Relu", (1, 8, 4, 4), output=(1, 8, 4, 4)), ["node"]), VULKAN, SETTINGS)
    monkeypatch.setitem(sys.modules, "ncnn", SimpleNamespace(get_gpu_count=lambda: 0))
    with pytest.raises(LoadError, match="finds no Vulkan device here; 'intarsia doctor'"):
        BACKEND.load(artifact, {}, VULKAN, SETTINGS)


def test_a_network_with_a_layer_that_would_run_on_the_cpu_is_not_loaded() -> None:
    param = "7767517\n3 3\nInput in0 0 1 in0\nReLU node 1 1 in0 x\nMatMul node2 2 1 x x y\n"
    with pytest.raises(LoadError, match="MatMul: no Vulkan kernel"):
        require_kernels(param)
    require_kernels(param.replace("MatMul", "BinaryOp"))
