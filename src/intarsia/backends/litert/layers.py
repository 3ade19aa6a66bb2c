"""Convolutions, pools and interpolation in LiteRT's operators, which want channels last and a padding with a name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from intarsia.backends.litert.builder import Laid, ModelBuilder, NoKernelError, plain
from intarsia.backends.litert.elementwise import Writer
from intarsia.backends.litert.shape import WRITERS as MOVES
from intarsia.backends.litert.shape import padded
from intarsia.backends.lowering.program import Instruction
from intarsia.wording import counted

SAME, VALID = 0, 1
"""Values of the schema's ``Padding``."""


def _channels_last(rank: int) -> tuple[int, ...]:
    return (0, *range(2, rank), 1)


def _two(numbers: Sequence[int], fill: int) -> list[int]:
    """What is said of one or two dimensions, as of two."""
    return [*[fill] * (2 - len(numbers)), *numbers]


def _flat_window(attributes: Mapping[str, Any]) -> dict[str, list[int]]:
    fills = {"strides": 1, "dilations": 1, "before": 0, "after": 0, "kernel": 1}
    return {name: _two(attributes[name], fill) for name, fill in fills.items() if name in attributes}


def _as_image(d: ModelBuilder, x: Laid) -> Laid:
    """A value over one dimension as one over two."""
    if x.rank == 4:
        return d.laid(x, _channels_last(4))
    n, c, length = x.shape
    lying = d.laid(x, _channels_last(3))
    return Laid(d.reshaped(lying.tensor, [n, 1, length, c]), x.dtype, (n, c, 1, length), _channels_last(4))


def _from_image(d: ModelBuilder, tensor: int, each: Instruction) -> Laid:
    order = _channels_last(len(each.shape))
    return Laid(d.reshaped(tensor, [each.shape[axis] for axis in order]), each.dtype, each.shape, order)


def _named_padding(
    d: ModelBuilder,
    x: Laid,
    window: Mapping[str, Sequence[int]],
    kernel: Sequence[int],
    out: Sequence[int],
    value: float = 0,
) -> tuple[Laid, int]:
    """The image and how its padding is called; what has no name is put there first."""
    before, after = window["before"], window["after"]
    if not any(before) and not any(after):
        return x, VALID
    same = []
    for axis in range(2):
        size, stride = x.shape[2 + axis], window["strides"][axis]
        total = max(0, (out[axis] - 1) * stride + window["dilations"][axis] * (kernel[axis] - 1) + 1 - size)
        is_whole = out[axis] == -(-size // stride)
        same.append(is_whole and (before[axis], after[axis]) == (total // 2, total - total // 2))
    if all(same):
        return x, SAME
    return padded(d, x, [0, 0, *before], [0, 0, *after], value), VALID


def _conv(d: ModelBuilder, each: Instruction, reads: Sequence[Laid]) -> Laid:
    x, w = reads[:2]
    if x.rank == 5:
        return _conv_3d(d, each, reads)
    if each.dtype != "float32":
        raise NoKernelError(f"convolution of {each.dtype}")
    if not 3 <= x.rank <= 4:
        raise NoKernelError(f"convolution over {counted(x.rank - 2, 'dimension')}")
    window, groups = _flat_window(each.attributes), each.attributes["groups"]
    image, kernel = _as_image(d, x), _as_image(d, w)
    out = _two(each.shape[2:], 1)
    image, padding = _named_padding(d, image, window, kernel.shape[2:], out)
    bias = d.flat(reads[2]) if len(reads) > 2 else d.constant([0] * each.shape[1], each.dtype)
    attributes = {
        "padding": padding,
        "strideH": window["strides"][0],
        "strideW": window["strides"][1],
        "dilationHFactor": window["dilations"][0],
        "dilationWFactor": window["dilations"][1],
    }
    shape = [each.shape[0], *out, each.shape[1]]
    if groups > 1 and groups == x.shape[1]:
        deep = d.laid(kernel, (1, 2, 3, 0)).tensor
        attributes["depthMultiplier"] = each.shape[1] // groups
        found = d.emit("DEPTHWISE_CONV_2D", [image.tensor, deep, bias], each.dtype, shape, **attributes)
    else:
        found = d.emit("CONV_2D", [image.tensor, kernel.tensor, bias], each.dtype, shape, **attributes)
    return _from_image(d, found, each)


def _conv_3d(d: ModelBuilder, each: Instruction, reads: Sequence[Laid]) -> Laid:
    x, w = reads[:2]
    attributes = each.attributes
    if attributes["groups"] != 1:
        raise NoKernelError("convolution over 3 dimensions in groups")
    order = _channels_last(5)
    grown = padded(d, x, [0, 0, *attributes["before"]], [0, 0, *attributes["after"]])
    bias = d.flat(reads[2]) if len(reads) > 2 else d.constant([0] * each.shape[1], each.dtype)
    options = {"padding": VALID}
    for place, letter in enumerate("DHW"):
        options[f"stride{letter}"] = attributes["strides"][place]
        options[f"dilation{letter}Factor"] = attributes["dilations"][place]
    tensors = [d.laid(grown, order).tensor, d.laid(w, (2, 3, 4, 1, 0)).tensor, bias]
    return d.give("CONV_3D", tensors, each.dtype, each.shape, order, **options)


def _conv_transpose(d: ModelBuilder, each: Instruction, reads: Sequence[Laid]) -> Laid:
    """All that comes of it, then less where something is cut off, and more where a cut is negative."""
    x, w = reads
    rank, attributes = x.rank, each.attributes
    if not 3 <= rank <= 5 or each.dtype != "float32":
        raise NoKernelError(f"transposed convolution of {each.dtype} over {counted(rank - 2, 'dimension')}")
    if attributes["groups"] != 1 or any(apart != 1 for apart in attributes["dilations"]):
        return _by_convolution(d, each, reads)
    strides = [*[1] * (4 - rank), *attributes["strides"]]
    options = {f"stride{letter}": stride for letter, stride in zip("DHW"[3 - len(strides) :], strides, strict=True)}
    options["padding"] = VALID
    if rank == 5:
        volume, kernel, name = d.laid(x, _channels_last(5)), d.laid(w, (2, 3, 4, 1, 0)), "CONV_3D_TRANSPOSE"
    else:
        volume, kernel, name = _as_image(d, x), _as_image(d, w), "TRANSPOSE_CONV"
        kernel = d.laid(kernel, (1, 2, 3, 0))
    spatial = zip(volume.shape[2:], strides, kernel.shape[2:], strict=True)
    stored = [x.shape[0], *((size - 1) * stride + reach for size, stride, reach in spatial), w.shape[1]]
    found = d.emit(name, [d.constant(stored), kernel.tensor, volume.tensor], each.dtype, stored, **options)
    cuts = [[0, *[0] * (4 - rank), *attributes[side], 0] for side in ("before", "after")]
    whole = Laid(found, each.dtype, tuple(stored), plain(len(stored)))
    return _from_image(d, _cut(d, whole, *cuts).tensor, each)


def _by_convolution(d: ModelBuilder, each: Instruction, reads: Sequence[Laid]) -> Laid:
    """The convolution of an image with zeros between its pixels, by the kernel turned round."""
    x, w = reads
    if x.rank == 5:
        raise NoKernelError("transposed convolution over 3 dimensions in groups or with dilations")
    window, groups = _flat_window(each.attributes), each.attributes["groups"]
    image, kernel = _spread(d, _as_image(d, x), window["strides"]), _as_image(d, w)
    inputs, outputs, *sizes = kernel.shape
    parted = _moved(d, "reshape", kernel, (groups, inputs // groups, outputs, *sizes))
    swapped = _moved(d, "transpose", parted, (groups, outputs, inputs // groups, *sizes), order=(0, 2, 1, 3, 4))
    joined = _moved(d, "reshape", swapped, (groups * outputs, inputs // groups, *sizes))
    ends = {"starts": [0, 0, *(size - 1 for size in sizes)], "stops": [*joined.shape[:2], -1, -1]}
    turned = _moved(d, "slice", joined, joined.shape, steps=[1, 1, -1, -1], **ends)
    reach = [apart * (size - 1) for apart, size in zip(window["dilations"], sizes, strict=True)]
    before = [cut - far for cut, far in zip(window["before"], reach, strict=True)]
    # The last pixels have zeros behind them too.
    rows = zip(window["after"], reach, window["strides"], strict=True)
    after = [cut - far + stride - 1 for cut, far, stride in rows]
    grown = _cut(d, image, [0, 0, *before], [0, 0, *after])
    shape = (each.shape[0], each.shape[1], *_two(each.shape[2:], 1))
    attributes = {
        "strides": [1, 1],
        "dilations": window["dilations"],
        "before": [0, 0],
        "after": [0, 0],
        "groups": groups,
    }
    found = _conv(d, Instruction("conv", (), attributes, each.dtype, shape), [grown, turned])
    return _from_image(d, found.tensor, each)


def _moved(d: ModelBuilder, name: str, x: Laid, shape: tuple[int, ...], **attributes: Any) -> Laid:
    return MOVES[name](d, Instruction(name, (), attributes, x.dtype, shape), [x])


def _spread(d: ModelBuilder, image: Laid, strides: Sequence[int]) -> Laid:
    """An image with rows and columns of zeros behind each of its own."""
    n, c, *sizes = image.shape
    for axis, stride in enumerate(strides):
        shape = (n, c, *sizes[: axis + 1], 1, *sizes[axis + 1 :])
        room = [stride - 1 if place == axis + 3 else 0 for place in range(5)]
        apart = padded(d, _moved(d, "reshape", image, shape), [0] * 5, room)
        sizes[axis] *= stride
        image = _moved(d, "reshape", apart, (n, c, *sizes))
    return d.laid(image, _channels_last(4))


def _cut(d: ModelBuilder, x: Laid, before: Sequence[int], after: Sequence[int]) -> Laid:
    """A value less some elements at both ends of each dimension, or with more where the number is negative."""
    starts = [max(0, cut) for cut in before]
    stops = [size - max(0, cut) for size, cut in zip(x.shape, after, strict=True)]
    shape = tuple(stop - start for start, stop in zip(starts, stops, strict=True))
    if shape != x.shape:
        x = _moved(d, "slice", x, shape, starts=starts, stops=stops, steps=[1] * x.rank)
    return padded(d, x, [max(0, -cut) for cut in before], [max(0, -cut) for cut in after])


def _pool_max(d: ModelBuilder, each: Instruction, reads: Sequence[Laid]) -> Laid:
    lowest = {"uint8": 0, "int8": -(2**7), "int16": -(2**15)}.get(each.dtype, float("-inf"))
    return _pool(d, each, reads[0], "MAX_POOL_2D", lowest)


def _pool_sum(d: ModelBuilder, each: Instruction, reads: Sequence[Laid]) -> Laid:
    """From means: those of LiteRT count what is there, so that the padding is put there first."""
    kernel = each.attributes["kernel"]
    return d.compute("MUL", _pool(d, each, reads[0], "AVERAGE_POOL_2D", 0), float(prod(kernel)))


def _pool(d: ModelBuilder, each: Instruction, x: Laid, name: str, fill: float) -> Laid:
    if not 3 <= x.rank <= 5:
        raise NoKernelError(f"pool over {counted(x.rank - 2, 'dimension')}")
    if any(apart != 1 for apart in each.attributes["dilations"]):
        raise NoKernelError("pool with dilations")
    if x.rank == 5:
        return _pool_3d(d, each, x, name, fill)
    image = _pool_image(d, _as_image(d, x), _flat_window(each.attributes), _two(each.shape[2:], 1), name, fill)
    return _from_image(d, image.tensor, each)


def _pool_image(
    d: ModelBuilder, image: Laid, window: Mapping[str, Sequence[int]], out: Sequence[int], name: str, fill: float
) -> Laid:
    if name == "MAX_POOL_2D":
        image, padding = _named_padding(d, image, window, window["kernel"], out, fill)
    else:
        image, padding = padded(d, image, [0, 0, *window["before"]], [0, 0, *window["after"]], fill), VALID
    attributes = {
        "padding": padding,
        "strideH": window["strides"][0],
        "strideW": window["strides"][1],
        "filterHeight": window["kernel"][0],
        "filterWidth": window["kernel"][1],
    }
    return d.give(name, [image.tensor], image.dtype, (*image.shape[:2], *out), image.order, **attributes)


def _pool_3d(d: ModelBuilder, each: Instruction, x: Laid, name: str, fill: float) -> Laid:
    """Over the last two dimensions of each slice, then over the slices."""
    n, c, slices, *size = x.shape
    depth, *out = each.shape[2:]
    windows = [
        {key: attributes[part] for key, attributes in each.attributes.items()} for part in (slice(1), slice(1, None))
    ]
    lying = d.reshaped(d.laid(x, _channels_last(5)).tensor, [n * slices, *size, c])
    image = Laid(lying, x.dtype, (n * slices, c, *size), _channels_last(4))
    flat = _pool_image(d, image, windows[1], out, name, fill)
    row = prod(out) * c
    rows = Laid(d.reshaped(flat.tensor, [n, 1, slices, row]), x.dtype, (n, row, 1, slices), image.order)
    return _from_image(d, _pool_image(d, rows, _flat_window(windows[0]), [1, depth], name, fill).tensor, each)


def _resize_linear(d: ModelBuilder, each: Instruction, reads: Sequence[Laid]) -> Laid:
    image, coordinates = _as_image(d, reads[0]), each.attributes["coordinates"]
    return d.give(
        "RESIZE_BILINEAR",
        [image.tensor, d.constant(each.shape[2:])],
        each.dtype,
        each.shape,
        image.order,
        alignCorners=coordinates == "align_corners",
        halfPixelCenters=coordinates.endswith("half_pixel"),
    )


WRITERS: Mapping[str, Writer] = {
    "conv": _conv,
    "conv_transpose": _conv_transpose,
    "pool_max": _pool_max,
    "pool_sum": _pool_sum,
    "resize_linear": _resize_linear,
}
