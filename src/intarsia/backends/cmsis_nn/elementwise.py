"""Pools, sums, products and softmax as calls of CMSIS-NN, where its roundings are the model's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from math import prod
from types import MappingProxyType

import numpy as np

from intarsia.backends.c.kernels.integers.window import Window
from intarsia.backends.c.site import Maker, NoKernelError, Site
from intarsia.backends.cmsis_nn.text import call, check_sizes, context, dims, scale, struct
from intarsia.backends.lowering.integer.reference import product_scaling
from intarsia.codegen.module import Given, Kernel, Operand, Result

_LEFT = 20
"""Bits that a sum's operands are shifted to the left first, as in TensorFlow Lite."""
_FRACTION, _ACCUMULATED = 5, 31
"""Integer bits of softmax's exponents, and the bits of its numbers."""
_X: list[tuple[str, Given]] = [("const int8_t *x", Operand(place=0)), ("int8_t *y", Result())]


def _pool(site: Site, v: Window, name: str, scratch: int) -> Kernel:
    attrs = site.attrs
    fields: dict[str, str | int] = {
        "stride": f"{{{v.sw}, {v.sh}}}",
        "padding": f"{{{v.pw}, {v.ph}}}",
        "activation": f"{{{attrs['low']}, {attrs['high']}}}",
    }
    lines = [
        struct("cmsis_nn_pool_params", "parameters", fields),
        dims("from", v.n, v.h, v.w, v.c),
        dims("filter", 1, v.kh, v.kw, 1),
        dims("to", v.n, v.oh, v.ow, v.c),
        context(scratch),
        f"(void)arm_{name}_s8(&context, &parameters, &from, x, &filter, &to, y);",
    ]
    return call(site, name, _X, lines, scratch=scratch, in_place={0: v.ahead})


def _window(site: Site) -> Window:
    v = Window.of(site, site.attrs["kernel"])
    if (v.dh, v.dw) != (1, 1):
        raise NoKernelError("pools with dilation")
    if min(v.ph, v.pw) < 0:
        raise NoKernelError("negative padding")
    if min(min(_counts(v.oh, v.sh, v.ph, v.kh, v.h)), min(_counts(v.ow, v.sw, v.pw, v.kw, v.w))) < 1:
        raise NoKernelError("pools with windows of padding alone")
    check_sizes(site, v.h, v.w, v.c, v.oh, v.ow, v.kh, v.kw)
    return v


def _counts(results: int, step: int, before: int, kernel: int, size: int) -> list[int]:
    """How many elements each window has inside the operand, along one dimension."""
    starts = (place * step - before for place in range(results))
    return [min(start + kernel, size) - max(start, 0) for start in starts]


def _max(site: Site) -> Sequence[Kernel]:
    return (_pool(site, _window(site), "max_pool", 0),)


def _average(site: Site) -> Sequence[Kernel]:
    v, attrs = _window(site), site.attrs
    if (attrs["x_scale"], attrs["x_zero"]) != (attrs["y_scale"], attrs["y_zero"]):
        raise NoKernelError("averages in another scale than their operand's: arm_avgpool_s8 rescales nothing")
    rows, columns = set(_counts(v.oh, v.sh, v.ph, v.kh, v.h)), set(_counts(v.ow, v.sw, v.pw, v.kw, v.w))
    counts = {high * wide for high, wide in product(rows, columns)}
    if attrs["divisor"] and counts != {attrs["divisor"]}:
        raise NoKernelError("averages that count padding: arm_avgpool_s8 does not")
    if any(count % 2 == 0 for count in counts):
        raise NoKernelError(
            f"averages of {min(count for count in counts if count % 2 == 0)} elements: arm_avgpool_s8 rounds a half "
            "away from 0, and the model to the even neighbour"
        )
    has_buffer = site.processor.has_dsp and not site.processor.has_mve
    return (_pool(site, v, "avgpool", 4 * v.c if has_buffer else 0),)


def _two(site: Site) -> list[tuple[str, Given]]:
    """Parameters of what reads two values element by element.

    Raises:
        NoKernelError: One is repeated along a dimension.
    """
    if any(read.shape != site.each.shape for read in site.reads):
        raise NoKernelError(f"{site.each.name} of shapes that differ")
    return [
        ("const int8_t *a", Operand(place=0)),
        ("const int8_t *b", Operand(place=1)),
        ("int8_t *y", Result()),
    ]


def _sum(site: Site) -> Sequence[Kernel]:
    attrs, parameters = site.attrs, _two(site)
    most = 2.0 * max(attrs["a_scale"], attrs["b_scale"])
    a, b = (_real(attrs[f"{name}_scale"] / most) for name in ("a", "b"))
    y = _real(most / (2.0**_LEFT * attrs["y_scale"]))
    if y[1] > 0:
        raise NoKernelError("sums in steps much smaller than their operands'")
    arguments = [
        "a", "b", -attrs["a_zero"], *a, -attrs["b_zero"], *b, _LEFT, "y", attrs["y_zero"], *y, attrs["low"],
        attrs["high"], prod(site.each.shape),
    ]  # fmt: skip
    line = f"(void)arm_elementwise_add_s8({', '.join(map(str, arguments))});"
    return (call(site, "elementwise_add", parameters, [line], in_place={0: 0, 1: 0}),)


def _real(number: float) -> tuple[int, int]:
    """A multiplier in Q31 and a shift to the left."""
    fraction, exponent = np.frexp(number)
    multiplier = int(np.rint(float(fraction) * 2.0**31))
    if multiplier == 1 << 31:
        return 1 << 30, int(exponent) + 1
    return (multiplier, int(exponent)) if exponent >= -31 else (0, 0)


def _product(site: Site) -> Sequence[Kernel]:
    attrs, parameters = site.attrs, _two(site)
    multiplier, shift = scale(*product_scaling(attrs), 255.0 * 255.0)
    arguments = [
        "a", "b", -attrs["a_zero"], -attrs["b_zero"], "y", attrs["y_zero"], multiplier, shift, attrs["low"],
        attrs["high"], prod(site.each.shape),
    ]  # fmt: skip
    line = f"(void)arm_elementwise_mul_s8({', '.join(map(str, arguments))});"
    return (call(site, "elementwise_mul", parameters, [line], in_place={0: 0, 1: 0}),)


def _softmax(site: Site) -> Sequence[Kernel]:
    attrs, shape = site.attrs, site.each.shape
    if attrs["axis"] % len(shape) != len(shape) - 1:
        raise NoKernelError("softmax along another axis than the last in memory")
    if (attrs["y_scale"], attrs["y_zero"]) != (1.0 / 256.0, -128):
        raise NoKernelError("softmax in other steps than 1/256 from -128 on")
    real = min(attrs["x_scale"] * 2.0 ** (_ACCUMULATED - _FRACTION), 2.0**31 - 1.0)
    if real <= 1.0:
        raise NoKernelError("softmax of values in steps of less than 2**-26")
    multiplier, shift = _real(real)
    least = -int(np.floor((2.0**_FRACTION - 1.0) * 2.0 ** (_ACCUMULATED - _FRACTION) / 2.0**shift))
    line = f"arm_softmax_s8(x, {prod(shape[:-1])}, {shape[-1]}, {multiplier}, {shift}, {least}, y);"
    return (call(site, "softmax", _X, [line]),)


MAKERS: Mapping[str, Maker] = MappingProxyType(
    {
        "q_add": _sum,
        "q_mul": _product,
        "q_pool_avg_last": _average,
        "q_pool_max_last": _max,
        "q_softmax": _softmax,
    }
)
