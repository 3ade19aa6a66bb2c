"""Operators that move numbers without changing them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from intarsia.backends.ncnn.lowering.builder import MAX_RANK, Builder, blob_shape, drops_batch
from intarsia.backends.ncnn.lowering.layer import Refused, Shape

if TYPE_CHECKING:
    from intarsia.graph import Node

_PERMUTATIONS: Mapping[int, str] = {
    2: "wh hw",
    3: "whc hwc wch cwh hcw chw",
    4: "whdc hwdc wdhc dwhc hdwc dhwc whcd hwcd wchd cwhd hcwd chwd "
    "wdch dwch wcdh cwdh dcwh cdwh hdcw dhcw hcdw chdw dchw cdhw",
}
"""ncnn's numbering of axis orders by rank: the input axes that width, height, ... of the output are taken from."""
_AXES: Mapping[int, str] = {2: "hw", 3: "chw", 4: "cdhw"}
_PAD_TYPES: Mapping[str, int] = {"constant": 0, "edge": 1, "reflect": 2}
_REST = -233
"""Stands for "what is left" in a list of sizes."""
_BY_COLUMN, _BY_BLOCK = 0, 1


def same(build: Builder, node: Node) -> None:
    """``Identity``, and ``Dropout`` at inference."""
    if build.has_more_outputs(node):
        raise Refused("ncnn gives no dropout mask")
    if build.optional(node, 2) and build.constant(node.inputs[2]).any():
        raise Refused("dropout is asked to train")
    build.bind(node.outputs[0], build.blob(node.inputs[0]))


def reshape(build: Builder, node: Node) -> None:
    """``Reshape Flatten Squeeze Unsqueeze``: the shape that inference found."""
    build.bind(node.outputs[0], build.blob(node.inputs[0]))


def transpose(build: Builder, node: Node) -> None:
    """``Transpose``, without the dimensions of size 1, which a reshape moves."""
    shape = build.shape(node.inputs[0])
    order = [int(n) for n in node.attributes.get("perm", range(len(shape))[::-1])]
    wide = [axis for axis, n in enumerate(shape) if n != 1]
    moved = tuple(wide.index(axis) for axis in order if axis in wide)
    if moved == tuple(range(len(wide))):
        build.bind(node.outputs[0], build.blob(node.inputs[0]))
        return
    if len(wide) > MAX_RANK:
        raise Refused(f"ncnn reorders at most {MAX_RANK} axes, not {len(wide)}")
    source = build.blob(node.inputs[0], tuple(shape[axis] for axis in wide))
    result = tuple(build.shapes[source][axis] for axis in moved)
    build.bind(node.outputs[0], build.emit("Permute", (source,), result, {0: _order_type(moved)}))


def concat(build: Builder, node: Node) -> None:
    """``Concat`` along any axis but the batch."""
    output = node.outputs[0]
    axis = build.axis(output, int(node.attributes["axis"]))
    if drops_batch(build.shape(output)) != drops_batch(build.shape(node.inputs[0])):
        raise Refused("ncnn has no batch axis to work on")
    blobs = [build.blob(name) for name in node.inputs]
    shape = blob_shape(build.shape(output))
    build.bind(output, blobs[0] if len(blobs) == 1 else build.emit("Concat", blobs, shape, {0: axis}))


def split(build: Builder, node: Node) -> None:
    """``Split`` into parts whose sizes are those of the outputs."""
    x = node.inputs[0]
    stated = int(node.attributes.get("axis", 0))
    axis = build.axis(x, stated)
    sizes = [build.shape(name)[stated] for name in node.outputs]
    if sum(sizes) != build.shape(x)[stated]:
        raise Refused("some part is left out")
    if len(sizes) == 1:
        build.bind(node.outputs[0], build.blob(x))
        return
    blob = build.blob(x)
    whole = build.shapes[blob]
    shapes = [(*whole[:axis], size, *whole[axis + 1 :]) for size in sizes]
    parts = build.emit_many("Slice", (blob,), shapes, {0: (*sizes[:-1], _REST), 1: axis})
    for name, part in zip(node.outputs, parts, strict=True):
        build.bind(name, part)


def slice_(build: Builder, node: Node) -> None:
    """``Slice`` with constant bounds and steps of one."""
    x = node.inputs[0]
    shape = build.shape(x)
    starts, ends = (build.constant(name).reshape(-1).tolist() for name in node.inputs[1:3])
    axes_name, steps_name = build.optional(node, 3), build.optional(node, 4)
    axes = build.constant(axes_name).reshape(-1).tolist() if axes_name else list(range(len(starts)))
    if steps_name and any(step != 1 for step in build.constant(steps_name).reshape(-1).tolist()):
        raise Refused("ncnn cuts without steps")
    cuts: dict[int, tuple[int, int]] = {}
    for start, end, axis in zip(starts, ends, axes, strict=True):
        where = int(axis) % len(shape)
        first, last, _ = slice(int(start), int(end)).indices(shape[where])
        if (first, last) != (0, shape[where]):
            cuts[build.axis(x, where)] = (first, last)
    blob = build.blob(x)
    if cuts:
        result = list(build.shapes[blob])
        for axis, (first, last) in cuts.items():
            result[axis] = last - first
        order = sorted(cuts)
        params = {9: tuple(cuts[a][0] for a in order), 10: tuple(cuts[a][1] for a in order), 11: tuple(order)}
        if min(result) < 1:
            raise Refused("ncnn has no empty blob")
        blob = build.emit("Crop", (blob,), tuple(result), params)
    build.bind(node.outputs[0], blob)


def pad(build: Builder, node: Node) -> None:
    """``Pad`` of the last two axes of a blob, and of the one before them."""
    x = node.inputs[0]
    blob = build.blob(x)
    shape = build.shapes[blob]
    mode = node.attributes.get("mode", "constant")
    if mode not in _PAD_TYPES:
        raise Refused(f"ncnn does not pad with mode {mode}")
    pads = _pads(build, node)
    if any(n < 0 for pair in pads.values() for n in pair):
        raise Refused("ncnn has no negative pads")
    if any(axis < len(shape) - 3 for axis in pads):
        raise Refused("ncnn pads the last three axes only")
    if mode == "reflect" and any(n >= shape[axis] for axis, pair in pads.items() for n in pair):
        raise Refused("a reflection reaches beyond the image")
    if not pads:
        build.bind(node.outputs[0], blob)
        return
    (front, behind), (top, bottom), (left, right) = (pads.get(len(shape) - n, (0, 0)) for n in (3, 2, 1))
    value = build.optional(node, 2)
    params = {
        0: top,
        1: bottom,
        2: left,
        3: right,
        4: _PAD_TYPES[mode],
        5: float(build.vector(value, 1)[0]) if value else 0.0,
        7: front,
        8: behind,
    }
    result = tuple(n + sum(pads.get(axis, (0, 0))) for axis, n in enumerate(shape))
    build.bind(node.outputs[0], build.emit("Padding", (blob,), result, params))


def shuffle(build: Builder, node: Node) -> None:
    """``DepthToSpace SpaceToDepth`` in both orders."""
    kind = "PixelShuffle" if node.op_type == "DepthToSpace" else "Reorg"
    if build.shape(node.inputs[0])[0] != 1:
        raise Refused("ncnn has no batch dimension")
    blob = build.blob(node.inputs[0])
    order = _BY_COLUMN if node.attributes.get("mode", "DCR") == "CRD" else _BY_BLOCK
    params = {0: int(node.attributes["blocksize"]), 1: order}
    build.bind(node.outputs[0], build.emit(kind, (blob,), blob_shape(build.shape(node.outputs[0])), params))


def _order_type(moved: Shape) -> int:
    names = _AXES[len(moved)]
    return _PERMUTATIONS[len(moved)].split().index("".join(names[axis] for axis in reversed(moved)))


def _pads(build: Builder, node: Node) -> dict[int, tuple[int, int]]:
    """Pads other than zero, by axis of the blob."""
    x = node.inputs[0]
    amounts = [int(n) for n in build.constant(node.inputs[1]).reshape(-1)]
    name = build.optional(node, 3)
    axes = [int(n) for n in build.constant(name).reshape(-1)] if name else list(range(len(build.shape(x))))
    pairs = zip(axes, amounts[: len(axes)], amounts[len(axes) :], strict=True)
    return {build.axis(x, axis): (begin, end) for axis, begin, end in pairs if (begin, end) != (0, 0)}
