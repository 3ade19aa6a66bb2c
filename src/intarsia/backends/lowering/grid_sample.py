"""GridSample: elements that lie between others, found where a grid says."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from itertools import product
from math import prod

from intarsia.backends.lowering.builder import Builder
from intarsia.backends.lowering.composites import clip
from intarsia.backends.lowering.node_context import NodeContext, Rule
from intarsia.backends.lowering.program import Term, UnsupportedError

_CUBIC = -0.75
"""The coefficient of the cubic kernel that ONNX fixes."""
Tap = tuple[Term, Term | None]
"""Index of an element along a dimension, as a float, and its share; ``None`` for all of it."""


def _place(b: Builder, grid: Term, size: int, aligned: bool) -> Term:
    """From -1 to 1, to where that is among the elements."""
    above = b.binary("add", grid, 1.0)
    if aligned:
        return b.binary("mul", above, (size - 1) / 2)
    return b.binary("div", b.binary("sub", b.binary("mul", above, float(size)), 1.0), 2.0)


def _near(b: Builder, distance: Term) -> Term:
    """The cubic kernel up to a distance of 1."""
    inner = b.binary("sub", b.binary("mul", distance, _CUBIC + 2), _CUBIC + 3)
    return b.binary("add", b.binary("mul", inner, b.binary("mul", distance, distance)), 1.0)


def _far(b: Builder, distance: Term) -> Term:
    """The cubic kernel at a distance of 1 to 2."""
    found = b.binary("mul", b.binary("sub", distance, 5.0), _CUBIC)
    found = b.binary("add", b.binary("mul", found, distance), 8 * _CUBIC)
    return b.binary("sub", b.binary("mul", found, distance), 4 * _CUBIC)


def _taps(b: Builder, place: Term, mode: str) -> list[Tap]:
    if mode == "nearest":
        return [(b.unary("round", place), None)]
    base = b.unary("floor", place)
    rest = b.binary("sub", place, base)
    other = b.binary("sub", b.scalar(1, rest), rest)
    if mode in ("linear", "bilinear"):
        return [(base, other), (b.binary("add", base, 1.0), rest)]
    shares = [
        _far(b, b.binary("add", rest, 1.0)),
        _near(b, rest),
        _near(b, other),
        _far(b, b.binary("add", other, 1.0)),
    ]
    return [(b.binary("add", base, float(step)), share) for step, share in zip(range(-1, 3), shares, strict=True)]


def _inside(b: Builder, tap: Tap, size: int, mode: str, aligned: bool) -> Tap:
    """A tap that lies in the padding, as the mode has it."""
    index, share = tap
    if mode == "zeros":
        seen = b.binary("and", b.compare("ge", index, 0.0), b.compare("le", index, float(size - 1)))
        whole = b.expand(b.scalar(1, index), index.shape) if share is None else share
        share = b.where(seen, whole, b.scalar(0, index))
    elif mode == "reflection":
        low, high = (0.0, size - 1.0) if aligned else (-0.5, size - 0.5)
        if high == low:
            raise UnsupportedError("a reflection in a single element")
        turn = b.binary("mod", b.binary("sub", index, low), 2 * (high - low))
        back = b.binary("sub", b.scalar(2 * (high - low), turn), turn)
        folded = b.binary("add", b.binary("min", turn, back), low)
        index = b.cast(b.cast(folded, "int64"), index.dtype)
    return clip(b, index, 0.0, float(size - 1)), share


def _grid_sample(ctx: NodeContext) -> Term:
    b, x, grid = ctx.builder, ctx.operand(0), ctx.operand(1)
    n, channels, *sizes = x.shape
    count = prod(grid.shape[1:-1])
    aligned, padding = bool(ctx.get("align_corners", 0)), ctx.get("padding_mode", "zeros")
    along = []
    for axis, size in enumerate(sizes):
        # The last dimension comes first in the grid.
        own = len(sizes) - 1 - axis
        flat = b.reshape(b.part(grid, grid.rank - 1, own, own + 1), (n, 1, count))
        taps = _taps(b, _place(b, b.cast(flat, x.dtype), size, aligned), ctx.get("mode", "linear"))
        along.append([_inside(b, tap, size, padding, aligned) for tap in taps])
    rows = b.reshape(x, (n, channels, prod(sizes)))
    found = [_sampled(b, rows, taps, sizes) for taps in product(*along)]
    return b.reshape(reduce(lambda one, other: b.binary("add", one, other), found), ctx.shape_of_output())


def _sampled(b: Builder, rows: Term, taps: tuple[Tap, ...], sizes: list[int]) -> Term:
    """One corner of what surrounds each place, times its shares."""
    whole = [b.cast(index, "int64") for index, _ in taps]
    flat = whole[0]
    for index, size in zip(whole[1:], sizes[1:], strict=True):
        flat = b.binary("add", b.binary("mul", flat, size), index)
    n, _, count = flat.shape
    picked = b.take_along(rows, b.expand(flat, (n, rows.shape[1], count)), 2)
    for _, share in taps:
        picked = picked if share is None else b.binary("mul", picked, share)
    return picked


RULES: Mapping[str, Rule] = {"GridSample": _grid_sample}
