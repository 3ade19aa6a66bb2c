"""Channels that change places, and layers that are left out."""

from __future__ import annotations

import numpy as np

from networks.quantised.faults.edit import Edit, picked

_BIASES = {"Conv": 2, "Gemm": 2, "QLinearConv": 8}
"""Operators with a bias, and its place among their inputs."""
_BY_ROW = ("ConvInteger", "MatMulNBits", "QLinearConv")
"""Products whose weights have output channels first, whatever their rank."""


def swapped_channels(edit: Edit, at: float) -> bool:
    """Two output channels of one weight change places; ``at`` says of which, between the first, 0, and the last, 1.

    They are those of the largest and the smallest sum.
    """
    places = edit.weights()
    if not places:
        return False
    node, place = picked(places, at)
    values = edit.array(node.input[place])
    is_transposed = any(each.name == "transB" and each.i for each in node.attribute)
    axis = 1 if values.ndim == 2 and node.op_type not in _BY_ROW and not is_transposed else 0
    others = tuple(other for other in range(values.ndim) if other != axis)
    sums = values.astype(np.float64).sum(axis=others)
    order = np.arange(values.shape[axis])
    pair = [int(sums.argmax()), int(sums.argmin())]
    order[pair] = order[pair[::-1]]
    edit.give(node, place, values.take(order, axis))
    return True


def drops_activation(edit: Edit) -> bool:
    """The activation in the middle is left out."""
    found = edit.nodes("Relu", "Clip", "Gelu", "Erf", "Sigmoid")
    if found:
        node = picked(found, 0.5)
        edit.turn_into(node, "Identity", node.input[0])
    return bool(found)


def relu_for_gelu(edit: Edit) -> bool:
    """Each Gelu is taken for a Relu."""
    found = edit.nodes("Gelu")
    for node in found:
        edit.turn_into(node, "Relu", node.input[0])
    return bool(found)


def drops_biases(edit: Edit) -> bool:
    """No product gets its bias."""
    with_bias = [node for node in edit.nodes(*_BIASES) if len(node.input) > _BIASES[node.op_type]]
    for node in with_bias:
        del node.input[_BIASES[node.op_type] :]
    sums = [node for node in edit.nodes("Add") if any(map(edit.is_vector, node.input))]
    for node in sums:
        edit.turn_into(node, "Identity", next(name for name in node.input if not edit.is_vector(name)))
    return bool(with_bias or sums)


def drops_shortcut(edit: Edit) -> bool:
    """The sum in the middle of two values that are computed is only the first of them."""
    sums = [node for node in edit.nodes("Add") if not any(map(edit.is_constant, node.input))]
    if sums:
        node = picked(sums, 0.5)
        edit.turn_into(node, "Identity", node.input[0])
    return bool(sums)
