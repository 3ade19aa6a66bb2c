"""Writes a region's instructions as TensorFlow Lite's operators, or says why an Ethos-U does not take one.

An instruction states by what its sums are multiplied; a file states the scale of each tensor. Only their ratios count,
so a tensor whose scale nothing states has 1, and the scales of weights are what makes the ratio right.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from intarsia.backends.c.kernels.integers.window import Window
from intarsia.backends.c.site import NoKernelError, Site
from intarsia.backends.ethos_u.tflite import NONE, RELU, SAME, VALID, Network, Operator, Tensor
from intarsia.backends.lowering.passes.regions import Region
from intarsia.backends.lowering.program import INPUT, LEAVES, Instruction

LIMITS = "Vela 5.2, SUPPORTED_OPS.md"
_MOST_STRIDE, _MOST_TAPS, _MOST_HEIGHT = 3, 64 * 64, 64
_MOST_POOL = 256
_AVERAGED_SAME = 8


def fault(site: Site) -> str | None:
    """What of an instruction an Ethos-U does not compute; ``None`` if it does."""
    check = _CHECKS.get(site.each.name)
    if check is None:
        return f"{site.each.name} of {site.each.dtype}"
    if any(len(each.shape) > 4 for each in (site.each, *site.reads)):
        return "values of more than 4 dimensions"
    try:
        check(site)
    except NoKernelError as error:
        return str(error)
    return None


def _check_activation(site: Site, zero: int) -> int:
    attrs = site.attrs
    if (attrs["low"], attrs["high"]) == (-128, 127):
        return NONE
    if attrs["high"] == 127 and attrs["low"] == max(-128, zero):
        return RELU
    raise NoKernelError(f"results that are held between {attrs['low']} and {attrs['high']} steps")


def _once(v: Window) -> Window:
    """Without the steps of what has one result alone."""
    return replace(v, sh=1 if v.oh == 1 else v.sh, sw=1 if v.ow == 1 else v.sw)


def _check_conv(site: Site) -> Window:
    if 1 not in site.known or 2 not in site.known:
        raise NoKernelError("convolutions with weights that are computed")
    v = _once(Window.of(site, site.reads[1].shape[1:-1]))
    groups = site.attrs["groups"]
    if v.n != 1:
        raise NoKernelError(f"convolutions of {v.n} pictures at once")
    if groups not in (1, v.c) or (groups > 1 and v.o != v.c):
        raise NoKernelError("convolutions in groups")
    if max(v.sh, v.sw) > _MOST_STRIDE:
        raise NoKernelError(f"convolutions that step by more than {_MOST_STRIDE}")
    if (v.kh - 1) * v.dh + 1 > _MOST_HEIGHT or ((v.kh - 1) * v.dh + 1) * ((v.kw - 1) * v.dw + 1) > _MOST_TAPS:
        raise NoKernelError("windows that are too large for it")
    if max(v.dh, v.dw) > 1 and max(v.sh, v.sw) > 1:
        raise NoKernelError("convolutions with dilation that step")
    _check_activation(site, site.attrs["y_zero"])
    return v


def _check_dense(site: Site) -> None:
    if 1 not in site.known or 2 not in site.known:
        raise NoKernelError("products with weights that are computed")
    _check_activation(site, site.attrs["y_zero"])


def _check_pair(site: Site) -> None:
    if any(read.shape != site.each.shape for read in site.reads):
        raise NoKernelError(f"{site.each.name} of shapes that differ")
    _check_activation(site, site.attrs["y_zero"])


def _check_pool(site: Site) -> Window:
    v = _once(Window.of(site, site.attrs["kernel"]))
    if v.n != 1 or max(v.dh, v.dw) > 1:
        raise NoKernelError("pools of several pictures, or with dilation")
    if max(v.sh, v.sw) > _MOST_STRIDE:
        raise NoKernelError(f"pools that step by more than {_MOST_STRIDE}")
    padding = _padding(v)
    if padding is None:
        raise NoKernelError("pools with padding that is neither none nor even")
    is_average = site.each.name == "q_pool_avg_last"
    if (
        v.kh > _MOST_POOL
        or v.taps > _MOST_POOL**2
        or (is_average and padding == SAME and max(v.kh, v.kw) > _AVERAGED_SAME)
    ):
        raise NoKernelError("windows that are too large for it")
    attrs = site.attrs
    if is_average:
        if attrs["divisor"] and padding == SAME:
            raise NoKernelError("averages that count padding")
        if (attrs["x_scale"], attrs["x_zero"]) != (attrs["y_scale"], attrs["y_zero"]):
            raise NoKernelError("averages in another scale than their operand's")
    if (attrs["low"], attrs["high"]) != (-128, 127):
        raise NoKernelError("pools whose results are held in a range")
    return v


def _check_softmax(site: Site) -> None:
    attrs, shape = site.attrs, site.each.shape
    if attrs["axis"] % len(shape) != len(shape) - 1:
        raise NoKernelError("softmax along another axis than the last in memory")
    if (attrs["y_scale"], attrs["y_zero"]) != (1.0 / 256.0, -128):
        raise NoKernelError("softmax in other steps than 1/256 from -128 on")


def _check_reshape(site: Site) -> None:
    if site.each.dtype != "int8":
        raise NoKernelError(f"reshape of {site.each.dtype}")


_CHECKS: Mapping[str, Callable[[Site], object]] = {
    "q_add": _check_pair,
    "q_conv_last": _check_conv,
    "q_dense": _check_dense,
    "q_mul": _check_pair,
    "q_pool_avg_last": _check_pool,
    "q_pool_max_last": _check_pool,
    "q_softmax": _check_softmax,
    "q_sub": _check_pair,
    "reshape": _check_reshape,
}


def _padding(v: Window) -> int | None:
    """What the schema calls the padding of a window; ``None`` where it has no word for it."""
    found: set[int] = set()
    for size, result, kernel, step, apart, before in (
        (v.h, v.oh, v.kh, v.sh, v.dh, v.ph),
        (v.w, v.ow, v.kw, v.sw, v.dw, v.pw),
    ):
        reach = (kernel - 1) * apart + 1
        words = set()
        if before == 0 and result == -(-(size - reach + 1) // step):
            words.add(VALID)
        total = max(0, (-(-size // step) - 1) * step + reach - size)
        if result == -(-size // step) and before == total // 2:
            words.add(SAME)
        found = words if not found else found & words
        if not found:
            return None
    return VALID if VALID in found else SAME


class _Writer:
    """A network while it is written."""

    def __init__(self, region: Region) -> None:
        self.made: Sequence[Instruction] = region.program.instructions
        self.known = region.known
        self.tensors: list[Tensor] = []
        self.operators: list[Operator] = []
        self.affine = _Affine(region)
        self.of: dict[int, int] = {}
        self.outputs = tuple(region.program.outputs.values())

    def network(self) -> Network:
        inputs = []
        for place, each in enumerate(self.made):
            if each.name == INPUT:
                self.of[place] = self.value(place, _picture(each.shape, self._is_picture(place)))
                inputs.append(self.of[place])
            elif each.name not in LEAVES:
                self.add(place, each)
        outputs = tuple(self.of[place] for place in self.outputs)
        return Network(
            tensors=tuple(self.tensors), operators=tuple(self.operators), inputs=tuple(inputs), outputs=outputs
        )

    def _is_picture(self, place: int) -> bool:
        return any(place in each.reads and each.name.endswith("_last") for each in self.made)

    def tensor(self, each: Tensor) -> int:
        self.tensors.append(each)
        return len(self.tensors) - 1

    def value(self, place: int, shape: Sequence[int]) -> int:
        scale, zero = self.affine[place]
        return self.tensor(Tensor(name=f"v{place}", shape=tuple(shape), scales=(scale,), zero=zero))

    def constant(self, name: str, array: np.ndarray, scales: Sequence[float] = (), axis: int = 0) -> int:
        dtype = array.dtype.name
        return self.tensor(
            Tensor(name=name, shape=array.shape, dtype=dtype, scales=tuple(scales), axis=axis, content=array)
        )

    def read(self, place: int, shape: Sequence[int]) -> int:
        """The tensor of a value in a shape of as many elements."""
        number = self.of[place]
        if self.tensors[number].shape == tuple(shape):
            return number
        made = self.value(place, shape)
        lengths = self.constant(f"shape{made}", np.array(shape, np.int32))
        self.operators.append(Operator(name="RESHAPE", reads=(number, lengths), write=made))
        return made

    def give(self, place: int, name: str, reads: Sequence[int], shape: Sequence[int], **options: Any) -> None:
        self.of[place] = self.value(place, shape)
        self.operators.append(Operator(name=name, reads=tuple(reads), write=self.of[place], options=options))

    def site(self, each: Instruction) -> Site:
        operands = {slot: self.known[read] for slot, read in enumerate(each.reads) if read in self.known}
        return Site(each=each, reads=tuple(self.made[read] for read in each.reads), known=operands)

    def add(self, place: int, each: Instruction) -> None:
        attrs, site = each.attributes, self.site(each)
        if each.name == "q_conv_last":
            self.conv(place, site, _check_conv(site))
        elif each.name in ("q_pool_max_last", "q_pool_avg_last"):
            v = _check_pool(site)
            name = "MAX_POOL_2D" if each.name == "q_pool_max_last" else "AVERAGE_POOL_2D"
            x = self.read(each.reads[0], (v.n, v.h, v.w, v.c))
            sizes = {"stride_w": v.sw, "stride_h": v.sh, "filter_w": v.kw, "filter_h": v.kh, "activation": NONE}
            self.give(place, name, [x], (v.n, v.oh, v.ow, v.c), padding=_padding(v), **sizes)
        elif each.name == "q_dense":
            x = self.read(each.reads[0], self.made[each.reads[0]].shape)
            weights, bias = self.layer(place, site, site.known[1], 0)
            options = {"activation": _check_activation(site, attrs["y_zero"])}
            self.give(place, "FULLY_CONNECTED", [x, weights, bias], each.shape, **options)
        elif each.name == "q_softmax":
            self.give(place, "SOFTMAX", [self.read(each.reads[0], each.shape)], each.shape, beta=1.0)
        elif each.name == "reshape":
            self.of[place] = self.read(each.reads[0], each.shape)
        else:
            shape = self.tensors[self.of[each.reads[0]]].shape
            reads = [self.read(read, shape) for read in each.reads]
            activation = _check_activation(site, attrs["y_zero"])
            self.give(place, each.name.removeprefix("q_").upper(), reads, shape, activation=activation)

    def layer(self, place: int, site: Site, weights: np.ndarray, axis: int) -> tuple[int, int]:
        """Weights and bias, by the ratio of the scales around them."""
        attrs = site.attrs
        x, y = self.affine[self.made[place].reads[0]][0], self.affine[place][0]
        ratios = np.array(attrs["multipliers"], np.float64) / 2.0 ** np.array(attrs["shifts"], np.float64)
        scales = np.maximum(ratios * y / x, 1e-30)
        first = self.constant(f"w{place}", np.ascontiguousarray(weights), scales.tolist(), axis)
        second = self.constant(f"b{place}", site.known[2].astype(np.int32), (scales * x).tolist())
        return first, second

    def conv(self, place: int, site: Site, v: Window) -> None:
        attrs = site.attrs
        x = self.read(self.made[place].reads[0], (v.n, v.h, v.w, v.c))
        padding = _padding(v)
        if padding is None:
            x, padding = self.padded(place, x, v), VALID
        options = {"padding": padding, "stride_w": v.sw, "stride_h": v.sh, "dilation_w": v.dw, "dilation_h": v.dh,
                   "activation": _check_activation(site, attrs["y_zero"])}  # fmt: skip
        shape = (v.n, v.oh, v.ow, v.o)
        rows = site.known[1].reshape(v.o, v.kh, v.kw, -1)
        if attrs["groups"] > 1:
            weights, bias = self.layer(place, site, np.moveaxis(rows[..., 0], 0, -1)[None], 3)
            self.give(place, "DEPTHWISE_CONV_2D", [x, weights, bias], shape, multiplier=1, **options)
        else:
            weights, bias = self.layer(place, site, rows, 0)
            self.give(place, "CONV_2D", [x, weights, bias], shape, **options)

    def padded(self, place: int, x: int, v: Window) -> int:
        """The operand with its padding around it, as far as windows reach."""
        bottom, right = (
            max(0, (result - 1) * step - before + (kernel - 1) * apart + 1 - size)
            for result, step, before, kernel, apart, size in (
                (v.oh, v.sh, v.ph, v.kh, v.dh, v.h),
                (v.ow, v.sw, v.pw, v.kw, v.dw, v.w),
            )
        )
        around = self.constant(f"around{place}", np.array([[0, 0], [v.ph, bottom], [v.pw, right], [0, 0]], np.int32))
        made = self.value(self.made[place].reads[0], (v.n, v.h + v.ph + bottom, v.w + v.pw + right, v.c))
        self.operators.append(Operator(name="PAD", reads=(x, around), write=made))
        return made


def _picture(shape: Sequence[int], is_picture: bool) -> tuple[int, ...]:
    """A row as a picture of one row, where a convolution reads it."""
    return (shape[0], 1, *shape[1:]) if is_picture and len(shape) == 3 else tuple(shape)


class _Affine:
    """Scale and zero point of each value, as the instructions around it state them."""

    def __init__(self, region: Region) -> None:
        self.made = region.program.instructions
        self.scales: dict[int, float] = {}
        self.zeros: dict[int, int] = {}
        for _ in range(2):  # the second time for what a reshape hands back from its readers
            for place, each in enumerate(self.made):
                if each.name in ("reshape", "q_pool_max_last"):
                    self._same(each.reads[0], place)
                elif each.name not in LEAVES:
                    self._told(place, each)

    def _told(self, place: int, each: Instruction) -> None:
        attrs = each.attributes
        operands = ("a", "b") if "a_zero" in attrs else ("x",)
        for where, name in ((place, "y"), *zip(each.reads, operands, strict=False)):
            if f"{name}_scale" in attrs:
                self.scales[where] = float(attrs[f"{name}_scale"])
            if f"{name}_zero" in attrs:
                self.zeros[where] = int(attrs[f"{name}_zero"])

    def _same(self, first: int, second: int) -> None:
        for known in (self.scales, self.zeros):
            for one, other in ((first, second), (second, first)):
                if one in known:
                    known.setdefault(other, known[one])  # type: ignore[arg-type]

    def __getitem__(self, place: int) -> tuple[float, int]:
        return self.scales.get(place, 1.0), self.zeros.get(place, 0)


def network_of(region: Region) -> Network:
    """A region as a network of TensorFlow Lite; each of its instructions was taken."""
    return _Writer(region).network()
