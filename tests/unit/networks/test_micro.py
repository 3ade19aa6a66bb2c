"""The networks for microcontrollers are those of the benchmark: their sizes, their types, and answers that differ."""

from __future__ import annotations

from math import prod

import numpy as np
import onnx
import pytest

import networks
from networks import micro

MACS = {"kws": 2_656_768, "ic": 12_501_632, "vww": 7_489_664, "ad": 264_192}
"""Products of one inference, as the architectures have them: see `work`."""


def work(model: onnx.ModelProto) -> int:
    inferred = onnx.shape_inference.infer_shapes(model)
    shapes = {v.name: [d.dim_value for d in v.type.tensor_type.shape.dim] for v in inferred.graph.value_info}
    shapes |= {v.name: [d.dim_value for d in v.type.tensor_type.shape.dim] for v in inferred.graph.output}
    shapes |= {tensor.name: list(tensor.dims) for tensor in inferred.graph.initializer}
    total = 0
    for node in inferred.graph.node:
        if node.op_type == "Conv":
            total += prod(shapes[node.output[0]]) * prod(shapes[node.input[1]][1:])
        elif node.op_type == "Gemm":
            total += prod(shapes[node.input[1]])
    return total


@pytest.mark.parametrize("name", micro.QUANTISED)
def test_it_is_the_architecture_of_the_benchmark(name: str) -> None:
    assert work(micro.in_float(name)) == MACS[name]


@pytest.mark.parametrize("name", micro.QUANTISED)
def test_it_is_quantised_to_int8_throughout(name: str) -> None:
    model = networks.build(name)
    tensors = {tensor.name: tensor.data_type for tensor in model.graph.initializer}
    kinds = {tensors[node.input[2]] for node in model.graph.node if node.op_type == "QuantizeLinear"}
    assert kinds == {onnx.TensorProto.INT8}
    made = {name: node.op_type for node in model.graph.node for name in node.output}
    computing = [node for node in model.graph.node if node.op_type in ("Conv", "Gemm", "Add", "AveragePool")]
    assert computing
    assert all(made.get(each) == "DequantizeLinear" for node in computing for each in node.input)


@pytest.mark.parametrize("name", micro.NAMES)
def test_its_answers_differ_from_input_to_input_and_within_one(name: str) -> None:
    import onnxruntime

    model = networks.build(name)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    found = np.stack([session.run(None, networks.feeds(model, seed))[0].reshape(-1) for seed in range(6)])
    assert found.std(axis=0).mean() > 0.02
    assert found.std(axis=1).mean() > 0.02


def test_name_and_seed_decide_over_the_weights() -> None:
    first, again, other = (micro.in_float("kws", seed).SerializeToString() for seed in (3, 3, 4))
    assert first == again != other


def test_another_name_is_refused_with_those_there_are() -> None:
    with pytest.raises(ValueError, match="no network 'nothing'; there are kws, ic"):
        micro.build("nothing")
