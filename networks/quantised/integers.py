"""Models in 8 and 4 bits, as ONNX Runtime's tools write them: calibrated, dynamic, and of weights alone."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import onnx
from onnx import helper, numpy_helper

if TYPE_CHECKING:
    from collections.abc import Collection

_SAMPLES = 4
_NARROW = 0.8
"""Samples are drawn this much narrower than what the models are run with, so that some values saturate."""


def static(
    model: onnx.ModelProto,
    *,
    form: Literal["QDQ", "QOperator"] = "QDQ",
    activations: Literal["int8", "uint8"] = "uint8",
    per_channel: bool,
    symmetric: bool = False,
    only: Collection[str] = (),
    **options: Any,
) -> onnx.ModelProto:
    """A copy whose activations are quantised by the ranges that samples had.

    Args:
        model: In fp32, of a fixed batch or an open one.
        form: Nodes in fp32 between quantisers, or operators on integers.
        activations: Their type; weights are int8.
        per_channel: Whether each output channel of a weight has a scale of its own.
        symmetric: The zero points of activations are 0.
        only: Operators to quantise; all that can be if left out.
        options: More of ONNX Runtime's ``extra_options``.
    """
    from onnxruntime import quantization as ort

    types = {"int8": ort.QuantType.QInt8, "uint8": ort.QuantType.QUInt8}
    with tempfile.TemporaryDirectory() as folder:
        source, result = Path(folder) / "fp32.onnx", Path(folder) / "int8.onnx"
        onnx.save(onnx.shape_inference.infer_shapes(model), source)
        ort.quantize_static(
            source,
            result,
            _samples(model),
            quant_format=ort.QuantFormat[form],
            activation_type=types[activations],
            weight_type=ort.QuantType.QInt8,
            per_channel=per_channel,
            op_types_to_quantize=list(only) or None,
            extra_options={"ActivationSymmetric": symmetric, **options},
        )
        return _named(onnx.load(result))


def dynamic(model: onnx.ModelProto, *, per_channel: bool = False) -> onnx.ModelProto:
    """A copy whose products quantise their inputs while they run."""
    from onnxruntime import quantization as ort

    with tempfile.TemporaryDirectory() as folder:
        source, result = Path(folder) / "fp32.onnx", Path(folder) / "int8.onnx"
        onnx.save(onnx.shape_inference.infer_shapes(model), source)
        ort.quantize_dynamic(source, result, per_channel=per_channel, weight_type=ort.QuantType.QInt8)
        return _named(onnx.load(result))


def weights_in_8_bits(model: onnx.ModelProto) -> onnx.ModelProto:
    """A copy whose products read int8 weights through DequantizeLinear, a scale for each column."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    tensors = {tensor.name: tensor for tensor in copy.graph.initializer}
    products = [node for node in copy.graph.node if node.op_type == "MatMul" and node.input[1] in tensors]
    dequantisers = []
    for node in products:
        tensor = tensors[node.input[1]]
        values = numpy_helper.to_array(tensor)
        scales = (np.abs(values).max(axis=0) / 127).astype(np.float32)
        whole = np.clip(np.round(values / scales), -127, 127).astype(np.int8)
        label = tensor.name
        tensor.CopyFrom(numpy_helper.from_array(whole, f"{label}.int8"))
        copy.graph.initializer.append(numpy_helper.from_array(scales, f"{label}.scales"))
        inputs = [f"{label}.int8", f"{label}.scales"]
        dequantisers.append(helper.make_node("DequantizeLinear", inputs, [label], f"{label}.dequantised", axis=1))
    nodes = [*dequantisers, *copy.graph.node]
    del copy.graph.node[:]
    copy.graph.node.extend(nodes)
    onnx.checker.check_model(copy, full_check=True)
    return copy


def weights_in_4_bits(
    model: onnx.ModelProto, *, form: Literal["QDQ", "QOperator"], block: int = 32, symmetric: bool = True
) -> onnx.ModelProto:
    """A copy whose products read int4 weights in blocks: through DequantizeLinear, or as ``com.microsoft.MatMulNBits``.

    Args:
        model: In fp32.
        form: ``QDQ`` for the former, ``QOperator`` for the latter.
        block: Rows of a weight that share a scale.
        symmetric: No zero points.
    """
    from onnxruntime.quantization import QuantFormat
    from onnxruntime.quantization.matmul_nbits_quantizer import DefaultWeightOnlyQuantConfig, MatMulNBitsQuantizer

    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    config = DefaultWeightOnlyQuantConfig(block_size=block, is_symmetric=symmetric, quant_format=QuantFormat[form])
    quantiser = MatMulNBitsQuantizer(copy, algo_config=config)
    quantiser.process()
    return _named(quantiser.model.model)


def _samples(model: onnx.ModelProto) -> Any:
    from onnxruntime.quantization import CalibrationDataReader

    rng = np.random.default_rng(11)
    shapes = {each.name: [dim.dim_value or 1 for dim in each.type.tensor_type.shape.dim] for each in model.graph.input}
    feeds = iter(
        [
            {
                name: rng.standard_normal(shape).astype(np.float32) * np.float32(_NARROW)
                for name, shape in shapes.items()
            }
            for _ in range(_SAMPLES)
        ]
    )

    class Samples(CalibrationDataReader):
        def get_next(self) -> dict[str, np.ndarray] | None:
            return next(feeds, None)

    return Samples()


def _named(model: onnx.ModelProto) -> onnx.ModelProto:
    """Without what the tool has left of shapes, which it does not keep up, and with every node named."""
    del model.graph.value_info[:]
    for node in model.graph.node:
        node.name = node.name or node.output[0]
    return model
