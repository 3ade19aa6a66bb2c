"""Puts our own kernels in the place of ONNX Runtime's operators on blocks, in a model that ONNX Runtime has optimised.

It knows how both are written; what they compute is the engine's business and the native library's.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import onnx

from intarsia.backends.contract import EVERY_NODE
from intarsia.backends.onnxruntime.blocks.affine import POINTWISE_AFFINE, join_affine, take_in, takers
from intarsia.backends.onnxruntime.blocks.blocked_nodes import AFFINE
from intarsia.backends.onnxruntime.blocks.expansion import OPERATOR as EXPANSION
from intarsia.backends.onnxruntime.blocks.expansion import join_expansions
from intarsia.backends.onnxruntime.blocks.layouts import keep_in_blocks
from intarsia.backends.onnxruntime.blocks.pad_folding import fold_pads
from intarsia.backends.onnxruntime.blocks.sums import join_sums
from intarsia.backends.onnxruntime.cubic_resize import OPERATOR as RESIZE
from intarsia.backends.onnxruntime.cubic_resize import replace_cubic
from intarsia.backends.onnxruntime.few_rows.product_endings import join_product_endings
from intarsia.backends.onnxruntime.kernels import HOST as HOST_KERNEL
from intarsia.backends.onnxruntime.kernels import OURS, TRANSPOSED, Convolution, Kernel, described, kernel_of, tile_of
from intarsia.backends.onnxruntime.kernels.finish import Finish, finish_of, limits_of
from intarsia.backends.onnxruntime.kernels.kernel import WHOLE_BITS
from intarsia.backends.onnxruntime.saved_model import BLOCKED, attributes_of, constant_of, parsed
from intarsia.graph.engine_names import engine_names, node_of
from intarsia.graph.export import serialise
from intarsia.graph.placeholder_ops import DOMAIN, OP_TYPE

if TYPE_CHECKING:
    from intarsia.graph import SubModel

HOST = (BLOCKED, "Conv")
"""Domain and type of the convolution that is replaced where ONNX Runtime has blocks."""
_PLAIN_HOSTS = {("", "Conv"), ("com.microsoft", "FusedConv"), ("", TRANSPOSED)}
"""Of those that are replaced where it has none."""
_WEIGHTS, _BIAS, _SUM = 1, 2, 3
_ALL = sys.maxsize
_APART = {"Sigmoid", "Tanh"}
"""Activations that ONNX Runtime fuses, and that compute in blocks by themselves as well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Substituted:
    """A model after the substitution.

    Attributes:
        content: The model.
        kernels: For each node that is ours now its name or that of its value, and the operator that computes it.
    """

    content: bytes
    kernels: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Original:
    """What is known of the model that ONNX Runtime was given.

    Attributes:
        shapes: Of its values in float32, where all sizes are known.
        nodes: The ids of its nodes by the names that ONNX Runtime may give to what it makes of them.
        kernels: By the id of a node the kernel that is asked for; by `EVERY_NODE` that for the others.
        bits: Of the numbers that kernels multiply which can do so in fewer than `WHOLE_BITS`.
    """

    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    nodes: Mapping[str, str] = field(default_factory=dict)
    kernels: Mapping[str, str] = field(default_factory=dict)
    bits: int = WHOLE_BITS

    def way(self, name: str) -> str:
        """The kernel for what has such a name in the optimised model; empty for the usual one."""
        return self.kernels.get(node_of(name, self.nodes) or "", self.kernels.get(EVERY_NODE, ""))


UNKNOWN: Final = Original()


def original_of(model: SubModel, kernels: Mapping[str, str], bits: int = WHOLE_BITS) -> Original:
    """What is known of a model, with the kernels that are asked for by the ids of its nodes."""
    shapes = {name: value.shape for name, value in model.graph.values.items() if value.dtype == "float32"}
    known = {name: shape for name, shape in shapes.items() if shape and all(isinstance(size, int) for size in shape)}
    return Original(shapes=known, nodes=engine_names(model.nodes) if kernels else {}, kernels=kernels, bits=bits)


def substitute(content: bytes, block: int, original: Original = UNKNOWN) -> Substituted:
    """Replace what kernels of ours compute in a model as ONNX Runtime saves its optimised graph.

    Args:
        content: The model.
        block: Channels of a block.
        original: What it was made of.

    Raises:
        ModelError: The file is not ONNX.
    """
    model = parsed(content)
    fold_pads(model.graph)
    floats = (each for each in model.graph.initializer if each.data_type == onnx.TensorProto.FLOAT)
    constants = {tensor.name: tuple(tensor.dims) for tensor in floats}
    used = _used_channels(model.graph)
    ours = [
        (_layer(node), node.op_type) for node in model.graph.node if node.domain == DOMAIN and node.op_type != OP_TYPE
    ]
    able: dict[str, _Replacement] = {}
    for node in list(model.graph.node):
        way = original.way(_layer(node))
        found = None if way == HOST_KERNEL else _replacement(node, constants, used, block, original.bits)
        is_short = original.bits < WHOLE_BITS and found is not None and found.kernel.has_short
        if found is not None and not found.kernel.is_usual and way != OURS and not is_short:
            able[node.output[0]] = found
        elif found is not None:
            ours.append((_layer(node), found.kernel.operator))
            _replace(node, found, model.graph, tile_of(way) if way in found.kernel.ways else 0, original.bits)
            if found.then:
                _set_apart(node, found.then, model.graph)
        elif way != HOST_KERNEL and _scales(node, constants, block):
            _make_affine(node)
            ours.append((_layer(node), AFFINE))
        elif way != HOST_KERNEL and replace_cubic(node, model.graph, original.shapes):
            ours.append((_layer(node), RESIZE))
    free = join_expansions(model.graph, constants, block, lambda node: original.way(_layer(node)) != HOST_KERNEL)
    ours += [(name, EXPANSION) for name in free]
    plain = {node.output[0] for node in model.graph.node if original.way(_layer(node)) == HOST_KERNEL}
    ours += keep_in_blocks(model.graph, block, original.shapes, plain)
    join_sums(model.graph)
    join_product_endings(model.graph, original.shapes)
    join_affine(model.graph)
    for node in takers(model.graph, able):
        ours.append((_layer(node), POINTWISE_AFFINE))
        _replace(node, able[node.output[0]], model.graph)
    take_in(model.graph)
    if ours and all(each.domain != DOMAIN for each in model.opset_import):
        model.opset_import.add(domain=DOMAIN, version=1)
    return Substituted(content=serialise(model), kernels=tuple(ours))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Replacement:
    """The kernel for a convolution, how many channels its result has, what becomes of its results, and the activation
    that an operator of its own computes behind it.
    """

    kernel: Kernel
    convolution: Convolution
    channels_out: int
    finish: Finish
    then: str


def _used_channels(graph: onnx.GraphProto) -> dict[str, int]:
    """How many channels count of values in blocks that are only unpacked: the last block may not be full."""
    counts: dict[str, set[int]] = defaultdict(set)
    for node in graph.node:
        unpacks = (node.domain, node.op_type) == (BLOCKED, "ReorderOutput")
        for name in node.input:
            counts[name].add(attributes_of(node)["channels"] if unpacks else _ALL)
    return {name: max(found) for name, found in counts.items() if _ALL not in found}


def _replacement(
    node: onnx.NodeProto, constants: Mapping[str, tuple[int, ...]], used: Mapping[str, int], block: int, bits: int
) -> _Replacement | None:
    """What takes a node's place, or ``None`` if nothing of ours can."""
    host = (node.domain, node.op_type)
    if host != HOST and host not in _PLAIN_HOSTS:
        return None
    attributes = attributes_of(node)
    weights = constants.get(node.input[_WEIGHTS], ())
    channels_out = min(used.get(node.output[0], _ALL), weights[0]) if weights else 0
    is_transposed = node.op_type == TRANSPOSED
    convolution = described((channels_out, *weights[1:]), attributes, is_transposed=is_transposed)
    then = attributes["activation"] if attributes.get("activation") in _APART else ""
    finish = Finish() if then else finish_of(attributes)
    if convolution is None or finish is None:
        return None
    kernel = kernel_of(convolution, block)
    if kernel is None or (kernel.only_short and bits == WHOLE_BITS) or bool(kernel.packs) != (host in _PLAIN_HOSTS):
        return None
    outs = convolution.channels[1] if is_transposed else weights[0]
    if _has(node, _BIAS) and constants.get(node.input[_BIAS]) != (outs,):
        return None
    return _Replacement(kernel=kernel, convolution=convolution, channels_out=outs, finish=finish, then=then)


def _replace(
    node: onnx.NodeProto, found: _Replacement, graph: onnx.GraphProto, tile: int = 0, bits: int = WHOLE_BITS
) -> None:
    convolution = found.convolution
    node.domain, node.op_type = DOMAIN, found.kernel.operator
    del node.attribute[:]
    finish = found.finish
    stated = {"low": finish.low, "high": finish.high, "pads": convolution.pads, "group": convolution.groups}
    stated |= {"slope": finish.slope} if finish.slope != 1 else {}
    stated |= {"tile": tile} if tile else {}
    stated |= {"bits": bits} if bits < WHOLE_BITS and found.kernel.has_short else {}
    steps = {"strides": (convolution.strides, 1), "dilations": (convolution.dilations, 1)}
    steps["output_padding"] = (convolution.extra, 0)
    stated |= {name: each for name, (each, usual) in steps.items() if set(each) - {usual}}
    node.attribute.extend(onnx.helper.make_attribute(name, value) for name, value in stated.items())
    if _has(node, _SUM) and not _has(node, _BIAS):
        # ONNX Runtime's shape inference for custom operators reads the type of every input up to the last one.
        node.input[_BIAS] = constant_of(graph, 0.0, found.channels_out)


def _set_apart(node: onnx.NodeProto, activation: str, graph: onnx.GraphProto) -> None:
    """Let an operator of ONNX Runtime's compute what was fused in the convolution."""
    name = node.output[0]
    node.output[0] = f"{name}/sums"
    behind = next(at for at, each in enumerate(graph.node) if each.output[0] == node.output[0]) + 1
    graph.node.insert(
        behind, onnx.helper.make_node(activation, [node.output[0]], [name], name=f"{node.name}/{activation}")
    )


def _scales(node: onnx.NodeProto, constants: Mapping[str, tuple[int, ...]], block: int) -> bool:
    """Whether a convolution only multiplies each channel and shifts it: so ONNX Runtime writes a normalisation."""
    attributes = attributes_of(node)
    if (node.domain, node.op_type) != HOST or _has(node, _SUM):
        return False
    channels, *rest = constants.get(node.input[_WEIGHTS], (0,))
    steps, pads = set(attributes.get("strides") or (1,)), attributes.get("pads") or (0,)
    is_alone = rest == [1, 1, 1] and attributes.get("group", 1) == channels and steps == {1} and not any(pads)
    has_constants = not _has(node, _BIAS) or constants.get(node.input[_BIAS]) == (channels,)
    return is_alone and has_constants and channels % block == 0 and limits_of(attributes) is not None


def _make_affine(node: onnx.NodeProto) -> None:
    finish = limits_of(attributes_of(node)) or Finish()
    x, weights, bias = (*node.input, "")[:3]
    node.domain, node.op_type = DOMAIN, AFFINE
    node.input[:] = [x, weights, bias]
    del node.attribute[:]
    node.attribute.extend(
        onnx.helper.make_attribute(name, value) for name, value in (("low", finish.low), ("high", finish.high))
    )


def _layer(node: onnx.NodeProto) -> str:
    """What the model calls a convolution, or else the value that it gives: ONNX Runtime adds to the name."""
    return node.name.removesuffix("_nchwc") or node.output[0]


def _has(node: onnx.NodeProto, position: int) -> bool:
    return len(node.input) > position and node.input[position] != ""
