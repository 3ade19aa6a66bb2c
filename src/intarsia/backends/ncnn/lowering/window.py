"""Sliding windows: kernel, strides, dilations and pads of a node, with automatic pads made explicit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from intarsia.backends.ncnn.lowering.builder import Builder
from intarsia.backends.ncnn.lowering.layer import Refused, Shape

if TYPE_CHECKING:
    from intarsia.graph import Node


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A window over the spatial dimensions; ``pads`` holds all begins, then all ends, as in ONNX."""

    kernel: Shape
    strides: Shape
    dilations: Shape
    pads: Shape

    @property
    def rank(self) -> int:
        """Number of spatial dimensions."""
        return len(self.kernel)

    @property
    def spans(self) -> Shape:
        """Pixels from the first to the last that one window reads, along each dimension."""
        return tuple((k - 1) * d + 1 for k, d in zip(self.kernel, self.dilations, strict=True))

    def output(self, size: Shape) -> Shape:
        """How often the window fits, rounded down."""
        begins, ends = self.pads[: self.rank], self.pads[self.rank :]
        return tuple(
            (n + a + b - span) // step + 1
            for n, a, b, span, step in zip(size, begins, ends, self.spans, self.strides, strict=True)
        )


def spatial(build: Builder, name: str, ranks: Sequence[int]) -> Shape:
    """The spatial dimensions of a value of shape (1, C, ...).

    Raises:
        Refused: A batch other than 1, or a number of dimensions that is not in ``ranks``.
    """
    shape = build.shape(name)
    if len(shape) - 2 not in ranks:
        raise Refused(f"ncnn is used here for {' or '.join(map(str, ranks))} spatial dimensions, not {len(shape) - 2}")
    if shape[0] != 1:
        raise Refused(f"ncnn has no batch dimension, and this value has a batch of {shape[0]}")
    return shape[2:]


def convolution_window(node: Node, kernel: Shape, size: Shape | None) -> Window:
    """The window of a convolution or pooling node; ``size`` is needed where pads are automatic."""
    rank = len(kernel)
    stated = tuple(int(n) for n in node.attributes.get("kernel_shape", kernel))
    if stated != kernel:
        raise Refused(f"kernel_shape says {stated} and the weight is {kernel}")
    window = Window(
        kernel=kernel,
        strides=_ints(node, "strides", (1,) * rank),
        dilations=_ints(node, "dilations", (1,) * rank),
        pads=_ints(node, "pads", (0,) * (2 * rank)),
    )
    mode = node.attributes.get("auto_pad", "NOTSET")
    if mode == "NOTSET" or size is None:
        return window
    pads = (0,) * (2 * rank) if mode == "VALID" else _same_pads(window, size, upper=mode == "SAME_UPPER")
    return replace(window, pads=pads)


def _ints(node: Node, name: str, default: Shape) -> Shape:
    return tuple(int(n) for n in node.attributes.get(name, default))


def _same_pads(window: Window, size: Shape, *, upper: bool) -> Shape:
    rows = zip(size, window.strides, window.spans, strict=True)
    return halved([max((-(-n // step) - 1) * step + span - n, 0) for n, step, span in rows], upper=upper)


def halved(totals: Sequence[int], *, upper: bool) -> Shape:
    """Half of each number as begins, the rest as ends; with ``upper`` the greater halves are the ends."""
    less = tuple(total // 2 for total in totals)
    more = tuple(total - half for total, half in zip(totals, less, strict=True))
    return less + more if upper else more + less
