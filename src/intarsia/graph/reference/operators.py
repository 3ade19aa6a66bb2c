"""Operators for which ONNX's evaluator is too slow or strays from the standard; it runs these in place of its own.

Windows: the definition is ONNX's, and so is the arithmetic (averages are even summed in double precision), but numpy
walks over windows instead of Python over pixels, which is nearly all the time of a network. The evaluator also shifts
windows under ``ceil_mode``, pads ``SAME_LOWER`` like ``SAME_UPPER``, and takes no transposed convolution whose groups
have more than one channel. `GatherElements`: it takes no single index of many. `Loop`: it takes an absent condition
for false, and joins scan outputs along an axis that is there already. `GlobalMaxPool`: it takes every value for one of
two spatial axes. `LRN`: it normalises as many channels as the batch has images. `LpNormalization`: it sums numbers, not
their sizes. `Pad`: it takes no negative numbers. (onnx 1.23.2; each compared with onnxruntime.)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import ceil, prod
from typing import Any

import numpy as np
from onnx import TypeProto
from onnx.helper import tensor_dtype_to_np_dtype
from onnx.reference.op_run import OpRun
from onnx.reference.ops import op_max_pool

_Pairs = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Windows:
    """Where windows lie over the spatial axes.

    Attributes:
        kernel: Elements of a window along each axis.
        strides: From one window to the next.
        dilations: From one element of a window to the next.
        pads: Elements put before and after each axis, as the operator states them.
        reach: Elements that the last window reaches beyond the padding, along each axis.
        counts: Number of windows along each axis.
    """

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pads: _Pairs
    reach: tuple[int, ...]
    counts: tuple[int, ...]

    @classmethod
    def of(cls, extent: Sequence[int], kernel: Sequence[int], attributes: dict[str, Any]) -> _Windows:
        """From the attributes that convolutions and pools share."""
        ones = (1,) * len(kernel)
        strides = tuple(attributes.get("strides") or ones)
        dilations = tuple(attributes.get("dilations") or ones)
        spans = tuple((k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True))
        pads = _pads(extent, spans, strides, attributes)
        counts, reach = [], []
        for size, span, stride, (before, after) in zip(extent, spans, strides, pads, strict=True):
            whole = size + before + after
            count = (whole - span) // stride + 1
            if attributes.get("ceil_mode"):
                count = ceil((whole - span) / stride) + 1
                count -= (count - 1) * stride >= size + before  # no window starts in the padding behind
            counts.append(count)
            reach.append(max((count - 1) * stride + span - whole, 0))
        return cls(
            kernel=tuple(kernel),
            strides=strides,
            dilations=dilations,
            pads=pads,
            reach=tuple(reach),
            counts=tuple(counts),
        )

    def padded(self, x: np.ndarray, inside: float, beyond: float) -> np.ndarray:
        """``x`` with the stated padding, and with what the last windows reach beyond it."""
        none = ((0, 0), (0, 0))
        x = np.pad(x, (*none, *self.pads), constant_values=inside)
        return np.pad(x, (*none, *((0, reach) for reach in self.reach)), constant_values=beyond)

    def elements(self, padded: np.ndarray) -> Iterator[np.ndarray]:
        """For each element of the window, its value in every window."""
        for position in product(*map(range, self.kernel)):
            starts = [p * d for p, d in zip(position, self.dilations, strict=True)]
            axes = (
                slice(start, start + (count - 1) * stride + 1, stride)
                for start, count, stride in zip(starts, self.counts, self.strides, strict=True)
            )
            yield padded[(slice(None), slice(None), *axes)]


class Conv(OpRun):
    """Convolution as one matrix product per group."""

    def _run(self, x: np.ndarray, w: np.ndarray, b: np.ndarray | None = None, **attributes: Any) -> tuple[np.ndarray]:
        windows = _Windows.of(x.shape[2:], w.shape[2:], attributes)
        groups = attributes.get("group") or 1
        if x.shape[1] != w.shape[1] * groups or w.shape[0] % groups:
            raise ValueError(f"{groups} groups do not fit an input of shape {x.shape} and weights of shape {w.shape}")
        columns = np.stack(list(windows.elements(windows.padded(x, 0, 0))), axis=2)
        reads = prod(w.shape[1:])  # said in full: no size follows from an array without elements
        columns = columns.reshape(x.shape[0], groups, reads, prod(windows.counts))
        y = w.reshape(groups, w.shape[0] // groups, reads) @ columns
        y = y.reshape(x.shape[0], w.shape[0], *windows.counts)
        if b is not None:
            y = y + b.reshape(-1, *(1,) * len(windows.counts))
        return (y.astype(x.dtype, copy=False),)


class ConvTranspose(OpRun):
    """Each element of the input spread over a window of the output, as one matrix product per group."""

    def _run(self, x: np.ndarray, w: np.ndarray, b: np.ndarray | None = None, **attributes: Any) -> tuple[np.ndarray]:
        groups = attributes.get("group") or 1
        kernel = w.shape[2:]
        if x.shape[1] != w.shape[0] or w.shape[0] % groups:
            raise ValueError(f"{groups} groups do not fit an input of shape {x.shape} and weights of shape {w.shape}")
        strides = tuple(attributes.get("strides") or (1,) * len(kernel))
        dilations = tuple(attributes.get("dilations") or (1,) * len(kernel))
        ranges = _spread(x.shape[2:], kernel, strides, dilations, attributes)
        share = w.shape[0] // groups
        parts = x.reshape(x.shape[0], groups, share, prod(x.shape[2:]))
        columns = np.swapaxes(w.reshape(groups, share, prod(w.shape[1:])), 1, 2) @ parts
        columns = columns.reshape(x.shape[0], groups * w.shape[1], prod(kernel), *x.shape[2:])
        reached = (
            (n - 1) * s + (k - 1) * d + 1 for n, s, k, d in zip(x.shape[2:], strides, kernel, dilations, strict=True)
        )
        sizes = (max(size, end) for size, (_, end) in zip(reached, ranges, strict=True))
        y = np.zeros((x.shape[0], groups * w.shape[1], *sizes), columns.dtype)
        for place, position in enumerate(product(*map(range, kernel))):
            axes = (
                slice(p * d, p * d + (n - 1) * s + 1, s)
                for p, d, n, s in zip(position, dilations, x.shape[2:], strides, strict=True)
            )
            y[(slice(None), slice(None), *axes)] += columns[:, :, place]
        y = y[(slice(None), slice(None), *(slice(*range_) for range_ in ranges))]
        if b is not None:
            y = y + b.reshape(-1, *(1,) * len(kernel))
        return (np.ascontiguousarray(y.astype(x.dtype, copy=False)),)


def _spread(
    extent: Sequence[int],
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    attributes: dict[str, Any],
) -> list[tuple[int, int]]:
    """Along each axis, which part of all that windows reach is the output; it may end behind the last window."""
    kind, rank = attributes.get("auto_pad") or "NOTSET", len(kernel)
    more = tuple(attributes.get("output_padding") or (0,) * rank)
    pads = tuple(attributes.get("pads") or (0,) * 2 * rank)
    sizes = tuple(attributes.get("output_shape") or ())[-rank:]
    if not sizes and kind in ("SAME_UPPER", "SAME_LOWER"):
        sizes = tuple(n * s for n, s in zip(extent, strides, strict=True))
    ranges = []
    for axis, (n, s, k, d) in enumerate(zip(extent, strides, kernel, dilations, strict=True)):
        full = (n - 1) * s + (k - 1) * d + 1 + more[axis]
        if sizes:
            cut = max(full - sizes[axis], 0)
            before = cut // 2 if kind == "SAME_UPPER" else cut - cut // 2
            ranges.append((before, before + sizes[axis]))
        else:
            before, after = (0, 0) if kind == "VALID" else (pads[axis], pads[rank + axis])
            ranges.append((before, full - after))
    return ranges


class MaxPool(OpRun):
    """Maximum over windows; where the position of the maximum is asked for too, the evaluator's own."""

    def _run(self, x: np.ndarray, **attributes: Any) -> tuple[np.ndarray, ...]:
        if len(self.output) > 1:
            evaluator: Any = op_max_pool.MaxPool(self.onnx_node, self.run_params)
            return tuple(evaluator.run(x))
        windows = _Windows.of(x.shape[2:], attributes["kernel_shape"], attributes)
        least = -np.inf if np.issubdtype(x.dtype, np.floating) else np.iinfo(x.dtype).min
        elements = windows.elements(windows.padded(x, least, least))
        y = next(elements).copy()
        for element in elements:
            np.maximum(y, element, out=y)
        return (y,)


class AveragePool(OpRun):
    """Average over windows, over the elements that lie inside."""

    def _run(self, x: np.ndarray, **attributes: Any) -> tuple[np.ndarray]:
        windows = _Windows.of(x.shape[2:], attributes["kernel_shape"], attributes)
        total = _sum(windows.elements(windows.padded(x.astype(np.float64), 0, 0)))
        ones = np.ones((1, 1, *x.shape[2:]))
        counted = 1 if attributes.get("count_include_pad") else 0
        count = _sum(windows.elements(windows.padded(ones, counted, 0)))
        return ((total / count).astype(x.dtype),)


class GlobalMaxPool(OpRun):
    """Maximum over all spatial axes."""

    def _run(self, x: np.ndarray) -> tuple[np.ndarray]:
        return (x.max(axis=tuple(range(2, x.ndim)), keepdims=True),)


def _sum(arrays: Iterator[np.ndarray]) -> np.ndarray:
    total = next(arrays).copy()
    for array in arrays:
        total += array
    return total


class GatherElements(OpRun):
    """Elements by their place along one axis; indices may be fewer than the data along the others."""

    def _run(self, data: np.ndarray, indices: np.ndarray, axis: int = 0) -> tuple[np.ndarray]:
        along = axis % data.ndim
        kept = tuple(slice(None if place == along else count) for place, count in enumerate(indices.shape))
        return (np.take_along_axis(data[kept], indices, along),)


class LRN(OpRun):
    """Division by the squares of neighbouring channels, summed in double precision."""

    def _run(self, x: np.ndarray, alpha: float, beta: float, bias: float, size: int) -> tuple[np.ndarray]:
        squares = np.square(x, dtype=np.float64)
        channels = x.shape[1]
        total = np.zeros_like(squares)
        for distance in range(-((size - 1) // 2), size // 2 + 1):
            there = slice(max(distance, 0), channels + min(distance, 0))
            here = slice(max(-distance, 0), channels - max(distance, 0))
            total[:, here] += squares[:, there]
        return ((x / (bias + alpha / size * total) ** beta).astype(x.dtype),)


class LpNormalization(OpRun):
    """Division by a norm along an axis; where that is zero, zero."""

    def _run(self, x: np.ndarray, axis: int = -1, p: int = 2) -> tuple[np.ndarray]:
        norm = np.sum(np.abs(x) ** p, axis=axis, keepdims=True) ** (1 / p)
        return ((x / np.where(norm == 0, 1, norm)).astype(x.dtype),)


class Loop(OpRun):
    """Runs the body while the condition holds, an absent one for ever, and at most as often as the trip count says."""

    def need_context(self) -> bool:
        """The body may capture any value around it."""
        return True

    def _run(
        self,
        trips: np.ndarray | None,
        condition: np.ndarray | None,
        *carried: np.ndarray,
        context: dict[str, Any],
        attributes: Any = None,
        **_: Any,
    ) -> tuple[np.ndarray, ...]:
        body: Any = self.body  # type: ignore[attr-defined]  # set by OpRun from the node's attribute
        step_name, condition_name, *carried_names = body.input_names
        going = np.array(True) if condition is None else condition
        state = list(carried)
        scanned: list[list[np.ndarray]] = [[] for _ in body.output_names[1 + len(state) :]]
        step = 0
        while bool(going) and (trips is None or step < int(trips)):
            own = {step_name: np.array(step, np.int64), condition_name: going}
            feeds = {**context, **own, **dict(zip(carried_names, state, strict=True))}
            going, *results = body.run(None, feeds, attributes=attributes)
            state = results[: len(state)]
            for list_, item in zip(scanned, results[len(state) :], strict=True):
                list_.append(item)
            step += 1
        types = body.output_types[1 + len(state) :]
        return (
            *state,
            *(np.stack(items) if items else _no_rows(type_) for items, type_ in zip(scanned, types, strict=True)),
        )


class Pad(OpRun):
    """Elements put before and after each axis; where their number is negative, so many are cut off."""

    def _run(
        self,
        data: np.ndarray,
        pads: np.ndarray,
        constant_value: np.ndarray | None = None,
        axes: np.ndarray | None = None,
        mode: str = "constant",
    ) -> tuple[np.ndarray]:
        over = range(data.ndim) if axes is None else [int(axis) % data.ndim for axis in axes]
        before, after = [0] * data.ndim, [0] * data.ndim
        for place, axis in enumerate(over):
            before[axis], after[axis] = int(pads[place]), int(pads[len(over) + place])
        kept = data[tuple(slice(max(-b, 0), n + min(a, 0)) for n, b, a in zip(data.shape, before, after, strict=True))]
        widths = [(max(b, 0), max(a, 0)) for b, a in zip(before, after, strict=True)]
        options: dict[str, Any] = {}
        if mode == "constant" and constant_value is not None:
            options["constant_values"] = constant_value.item()
        return (np.pad(kept, widths, mode=mode, **options).astype(data.dtype, copy=False),)  # type: ignore[call-overload]


def _no_rows(element: TypeProto) -> np.ndarray:
    """What is stacked where the body never ran; a size that nobody knows is 0, as in ONNX Runtime."""
    tensor = element.tensor_type
    dtype = tensor_dtype_to_np_dtype(tensor.elem_type) if tensor.elem_type else np.float32
    return np.empty((0, *(dim.dim_value for dim in tensor.shape.dim)), dtype)


REPLACEMENTS: tuple[type[OpRun], ...] = (
    *(AveragePool, Conv, ConvTranspose, GatherElements, GlobalMaxPool, Loop, LpNormalization, LRN, MaxPool, Pad),
)


def _pads(extent: Sequence[int], spans: Sequence[int], strides: Sequence[int], attributes: dict[str, Any]) -> _Pairs:
    """Padding before and after each axis, stated or from ``auto_pad``."""
    kind = attributes.get("auto_pad") or "NOTSET"
    rank = len(spans)
    if kind == "NOTSET":
        pads = tuple(attributes.get("pads") or (0,) * 2 * rank)
        return tuple(zip(pads[:rank], pads[rank:], strict=True))
    if kind == "VALID":
        return ((0, 0),) * rank
    pairs = []
    for size, span, stride in zip(extent, spans, strides, strict=True):
        total = max((-(-size // stride) - 1) * stride + span - size, 0)
        less, more = total // 2, total - total // 2
        pairs.append((less, more) if kind == "SAME_UPPER" else (more, less))
    return tuple(pairs)
