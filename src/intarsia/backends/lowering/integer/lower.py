"""The lowering of a quantised sub-graph: `q_*` instructions where they do, and floating point for the rest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from intarsia.backends.lowering.integer import elementwise, layers, movement, pools
from intarsia.backends.lowering.integer.fixed_point import in_steps
from intarsia.backends.lowering.integer.operators import Emitter, Rule
from intarsia.backends.lowering.integer.values import Known, Pending, Stored, affine
from intarsia.backends.lowering.integer.walk import EIGHT_BITS, Walk, as_int8, zero_as_int8
from intarsia.backends.lowering.program import Program, Term, UnsupportedError
from intarsia.errors import ModelError

if TYPE_CHECKING:
    from intarsia.graph import Node, SubModel

RULES: Mapping[str, Rule] = MappingProxyType({**movement.RULES, **elementwise.RULES, **layers.RULES, **pools.RULES})
"""What an operator is on values that are functions of codes; ``None`` where floating point has to do."""
EMITTERS: Mapping[str, Emitter] = MappingProxyType(
    {**elementwise.EMITTERS, **layers.EMITTERS, **pools.EMITTERS, **movement.EMITTERS}
)
"""How an operator that waited for its quantiser becomes an instruction."""
_FEW_BITS = frozenset({"int8", "uint8", "int4", "uint4", "int32"})


def lower_integers(model: SubModel, natives: frozenset[str] = frozenset()) -> Program:
    """The program of a sub-graph, in integers where it is quantised.

    Args:
        model: The sub-graph; each of its nodes was accepted.
        natives: Operations beyond the primitives that the engine has as one.

    Raises:
        ModelError: A node cannot be lowered.
    """
    walk = Walk(model, natives)
    for node in model.nodes:
        if node.domain != "" or not _taken(walk, node):
            walk.in_float(node)
    outputs = dict(walk.outputs(model))
    return pruned(walk.builder.program(outputs))


def pruned(program: Program) -> Program:
    """Without what no output depends on: instructions that were tried, and constants that were taken up otherwise."""
    made = program.instructions
    needed = set(program.outputs.values()) | {n for n, each in enumerate(made) if each.name == "input"}
    for number in reversed(range(len(made))):
        if number in needed:
            needed.update(made[number].reads)
    places = {old: new for new, old in enumerate(sorted(needed))}
    instructions = tuple(
        replace(made[old], reads=tuple(places[number] for number in made[old].reads)) for old in sorted(needed)
    )
    kept = {each.attributes["name"] for each in instructions if each.name == "constant"}
    return Program(
        instructions=instructions,
        outputs={name: places[number] for name, number in program.outputs.items()},
        constants={name: array for name, array in program.constants.items() if name in kept},
    )


def _taken(walk: Walk, node: Node) -> bool:
    """Whether the node was understood in integers."""
    if node.op_type == "DequantizeLinear":
        return _dequantize(walk, node)
    if node.op_type == "QuantizeLinear":
        return _quantize(walk, node)
    if node.op_type == "QLinearConv":
        return layers.qlinear_conv(walk, node)
    if node.op_type == "QLinearMatMul":
        return layers.qlinear_matmul(walk, node)
    rule = RULES.get(node.op_type)
    if rule is None or node.has_subgraph:
        return False
    found = rule(walk, node)
    if found is None:
        return False
    walk.states.update(found)
    return True


def _dequantize(walk: Walk, node: Node) -> bool:
    name, out = node.inputs[0], node.outputs[0]
    dtype = walk.graph.values[name].dtype or ""
    scale = walk.array(node.inputs[1])
    has_zero = len(node.inputs) > 2 and node.inputs[2] != ""
    zero = walk.array(node.inputs[2]) if has_zero else None
    if scale is None or (has_zero and zero is None) or scale.dtype != np.float32 or dtype not in _FEW_BITS:
        return False
    if walk.graph.values[out].dtype != "float32" or (node.attributes.get("block_size") or 0):
        return False
    array = walk.array(name)
    if array is not None:
        walk.states[out] = _constant(node, array, scale, zero, dtype)
        return True
    stored = walk.stored(name) if dtype in EIGHT_BITS and scale.size == 1 else None
    if stored is None:
        return False
    walk.states[out] = affine(
        stored.term, float(scale.reshape(-1)[0]), zero_as_int8(zero, dtype), (*stored.nodes, node.id)
    )
    return True


def _constant(node: Node, array: np.ndarray, scale: np.ndarray, zero: np.ndarray | None, dtype: str) -> Known:
    axis = node.attributes.get("axis", 1)
    axis = axis + array.ndim if axis < 0 else axis
    plain = array.astype(np.int64)
    if zero is not None:
        along = [size if place == axis else 1 for place, size in enumerate(array.shape)]
        plain = plain - (zero.astype(np.int64).reshape(along) if zero.size > 1 else int(zero.reshape(-1)[0]))
    single = scale.size == 1
    in_8_bits = single and dtype in EIGHT_BITS
    return Known(
        array=plain,
        scale=scale.reshape(-1).astype(np.float64),
        axis=None if single else axis,
        codes=as_int8(array) if in_8_bits else None,
        zero=zero_as_int8(zero, dtype) if in_8_bits else 0,
        bits=4 if dtype in ("int4", "uint4") else 8,
        nodes=(node.id,),
    )


def _quantize(walk: Walk, node: Node) -> bool:
    name, out = node.inputs[0], node.outputs[0]
    dtype = walk.graph.values[out].dtype or ""
    scale = walk.array(node.inputs[1])
    has_zero = len(node.inputs) > 2 and node.inputs[2] != ""
    zero_array = walk.array(node.inputs[2]) if has_zero else None
    if dtype not in EIGHT_BITS or scale is None or scale.size != 1 or (has_zero and zero_array is None):
        return False
    if scale.dtype != np.float32 or walk.graph.values[name].dtype != "float32" or name in walk.graph.weights:
        return False
    step, zero = float(scale.reshape(-1)[0]), zero_as_int8(zero_array, dtype)
    state = walk.states.get(name)
    if isinstance(state, Pending) and all(walk.only_reader(each) for each in (*state.names, name)):
        low, high = (int(in_steps(bound, step, zero)) for bound in (state.low, state.high))
        term = EMITTERS[state.kind](walk, state, step, zero, low, high, node.id)
        if term is not None:
            walk.states[out] = Stored(term=term, nodes=(node.id,))
            return True
    codes = walk.codes(name)
    if codes is not None:
        term = walk.moved_to(codes, step, zero, (node.id,))
    else:
        x = _float(walk, name, node)
        term = walk.emit("quantize", (x,), "int8", x.shape, (node.id,), scale=step, zero=zero)
    walk.states[out] = Stored(term=term, nodes=(node.id,))
    return True


def _float(walk: Walk, name: str, node: Node) -> Term:
    try:
        return walk.term(name)
    except UnsupportedError as error:
        raise ModelError(f"node {node.id!r} cannot be lowered: {error}") from error
