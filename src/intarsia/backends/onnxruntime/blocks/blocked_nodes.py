"""What computes the same on blocks of channels as a node does on plain values, where something does."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import onnx

from intarsia.backends.onnxruntime.blocks.padding import padding_of
from intarsia.backends.onnxruntime.kernels import PACKING
from intarsia.backends.onnxruntime.saved_model import BLOCKED, attributes_of
from intarsia.graph.placeholder_ops import DOMAIN

NORMALISATION, AFFINE = "BlockedInstanceNormalization", "BlockedAffine"
HOLDING = frozenset({NORMALISATION, AFFINE})
"""Operators of ours with the attributes ``low`` and ``high``, between which they hold what comes out."""
UNHELD: Mapping[str, float] = MappingProxyType({"low": -math.inf, "high": math.inf})
OURS = frozenset(
    {AFFINE, "BlockedLRN", "BlockedPad", "BlockedPRelu", "BlockedScale", "BlockedDepthToSpace", "Elu", NORMALISATION}
)
"""Operators of ours that do more than to keep values in blocks."""
_SUM = 3
_SCALES, _SIZES = 2, 3
_PICTURE = 4
_EDGES = {"constant": 0, "reflect": 1, "edge": 2}
"""Our operator's numbers of ONNX's modes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What is known of the graph around a node.

    Attributes:
        constants: Its initializers.
        shapes: Of the values whose sizes are known.
        rank: How many dimensions the values in blocks have that it reads; 0 if it reads none.
        channels: Of the first value that it reads; 0 if that is unknown.
        block: Channels of a block.
    """

    constants: Mapping[str, onnx.TensorProto]
    shapes: Mapping[str, tuple[int, ...]]
    rank: int
    channels: int
    block: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockedForm:
    """A node on blocks.

    Attributes:
        op_type: Its operator.
        domain: Of that; empty for the node's own.
        attributes: Its attributes; ``None`` if they stay as they are.
        reads: Positions of the inputs that must be in blocks; the others are read as they are.
        packs: How many dimensions its inputs have, where it computes in blocks though it is the first to want them so.
        channels: Of what it gives; 0 if that has as many as what it reads.
        order: Which of the node's inputs it has, in its own order, and ``None`` where it lacks one; all as they are if
            left out.
    """

    op_type: str
    domain: str = ""
    attributes: Mapping[str, Any] | None = None
    reads: tuple[int, ...] = (0,)
    packs: int = 0
    channels: int = 0
    order: tuple[int | None, ...] | None = None


def blocked_form(node: onnx.NodeProto, around: Surroundings) -> BlockedForm | None:
    """The form of a node on blocks; ``None`` if it has none."""
    kernel = PACKING.get(node.op_type) if node.domain == DOMAIN else None
    if kernel is not None:
        wanted = (_SUM,) if kernel.reads_plain else (0, _SUM)
        reads = tuple(at for at in wanted if at < len(node.input) and node.input[at])
        return BlockedForm(op_type=node.op_type, domain=DOMAIN, reads=reads, packs=kernel.packs)
    form = _FORMS.get((node.domain.removeprefix("ai.onnx"), node.op_type))
    return form(node, around) if form is not None and len(node.output) == 1 else None


def _same(node: onnx.NodeProto, around: Surroundings) -> BlockedForm | None:
    """An operator that does not care in which order numbers lie."""
    others_are_numbers = all(not name or _is_number(around.constants.get(name)) for name in node.input[1:])
    return BlockedForm(op_type=node.op_type) if others_are_numbers else None


def _is_number(tensor: onnx.TensorProto | None) -> bool:
    return tensor is not None and math.prod(tensor.dims) == 1


def _alike(node: onnx.NodeProto, around: Surroundings) -> BlockedForm | None:
    """One that takes two values number by number: spread over sizes, they would meet in another order."""
    single = [at for at in (0, 1) if _is_number(around.constants.get(node.input[at]))]
    if single:
        return BlockedForm(op_type=node.op_type, reads=(1 - single[-1],))
    one, other = (around.shapes.get(name) for name in node.input)
    if node.input[0] != node.input[1] and (one is None or one != other):
        return None
    return BlockedForm(op_type=node.op_type, reads=(0, 1))


def _added(node: onnx.NodeProto, around: Surroundings) -> BlockedForm | None:
    """A sum number by number, or of a constant for each channel."""
    for value, shift in ((0, 1), (1, 0)):
        sizes, constant = around.shapes.get(node.input[value], ()), around.constants.get(node.input[shift])
        dims = tuple(constant.dims) if constant is not None else ()
        if _are_of_channels(dims, sizes):
            order = (value, None, shift)
            return BlockedForm(op_type=AFFINE, domain=DOMAIN, attributes=UNHELD, reads=(value,), order=order)
    return _alike(node, around)


def _are_of_channels(dims: tuple[int, ...], sizes: tuple[int, ...]) -> bool:
    """Whether a constant of this shape has a number for each channel of a value of these sizes."""
    alone = (1,) * (len(sizes) - 2)
    return len(sizes) > 2 and sizes[1] > 1 and dims in ((sizes[1], *alone), (1, sizes[1], *alone))


def _averaged(node: onnx.NodeProto, around: Surroundings) -> BlockedForm | None:
    """A mean over both sizes of a picture, which ONNX Runtime has an operator on blocks for."""
    axes = around.constants.get(node.input[1]) if len(node.input) > 1 else None
    stated = attributes_of(node)
    if axes is not None and axes.data_location != onnx.TensorProto.EXTERNAL:
        stated["axes"] = onnx.numpy_helper.to_array(axes).reshape(-1).tolist()
    over = sorted(axis % _PICTURE for axis in stated.get("axes", ()))
    if around.rank != _PICTURE or over != [2, 3] or not stated.get("keepdims", 1):
        return None
    return BlockedForm(op_type="GlobalAveragePool", domain=BLOCKED, attributes={}, order=(0,))


def _multiplied(node: onnx.NodeProto, around: Surroundings) -> BlockedForm | None:
    """A product number by number, or by one factor for each channel, as squeeze-and-excite has it."""
    for value, factor in ((0, 1), (1, 0)):
        sizes, constant = around.shapes.get(node.input[value], ()), around.constants.get(node.input[factor])
        if constant is not None and _are_of_channels(tuple(constant.dims), sizes):
            order = (value, factor, None)
            return BlockedForm(op_type=AFFINE, domain=DOMAIN, attributes=UNHELD, reads=(value,), order=order)
    for value, factor in ((0, 1), (1, 0)):
        sizes, factors = (around.shapes.get(node.input[at], ()) for at in (value, factor))
        if len(sizes) == len(factors) > 2 and sizes[:2] == factors[:2] and max(factors[2:]) == 1 < max(sizes[2:]):
            return BlockedForm(
                op_type="BlockedScale", domain=DOMAIN, attributes={}, reads=(value,), order=(value, factor)
            )
    return _alike(node, around)


def _prelu(node: onnx.NodeProto, around: Surroundings) -> BlockedForm | None:
    """One slope for each channel, or for all of them."""
    slopes, sizes = around.constants.get(node.input[1]), around.shapes.get(node.input[0], ())
    if slopes is not None and _is_number(slopes) and slopes.data_location != onnx.TensorProto.EXTERNAL:
        alpha = float(onnx.numpy_helper.to_array(slopes).item())
        return BlockedForm(op_type="LeakyRelu", attributes={"alpha": alpha}, order=(0,))
    if slopes is None or not _are_of_channels(tuple(slopes.dims), sizes):
        return None
    return BlockedForm(op_type="BlockedPRelu", domain=DOMAIN, attributes={})


def _joined(node: onnx.NodeProto, around: Surroundings) -> BlockedForm | None:
    if attributes_of(node)["axis"] != 1:
        return None
    return BlockedForm(op_type=node.op_type, reads=tuple(range(len(node.input))))


def _local_response(node: onnx.NodeProto, around: Surroundings) -> BlockedForm:
    stated = {"alpha": 1e-4, "beta": 0.75, "bias": 1.0, **attributes_of(node)}
    return BlockedForm(op_type="BlockedLRN", domain=DOMAIN, attributes=stated)


def _instance_normalisation(node: onnx.NodeProto, around: Surroundings) -> BlockedForm:
    stated = {"epsilon": 1e-5, **attributes_of(node), **UNHELD}
    return BlockedForm(op_type=NORMALISATION, domain=DOMAIN, attributes=stated)


def _padded(node: onnx.NodeProto, around: Surroundings) -> BlockedForm | None:
    found = padding_of(node, around.constants, around.rank) if around.rank else None
    if found is None or found.mode not in _EDGES:
        return None
    stated = {"pads": (*found.before, *found.after), "edge": _EDGES[found.mode], "value": found.value}
    return BlockedForm(op_type="BlockedPad", domain=DOMAIN, attributes=stated, order=(0,))


def _pooled(node: onnx.NodeProto, around: Surroundings) -> BlockedForm | None:
    """Our pooling takes the largest value, in windows whose number is rounded down."""
    stated = attributes_of(node)
    window = stated["kernel_shape"]
    mode = stated.get("auto_pad", "NOTSET")
    is_ours = not stated.get("ceil_mode", 0) and set(stated.get("dilations") or (1,)) == {1}
    if not is_ours or mode not in {"NOTSET", "VALID"}:
        return None
    pads = stated.get("pads") if mode == "NOTSET" else None
    strides = stated.get("strides") or (1,) * len(window)
    own = {"kernel_shape": window, "strides": strides, "pads": pads or (0,) * 2 * len(window)}
    return BlockedForm(op_type="BlockedMaxPool", domain=DOMAIN, attributes=own)


def _resized(node: onnx.NodeProto, around: Surroundings) -> BlockedForm | None:
    """ONNX Runtime's own upsampling in blocks repeats each pixel a whole number of times."""
    stated = {"mode": "nearest", "nearest_mode": "", "coordinate_transformation_mode": "", **attributes_of(node)}
    names = [*node.input, "", ""][:_SIZES]
    scales = around.constants.get(names[_SCALES])
    how = (stated["mode"], stated["nearest_mode"], stated["coordinate_transformation_mode"])
    if around.rank != _PICTURE or how != ("nearest", "floor", "asymmetric") or scales is None or "axes" in stated:
        return None
    repeats = [float(each) for each in onnx.numpy_helper.to_array(scales).reshape(-1)]
    if len(repeats) != _PICTURE or repeats[:2] != [1, 1] or not all(each.is_integer() and each > 0 for each in repeats):
        return None
    attributes = {"scales": [int(each) for each in repeats], "mode": "nearest"}
    return BlockedForm(op_type="Upsample", domain=BLOCKED, attributes=attributes, order=(0,))


def _shuffled(node: onnx.NodeProto, around: Surroundings) -> BlockedForm | None:
    """Channels that move into the picture, where whole blocks are left."""
    stated = {"mode": "DCR", **attributes_of(node)}
    channels = around.channels // stated["blocksize"] ** 2
    if around.rank != _PICTURE or channels == 0 or channels % around.block:
        return None
    own = {"blocksize": stated["blocksize"], "result_first": int(stated["mode"] == "CRD")}
    return BlockedForm(op_type="BlockedDepthToSpace", domain=DOMAIN, attributes=own, channels=channels)


def _exponential(node: onnx.NodeProto, around: Surroundings) -> BlockedForm:
    return BlockedForm(op_type="Elu", domain=DOMAIN, attributes={"alpha": 1.0, **attributes_of(node)})


_ALONE = ("Relu", "Sigmoid", "Tanh", "LeakyRelu", "Clip", "HardSigmoid", "HardSwish")
_FORMS: Mapping[tuple[str, str], Callable[[onnx.NodeProto, Surroundings], BlockedForm | None]] = MappingProxyType(
    {
        **{("", name): _same for name in _ALONE},
        ("com.microsoft", "QuickGelu"): _same,
        ("", "Add"): _added,
        ("", "DepthToSpace"): _shuffled,
        ("", "Div"): _alike,
        ("", "Elu"): _exponential,
        ("", "Sub"): _alike,
        ("", "Mul"): _multiplied,
        ("", "PRelu"): _prelu,
        ("", "Concat"): _joined,
        ("", "InstanceNormalization"): _instance_normalisation,
        ("", "LRN"): _local_response,
        ("", "MaxPool"): _pooled,
        ("", "Pad"): _padded,
        ("", "ReduceMean"): _averaged,
        ("", "Resize"): _resized,
    }
)
"""By domain and type."""


def rewritten(node: onnx.NodeProto, form: BlockedForm, inputs: Sequence[str], output: str) -> onnx.NodeProto:
    """The node in a form, with these inputs and this output."""
    names = list(inputs) if form.order is None else ["" if at is None else inputs[at] for at in form.order]
    made = onnx.helper.make_node(form.op_type, names, [output], name=node.name, domain=form.domain or node.domain)
    if form.attributes is None:
        made.attribute.extend(node.attribute)
    else:
        made.attribute.extend(onnx.helper.make_attribute(name, value) for name, value in form.attributes.items())
    return made
