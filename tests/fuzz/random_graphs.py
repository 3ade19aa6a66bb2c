"""Random small models of ONNX: layers, element-wise chains, movements, several inputs and outputs, and odd names.

What is drawn stays smooth and small: behind a step such as Round, two right computations differ by a whole one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, defs, helper, numpy_helper, shape_inference

OPSET = 21
MOST_ELEMENTS = 3000
"""Of one value."""
_INPUTS = ((1, 3, 9, 8), (1, 4, 7, 7), (1, 8, 6, 5), (2, 3, 10), (1, 16, 12), (4, 20), (1, 33), (2, 5, 6))
_NAMES = ("x", "int", "a/b:0", "workspace", "Übung", "2nd", "x ", "model.layer.0")
"""Of inputs and outputs: words of C, signs that no name of C has, and two that differ by a space."""
_UNARY = ("Relu", "LeakyRelu", "Sigmoid", "Tanh", "HardSwish", "HardSigmoid", "Elu", "Softplus", "Gelu", "Abs", "Neg",
          "Erf", "Selu", "Softsign", "Identity", "Sin")  # fmt: skip


class RandomGraph:
    """A model that grows node by node; the same seed makes the same one."""

    def __init__(self, seed: int) -> None:
        """An empty one."""
        self.rng = np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []
        self.shapes: dict[str, tuple[int, ...]] = {}
        self.inputs: list[str] = []

    def number(self, low: int, high: int) -> int:
        """One of these, both ends too."""
        return int(self.rng.integers(low, high + 1))

    def chance(self, share: float) -> bool:
        """True so often."""
        return bool(self.rng.random() < share)

    def pick(self, *ranks: int) -> str | None:
        """A value of one of these ranks, of any if none is stated; most often one of the last."""
        found = [name for name, shape in self.shapes.items() if not ranks or len(shape) in ranks]
        if not found:
            return None
        recent = found[-3:] if self.chance(0.75) else found
        return recent[self.number(0, len(recent) - 1)]

    def constant(self, array: np.ndarray) -> str:
        """The name of a weight."""
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def weight(self, *shape: int, fan: int = 1, low: float | None = None) -> str:
        """The name of a weight of drawn numbers; positive ones from ``low`` on where that is stated."""
        drawn = self.rng.standard_normal(shape) / np.sqrt(fan)
        return self.constant((drawn if low is None else np.abs(drawn) + low).astype(np.float32))

    def whole(self, *numbers: int) -> str:
        """The name of a weight of whole numbers."""
        return self.constant(np.array(numbers, np.int64))

    def add(self, op: str, *reads: str, outputs: int = 1, **attributes: Any) -> str | None:
        """A node, if what it computes is small; the name of its first output."""
        made = [f"v{len(self.shapes) + place}" for place in range(outputs)]
        node = helper.make_node(op, reads, made, name=f"n{len(self.nodes)}_{op}", **attributes)
        stored = {tensor.name: tensor for tensor in self.weights}
        types = {
            name: helper.make_tensor_type_proto(TensorProto.FLOAT, self.shapes[name])
            if name in self.shapes
            else helper.make_tensor_type_proto(stored[name].data_type, stored[name].dims)
            for name in reads
            if name
        }
        given = {name: stored[name] for name in reads if name in stored}
        schema = defs.get_schema(op, OPSET)
        found = shape_inference.infer_node_outputs(
            schema, node, types, given, opset_imports=[helper.make_opsetid("", OPSET)]
        )
        shapes = [tuple(each.dim_value for each in found[name].tensor_type.shape.dim) for name in made]
        if any(prod(shape) > MOST_ELEMENTS or 0 in shape or len(shape) > 5 for shape in shapes):
            return None
        self.nodes.append(node)
        self.shapes.update(zip(made, shapes, strict=True))
        return made[0]


def _windows(graph: RandomGraph, x: str, *, most: int = 3) -> dict[str, Any]:
    """Kernel, strides, dilations and pads over the places of a value, as attributes."""
    sizes = graph.shapes[x][2:]
    kernel = [graph.number(1, min(most, size)) for size in sizes]
    dilations = [graph.number(1, 2) if (k - 1) * 2 < size else 1 for k, size in zip(kernel, sizes, strict=True)]
    pads = [graph.number(0, k - 1) for k in kernel] + [graph.number(0, k - 1) for k in kernel]
    strides = [graph.number(1, 3) for _ in sizes]
    return {"kernel_shape": kernel, "strides": strides, "dilations": dilations, "pads": pads}


def _conv(graph: RandomGraph) -> str | None:
    x = graph.pick(3, 4)
    if x is None:
        return None
    channels = graph.shapes[x][1]
    divisors = [each for each in range(1, channels + 1) if channels % each == 0]
    groups = (1, 1, channels, divisors[graph.number(0, len(divisors) - 1)])[graph.number(0, 3)]
    out = groups * graph.number(1, max(1, 20 // groups))
    window = _windows(graph, x, most=5)
    fan = channels // groups * prod(window["kernel_shape"])
    reads = [x, graph.weight(out, channels // groups, *window["kernel_shape"], fan=fan)]
    reads += [graph.weight(out)] if graph.chance(0.7) else []
    if graph.chance(0.15):
        del window["pads"]
        window |= {
            "auto_pad": "SAME_UPPER" if graph.chance(0.5) else "SAME_LOWER",
            "dilations": [1] * (len(window["strides"])),
        }
    y = graph.add("Conv", *reads, group=groups, **window)
    return graph.add("Relu", y) if y is not None and graph.chance(0.5) else y


def _conv_transpose(graph: RandomGraph) -> str | None:
    x = graph.pick(3, 4)
    if x is None:
        return None
    channels = graph.shapes[x][1]
    groups = 2 if channels % 2 == 0 and graph.chance(0.3) else 1
    kernel = [graph.number(1, 3) for _ in graph.shapes[x][2:]]
    strides = [graph.number(1, 2) for _ in kernel]
    reads = [x, graph.weight(channels, graph.number(1, 6), *kernel, fan=channels * prod(kernel))]
    return graph.add("ConvTranspose", *reads, group=groups, kernel_shape=kernel, strides=strides)


def _pool(graph: RandomGraph) -> str | None:
    x = graph.pick(3, 4)
    if x is None:
        return None
    sort = graph.number(0, 4)
    if sort > 2:
        return graph.add("GlobalAveragePool" if sort == 3 else "GlobalMaxPool", x)
    window = _windows(graph, x)
    del window["dilations"]
    # Of a window that starts in the padding, ONNX's own inference of shapes says another size than its definition.
    steps = zip(window["strides"], window["kernel_shape"], strict=True)
    is_sure = not any(window["pads"]) and all(step <= size for step, size in steps)
    window["ceil_mode"] = int(is_sure and graph.chance(0.5))
    if sort == 0:
        return graph.add("MaxPool", x, **window)
    return graph.add("AveragePool", x, count_include_pad=graph.number(0, 1), **window)


def _product(graph: RandomGraph) -> str | None:
    x = graph.pick()
    if x is None or len(graph.shapes[x]) < 2:
        return None
    rows, n = graph.shapes[x][-1], graph.number(1, 40)
    if len(graph.shapes[x]) == 2 and graph.chance(0.6):
        turned = graph.chance(0.5)
        reads = [x, graph.weight(*((n, rows) if turned else (rows, n)), fan=rows)]
        reads += [graph.weight(n)] if graph.chance(0.7) else []
        return graph.add("Gemm", *reads, transB=int(turned))
    if graph.chance(0.7):
        return graph.add("MatMul", x, graph.weight(rows, n, fan=rows))
    order = [*range(len(graph.shapes[x]) - 2), len(graph.shapes[x]) - 1, len(graph.shapes[x]) - 2]
    turned_x = graph.add("Transpose", x, perm=order)
    y = None if turned_x is None else graph.add("MatMul", x, turned_x)
    return y and graph.add("Tanh", y)


def _unary(graph: RandomGraph) -> str | None:
    x = graph.pick()
    return x and graph.add(_UNARY[graph.number(0, len(_UNARY) - 1)], x)


def _clip(graph: RandomGraph) -> str | None:
    x = graph.pick()
    low, high = sorted(float(each) for each in graph.rng.uniform(-2, 3, 2))
    ends = [graph.constant(np.array(each, np.float32)) for each in (low, high)]
    return x and graph.add("Clip", x, *ends)


def _binary(graph: RandomGraph) -> str | None:
    x = graph.pick()
    if x is None:
        return None
    shape = graph.shapes[x]
    op = ("Add", "Add", "Sub", "Mul", "Max", "Min", "Div")[graph.number(0, 6)]
    low = 0.5 if op == "Div" else None
    alike = [name for name, other in graph.shapes.items() if other == shape]
    sort = graph.number(0, 3)
    if op == "Div" or sort == 1:
        other = graph.weight(*(size if graph.chance(0.5) else 1 for size in shape), low=low)
    elif sort == 2 and len(shape) > 2:
        other = graph.weight(shape[1], *(1 for _ in shape[2:]))
    elif sort == 3:
        other = graph.constant(np.array(round(float(graph.rng.uniform(-2, 2)), 2), np.float32))
    else:
        other = alike[graph.number(0, len(alike) - 1)]
    y = graph.add(op, *((other, x) if graph.chance(0.2) and op != "Div" else (x, other)))
    return y and (graph.add("Tanh", y) if op == "Mul" else y)


def _prelu(graph: RandomGraph) -> str | None:
    x = graph.pick(3, 4)
    return x and graph.add("PRelu", x, graph.weight(graph.shapes[x][1], *(1 for _ in graph.shapes[x][2:])))


def _transpose(graph: RandomGraph) -> str | None:
    x = graph.pick()
    return x and graph.add("Transpose", x, perm=[int(each) for each in graph.rng.permutation(len(graph.shapes[x]))])


def _reshape(graph: RandomGraph) -> str | None:
    x = graph.pick()
    if x is None:
        return None
    shape = graph.shapes[x]
    sort = graph.number(0, 3)
    if sort == 0:
        return graph.add("Flatten", x, axis=graph.number(0, len(shape)))
    if sort == 1:
        return graph.add("Unsqueeze", x, graph.whole(graph.number(0, len(shape))))
    if sort == 2 and len(shape) > 1:
        axis = graph.number(0, len(shape) - 2)
        return graph.add("Reshape", x, graph.whole(*shape[:axis], -1, *shape[axis + 2 :]))
    ones = [axis for axis, size in enumerate(shape) if size == 1]
    return graph.add("Squeeze", x, graph.whole(ones[0])) if ones and len(shape) > 1 else None


def _slice(graph: RandomGraph) -> str | None:
    x = graph.pick()
    if x is None or not graph.shapes[x]:
        return None
    axis = graph.number(0, len(graph.shapes[x]) - 1)
    size = graph.shapes[x][axis]
    start = graph.number(0, size - 1)
    if graph.chance(0.2):
        return graph.add("Slice", x, graph.whole(-1), graph.whole(-size - 1), graph.whole(axis), graph.whole(-1))
    end, step = graph.number(start + 1, size), graph.number(1, 2)
    return graph.add("Slice", x, graph.whole(start), graph.whole(end), graph.whole(axis), graph.whole(step))


def _split(graph: RandomGraph) -> str | None:
    x = graph.pick(3, 4)
    if x is None or graph.shapes[x][1] < 2:
        return None
    first = graph.number(1, graph.shapes[x][1] - 1)
    return graph.add("Split", x, graph.whole(first, graph.shapes[x][1] - first), outputs=2, axis=1)


def _concat(graph: RandomGraph) -> str | None:
    x = graph.pick()
    if x is None or not graph.shapes[x]:
        return None
    shape, axis = graph.shapes[x], graph.number(0, len(graph.shapes[x]) - 1)
    fit = [
        name
        for name, other in graph.shapes.items()
        if len(other) == len(shape)
        and all(a == b or at == axis for at, (a, b) in enumerate(zip(other, shape, strict=True)))
    ]
    parts = [fit[graph.number(0, len(fit) - 1)] for _ in range(graph.number(1, 2))]
    return graph.add("Concat", x, *parts, axis=axis)


def _pad(graph: RandomGraph) -> str | None:
    x = graph.pick()
    if x is None or not graph.shapes[x]:
        return None
    shape = graph.shapes[x]
    mode = ("constant", "constant", "reflect", "edge")[graph.number(0, 3)]
    most = min(min(shape) - 1, 2) if mode == "reflect" else 2
    sizes = [graph.number(0, most) for _ in range(2 * len(shape))]
    reads = [x, graph.whole(*sizes)]
    reads += [graph.constant(np.array(0.5, np.float32))] if mode == "constant" and graph.chance(0.3) else []
    return graph.add("Pad", *reads, mode=mode)


def _reduce(graph: RandomGraph) -> str | None:
    x = graph.pick()
    if x is None or not graph.shapes[x]:
        return None
    axes = [axis for axis in range(len(graph.shapes[x])) if graph.chance(0.5)] or [len(graph.shapes[x]) - 1]
    op = ("ReduceMean", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL2")[graph.number(0, 4)]
    return graph.add(op, x, graph.whole(*axes), keepdims=graph.number(0, 1))


def _normalised(graph: RandomGraph) -> str | None:
    x = graph.pick(2, 3, 4)
    if x is None:
        return None
    shape = graph.shapes[x]
    sort = graph.number(0, 3)
    if sort == 0:
        return graph.add("Softmax", x, axis=graph.number(0, len(shape) - 1))
    if sort == 1 and shape[-1] > 3:
        return graph.add(
            "LayerNormalization", x, graph.weight(shape[-1]), graph.weight(shape[-1]), axis=-1, epsilon=1e-2
        )
    if sort == 2:
        scale, mean, bias = (graph.weight(shape[1]) for _ in range(3))
        return graph.add("BatchNormalization", x, scale, bias, mean, graph.weight(shape[1], low=0.5))
    return graph.add("Softmax", x, axis=-1)


def _resize(graph: RandomGraph) -> str | None:
    x = graph.pick(4)
    if x is None:
        return None
    if graph.chance(0.25) and graph.shapes[x][1] % 4 == 0:
        return graph.add("DepthToSpace", x, blocksize=2, mode="DCR" if graph.chance(0.5) else "CRD")
    mode = "nearest" if graph.chance(0.7) else "linear"
    scales = graph.constant(np.array([1, 1, 2, graph.number(1, 2)], np.float32))
    return graph.add(
        "Resize", x, "", scales, mode=mode, coordinate_transformation_mode="asymmetric", nearest_mode="floor"
    )


def _take(graph: RandomGraph) -> str | None:
    x = graph.pick()
    if x is None or not graph.shapes[x]:
        return None
    axis = graph.number(0, len(graph.shapes[x]) - 1)
    size = graph.shapes[x][axis]
    return graph.add("Gather", x, graph.whole(*graph.rng.integers(-size, size, graph.number(1, 5)).tolist()), axis=axis)


def _expand(graph: RandomGraph) -> str | None:
    x = graph.pick()
    if x is None or not graph.shapes[x]:
        return None
    sizes = [graph.number(1, 4) if size == 1 else size for size in graph.shapes[x]]
    return graph.add("Expand", x, graph.whole(*sizes))


def _recurrent(graph: RandomGraph) -> str | None:
    x = graph.pick(3)
    if x is None:
        return None
    hidden, features = graph.number(1, 6), graph.shapes[x][2]
    op, gates = (("GRU", 3), ("LSTM", 4))[graph.number(0, 1)]
    directions = graph.number(1, 2)
    reads = [graph.weight(directions, gates * hidden, each, fan=each) for each in (features, hidden)]
    more = {"linear_before_reset": 1} if op == "GRU" and graph.chance(0.7) else {}
    direction = "bidirectional" if directions == 2 else "forward"
    return graph.add(op, x, *reads, hidden_size=hidden, direction=direction, **more)


_LAYERS: Sequence[Callable[[RandomGraph], str | None]] = (
    _conv, _conv, _conv, _conv, _pool, _pool, _product, _product, _unary, _unary, _unary, _clip, _binary, _binary,
    _binary, _concat, _concat, _pad, _transpose, _reshape, _reshape, _slice, _split, _reduce, _normalised, _resize,
    _take, _expand,
)  # fmt: skip
_RARE: Sequence[Callable[[RandomGraph], str | None]] = (_conv_transpose, _prelu, _recurrent)
_SEVERAL = 3


def random_model(seed: int, length: int = 12) -> onnx.ModelProto:
    """A model in fp32 of so many nodes. Its outputs are all that nothing reads, and at times one that is read."""
    graph = RandomGraph(seed)
    names = [_NAMES[int(each)] for each in graph.rng.permutation(len(_NAMES))]
    for _ in range(graph.number(1, 2)):
        name = names.pop()
        graph.shapes[name] = _INPUTS[graph.number(0, len(_INPUTS) - 1)]
        graph.inputs.append(name)
    while len(graph.nodes) < length:
        kinds = _RARE if graph.chance(0.05) else _LAYERS
        kinds[graph.number(0, len(kinds) - 1)](graph)
    read = {name for node in graph.nodes for name in node.input}
    made = [name for node in graph.nodes for name in node.output]
    leaving = [name for name in made if name not in read]
    if graph.chance(0.3):
        leaving.append(made[graph.number(0, len(made) - 1)])
    leaving = list(dict.fromkeys(leaving))
    renamed = dict(zip(leaving, names, strict=False)) if graph.chance(0.5) else {}
    for node in graph.nodes:
        for side in (node.input, node.output):
            for place, name in enumerate(side):
                side[place] = renamed.get(name, name)
    outputs = [
        helper.make_tensor_value_info(renamed.get(name, name), TensorProto.FLOAT, graph.shapes[name])
        for name in leaving
    ]
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, graph.shapes[name]) for name in graph.inputs]
    read = {name for node in graph.nodes for name in node.input}
    weights = [tensor for tensor in graph.weights if tensor.name in read]
    whole = helper.make_graph(graph.nodes, f"random{seed}", inputs, outputs, weights)
    model = helper.make_model(whole, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)
    onnx.checker.check_model(model, full_check=True)
    return model
