"""Convolutions and transposed convolutions over one or two dimensions."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from intarsia.backends.ncnn.lowering.builder import Builder
from intarsia.backends.ncnn.lowering.layer import Block, Parameter, Refused, Shape
from intarsia.backends.ncnn.lowering.window import Window, convolution_window, halved, spatial

if TYPE_CHECKING:
    from intarsia.graph import Node


def conv(build: Builder, node: Node) -> None:
    """``Conv``: ncnn keeps weights in ONNX's order."""
    x, weight = node.inputs[0], node.inputs[1]
    size = spatial(build, x, (1, 2))
    window = convolution_window(node, build.shape(weight)[2:], size)
    output = build.shape(node.outputs[0])
    if window.output(size) != output[2:]:
        raise Refused(f"the pads do not lead from {size} to {output[2:]}")
    group = int(node.attributes.get("group", 1))
    params = _params(build, node, window, output[1], group)
    params[18] = 0.0
    blocks = _blocks(build, node, replace(build.weight(weight), tagged=True), output[1])
    kind = "ConvolutionDepthWise" if group > 1 else "Convolution"
    _emit(build, node, kind, params, blocks)


def conv_transpose(build: Builder, node: Node) -> None:
    """``ConvTranspose``: ONNX puts input channels first, ncnn output channels."""
    x, weight = node.inputs[0], node.inputs[1]
    size = spatial(build, x, (2,))
    shape, output = build.shape(weight), build.shape(node.outputs[0])
    group = int(node.attributes.get("group", 1))
    window = replace(convolution_window(node, shape[2:], None), pads=())
    extra = tuple(int(n) for n in node.attributes.get("output_padding", (0,) * len(size)))
    pads = _crop(node, window, size, output[2:], extra)
    params = _params(build, node, replace(window, pads=pads), output[1], group)
    params |= {18: extra[1], 19: extra[0]}
    view = (group, shape[0] // group, *shape[1:])
    block = replace(build.weight(weight), view=view, order=(0, 2, 1, *range(3, len(view))), tagged=True)
    kind = "DeconvolutionDepthWise" if group > 1 else "Deconvolution"
    _emit(build, node, kind, params, _blocks(build, node, block, output[1]))


def _crop(node: Node, window: Window, size: Shape, output: Shape, extra: Shape) -> Shape:
    """What a transposed convolution cuts off its full output: begins, then ends."""
    full = tuple(
        (n - 1) * step + span + more
        for n, step, span, more in zip(size, window.strides, window.spans, extra, strict=True)
    )
    total = tuple(all_of - kept for all_of, kept in zip(full, output, strict=True))
    if any(n < 0 for n in total):
        raise Refused(f"an output of {output} is larger than what the input reaches, {full}")
    mode = node.attributes.get("auto_pad", "NOTSET")
    if mode in ("SAME_UPPER", "SAME_LOWER") or "output_shape" in node.attributes:
        return halved(total, upper=mode == "SAME_UPPER")
    pads = tuple(int(n) for n in node.attributes.get("pads", (0,) * (2 * len(size))))
    if mode == "VALID":
        pads = (0,) * len(pads)
    if any(a + b != n for a, b, n in zip(pads[: len(size)], pads[len(size) :], total, strict=True)):
        raise Refused(f"the pads do not lead from {size} to {output}")
    return pads


def _params(build: Builder, node: Node, window: Window, channels: int, group: int) -> dict[int, Parameter]:
    params: dict[int, Parameter] = {
        0: channels,
        5: int(bool(build.optional(node, 2))),
        6: math.prod(build.shape(node.inputs[1])),
    }
    if group > 1:
        params[7] = group
    begins, ends = window.pads[: window.rank], window.pads[window.rank :]
    if any(n < 0 for n in window.pads):
        raise Refused("ncnn has no negative pads")
    params |= {1: window.kernel[-1], 2: window.dilations[-1], 3: window.strides[-1], 4: begins[-1], 15: ends[-1]}
    if window.rank == 2:
        params |= {11: window.kernel[0], 12: window.dilations[0], 13: window.strides[0], 14: begins[0], 16: ends[0]}
    return params


def _blocks(build: Builder, node: Node, weight: Block, channels: int) -> tuple[Block, ...]:
    bias = build.optional(node, 2)
    if not bias:
        return (weight,)
    if build.shape(bias) != (channels,):
        raise Refused(f"a bias of shape {build.shape(bias)} for {channels} channels")
    return (weight, build.weight(bias))


def _emit(build: Builder, node: Node, kind: str, params: dict[int, Parameter], blocks: tuple[Block, ...]) -> None:
    output = build.shape(node.outputs[0])
    suffix = "1D" if len(output) == 3 else ""
    blob = build.emit(kind + suffix, (build.blob(node.inputs[0]),), output[1:], params, blocks)
    build.bind(node.outputs[0], blob)
