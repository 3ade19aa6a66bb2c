"""Pooling over windows and over whole images.

ncnn's own rounding and padding modes are not used: every pad is computed here and stated, so that the window positions
are ONNX's.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from intarsia.backends.ncnn.lowering.builder import Builder
from intarsia.backends.ncnn.lowering.layer import Parameter, Refused, Shape
from intarsia.backends.ncnn.lowering.window import Window, convolution_window, spatial

if TYPE_CHECKING:
    from intarsia.graph import Node

_MAX, _AVERAGE = 0, 1
_STATED_PADS = 1
"""ncnn's name for "use the pads as given, round down"."""


def max_pool(build: Builder, node: Node) -> None:
    """``MaxPool``; what lies outside the image is never the largest."""
    if build.has_more_outputs(node):
        raise Refused("ncnn does not say where the maximum was")
    window, size = _window(build, node)
    _pool(build, node, _reaching(window, size, build.shape(node.outputs[0])[2:]), {0: _MAX})


def average_pool(build: Builder, node: Node) -> None:
    """``AveragePool``; pixels outside the image count only if the node says so."""
    window, size = _window(build, node)
    reaching = _reaching(window, size, build.shape(node.outputs[0])[2:])
    counts_pads = bool(node.attributes.get("count_include_pad", 0))
    if counts_pads and reaching != window:
        raise Refused("with count_include_pad, ncnn also counts what ceil_mode adds beyond the pads")
    _pool(build, node, reaching, {0: _AVERAGE, 6: int(counts_pads)})


def _window(build: Builder, node: Node) -> tuple[Window, Shape]:
    size = spatial(build, node.inputs[0], (1, 2))
    window = convolution_window(node, tuple(int(n) for n in node.attributes["kernel_shape"]), size)
    if any(n != 1 for n in window.dilations):
        raise Refused("ncnn's pooling has no dilation")
    return window, size


def _reaching(window: Window, size: Shape, output: Shape) -> Window:
    """The window with ends padded (or left unread) so that rounding down gives ``output``."""
    begins, ends = window.pads[: window.rank], window.pads[window.rank :]
    needed = tuple(
        (count - 1) * step + span - n - begin
        for count, step, span, n, begin in zip(output, window.strides, window.spans, size, begins, strict=True)
    )
    ends = tuple(max(have, need) for have, need in zip(ends, needed, strict=True))
    if any(n < 0 for n in (*begins, *ends)):
        raise Refused("ncnn has no negative pads")
    reaching = replace(window, pads=(*begins, *ends))
    if reaching.output(size) != output:
        raise Refused(f"ncnn's windows give {reaching.output(size)} and the node {output}")
    if any(p >= k for p, k in zip(reaching.pads, reaching.kernel * 2, strict=True)):
        raise Refused("some window would lie wholly outside the image")
    return reaching


def _pool(build: Builder, node: Node, window: Window, params: dict[int, Parameter]) -> None:
    begins, ends = window.pads[: window.rank], window.pads[window.rank :]
    params |= {5: _STATED_PADS, 1: window.kernel[-1], 2: window.strides[-1], 3: begins[-1], 14: ends[-1]}
    if window.rank == 2:
        params |= {11: window.kernel[0], 12: window.strides[0], 13: begins[0], 15: ends[0]}
    kind = "Pooling" if window.rank == 2 else "Pooling1D"
    output = node.outputs[0]
    build.bind(output, build.emit(kind, (build.blob(node.inputs[0]),), build.shape(output)[1:], params))


def global_pool(build: Builder, node: Node) -> None:
    """``GlobalAveragePool GlobalMaxPool``: one number per channel."""
    params = {0: _MAX if node.op_type == "GlobalMaxPool" else _AVERAGE, 4: 1}
    size = spatial(build, node.inputs[0], (1, 2))
    channels = build.shape(node.inputs[0])[1]
    kind = "Pooling" if len(size) == 2 else "Pooling1D"
    build.bind(node.outputs[0], build.emit(kind, (build.blob(node.inputs[0]),), (channels,), params))
