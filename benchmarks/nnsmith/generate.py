"""Models from seeds. NNSmith (Liu et al., ASPLOS 2023) solves for graphs whose shapes fit, for which it needs z3 alone.

Its own way to ONNX leads through PyTorch's exporter; `benchmarks.nnsmith.operators` writes the nodes instead.
"""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import numpy as np
import onnx
import z3
from onnx import TensorProto, helper, numpy_helper

from benchmarks.nnsmith.operators import Writer, write

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it warns that it cannot draw pictures
    from nnsmith.abstract.dtype import DType
    from nnsmith.abstract.op import FULL_OPERATOR_SETS, Constant, Input
    from nnsmith.graph_gen import SymbolicGen

OPSET, IR_VERSION = 21, 10
MAX_NODES = 10
MAX_ELEMENTS = 2**14
MAX_DIMENSION = 48
PATIENCE_MS = 60_000
"""Only a time limit: it is far beyond what a graph takes, so that the same seed gives the same graph."""
DTYPES = frozenset(
    {
        *(DType.float16, DType.float32, DType.float64, DType.int8, DType.uint8, DType.int32, DType.int64, DType.bool),
    }
)


class _Generator(SymbolicGen):  # type: ignore[misc] # it comes without type information
    """Asks for tensors of a moderate size; every second graph holds batches of one, as some engines take no others."""

    def __init__(self, seed: int) -> None:
        self._batch_of_one = seed % 2 == 0
        super().__init__(_operators(), seed, init_fp=True, symbolic_init=True, max_elem_per_tensor=MAX_ELEMENTS)

    def tensor_type_constraints(self, atensor: Any) -> list[Any]:
        limits = [*super().tensor_type_constraints(atensor), *(size <= MAX_DIMENSION for size in atensor.shape)]
        if self._batch_of_one and len(atensor.shape) > 1:
            limits.append(atensor.shape[0] == 1)
        return limits


def model_of(seed: int) -> onnx.ModelProto:
    """The model of a seed: some ten operators, inputs and weights of several dtypes, each unread value an output."""
    z3.z3._main_ctx = None  # what it solved before would sway its choice among solutions
    generator = _Generator(seed)
    generator.abstract_gen(max_node_size=MAX_NODES, max_gen_millisec=PATIENCE_MS)
    ir = generator.make_concrete()
    writer = Writer(rng=np.random.default_rng(seed))
    inputs = []
    for inst in ir.insts:
        kind, (name, *_) = inst.iexpr.op, inst.retvals()
        if isinstance(kind, Input):
            inputs.append(_info(name, ir.vars[name]))
        elif isinstance(kind, Constant):
            writer.weights.append(numpy_helper.from_array(_numbers(writer.rng, ir.vars[name]), name))
        else:
            write(writer, kind, list(inst.iexpr.args), [ir.vars[arg] for arg in inst.iexpr.args], name, ir.vars[name])
    outputs = [_info(name, ir.vars[name]) for name in ir.leaf_var() if name in {n.output[0] for n in writer.nodes}]
    graph = helper.make_graph(writer.nodes, f"nnsmith-{seed}", inputs, outputs, writer.weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)
    onnx.checker.check_model(model, full_check=True)
    return model


@cache
def _operators() -> tuple[Any, ...]:
    """NNSmith's core operators, on our dtypes. As its own way of narrowing does, this changes its classes.

    By its default too, those that are defined on a part of the numbers only (such as Sqrt) are left out.
    """
    kept = []
    for operator in FULL_OPERATOR_SETS["core"]:
        if operator.limit_domain:
            continue
        operator.in_dtypes = [combination for combination in operator.in_dtypes if DTYPES.issuperset(combination)]
        operator.out_dtypes = [combination for combination in operator.out_dtypes if DTYPES.issuperset(combination)]
        kept.append(operator)
    return tuple(kept)


def _info(name: str, tensor: Any) -> onnx.ValueInfoProto:
    dtype = helper.np_dtype_to_tensor_dtype(np.dtype(tensor.dtype.numpy()))
    assert dtype != TensorProto.UNDEFINED
    return helper.make_tensor_value_info(name, dtype, list(tensor.shape))


def _numbers(rng: np.random.Generator, tensor: Any) -> np.ndarray:
    """Normal floats, small integers without zero, booleans."""
    dtype: np.dtype = np.dtype(tensor.dtype.numpy())
    shape = tuple(tensor.shape)
    if dtype.kind == "f":
        return np.asarray(rng.standard_normal(shape), dtype)
    return np.asarray(rng.integers(0, 2, shape) if dtype.kind == "b" else rng.integers(1, 5, shape), dtype)
