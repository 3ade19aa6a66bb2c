"""Lets products in few bits do what stands behind them alone: add another value, and GELU by tanh.

Behind a product of few rows either takes longer to begin than to end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import onnx

from intarsia.backends.onnxruntime.endings import join_endings
from intarsia.backends.onnxruntime.packed_products import OPERATOR
from intarsia.backends.onnxruntime.saved_model import attributes_of, constant_of
from intarsia.graph.placeholder_ops import DOMAIN

_BIAS = 2
_GELU = ("com.microsoft", "FastGelu")
"""What ONNX Runtime makes of GELU by tanh."""
Shapes = Mapping[str, tuple[int, ...]]


def join_product_endings(graph: onnx.GraphProto, shapes: Shapes) -> None:
    """Give sums of two values of one shape, and GELU, to the product before them, if nobody else reads what it gives.

    A product gives its result the shape of what it adds, so it may also be reshaped before it is added.

    Args:
        graph: It is changed.
        shapes: Of its values, as far as they are known.
    """
    sums = {node.output[0]: _reshaped(node, graph) for node in graph.node if _is_sum(node, shapes)}
    reshaped = {name for name in sums.values() if name}

    def choose(node: onnx.NodeProto, makers: Sequence[onnx.NodeProto]) -> onnx.NodeProto | None:
        open_ = [each for each in makers if _is_ours(each) and not _stated(each, "gelu").i]
        if (node.domain, node.op_type) == _GELU:
            return open_[0] if open_ and not any(node.input[1:]) else None
        able = [each for each in open_ if not _stated(each, "adds").i]
        (output,) = node.output[:1]
        if output in reshaped:
            columns = shapes[output][-1:]
            return next((each for each in able if attributes_of(each)["sizes"][-1:] == columns), None)
        # One that was reshaped has no other shape than that of this sum.
        return min(able, key=lambda each: each.output[0] != sums[output], default=None) if output in sums else None

    def take_over(product: onnx.NodeProto, node: onnx.NodeProto) -> None:
        if (node.domain, node.op_type) == _GELU:
            _stated(product, "gelu").i = 1
        elif node.op_type == "Add":
            (other,) = (name for name in node.input if name != product.output[0])
            _stated(product, "adds").i = 1
            if len(product.input) == _BIAS:
                product.input.append(constant_of(graph, 0.0, attributes_of(product)["sizes"][-1]))
            product.input.append(other)

    join_endings(graph, choose, take_over)


def _is_sum(node: onnx.NodeProto, shapes: Shapes) -> bool:
    """Whether a node adds two values of one shape."""
    sizes = [shapes.get(name) for name in node.input]
    return node.op_type == "Add" and not node.domain and None not in sizes and sizes[0] == sizes[1]


def _reshaped(total: onnx.NodeProto, graph: onnx.GraphProto) -> str:
    """The first of what is added that was reshaped, and that nobody else reads; empty without one."""
    made = {node.output[0] for node in graph.node if node.op_type == "Reshape" and not node.domain}
    read = [name for node in graph.node for name in node.input] + [value.name for value in graph.output]
    return next((name for name in total.input if name in made and read.count(name) == 1), "")


def _is_ours(node: onnx.NodeProto) -> bool:
    return (node.domain, node.op_type) == (DOMAIN, OPERATOR)


def _stated(node: onnx.NodeProto, name: str) -> onnx.AttributeProto:
    found: onnx.AttributeProto = next(each for each in node.attribute if each.name == name)
    return found
