"""Convolutions and products of matrices as calls of CMSIS-NN, each with the memory that the library's own rules say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from types import MappingProxyType

import numpy as np

from intarsia.backends.c.kernels.integers.layer import Layer
from intarsia.backends.c.kernels.integers.window import Window
from intarsia.backends.c.site import Maker, NoKernelError, Site
from intarsia.backends.cmsis_nn.text import call, check_sizes, context, dims, scales, struct
from intarsia.codegen.module import Given, Kernel, Operand, Result, Table

_BLOCK = 124
"""Channels that the depthwise convolution with vectors takes at a time: ``CH_IN_BLOCK_MVE``."""
_SCALES = "const cmsis_nn_per_channel_quant_params scales = {(int32_t *)multipliers, (int32_t *)shifts};"


def _convolution(site: Site) -> Sequence[Kernel]:
    layer = Layer.of(site)
    v = Window.of(site, site.reads[1].shape[1:-1])
    if min(v.ph, v.pw) < 0:
        raise NoKernelError("negative padding")
    check_sizes(site, v.h, v.w, v.c, v.oh, v.ow, v.o, v.kh, v.kw, v.sh, v.sw, v.dh, v.dw, v.ph, v.pw)
    groups = site.attrs["groups"]
    if groups == v.c and groups > 1:
        return (_depthwise(site, v, layer),)
    if v.taps * (v.c // groups) > 4 * 65535:
        raise NoKernelError("windows of more than 262,140 elements")
    if groups == 1 and v.taps == 1 and not v.needs_padding:
        return (_point(site, v, layer),)
    return (_windows(site, v, layer),)


def _parameters(v: Window, layer: Layer, multiplier: int | None = None) -> dict[str, str | int]:
    own: dict[str, str | int] = {} if multiplier is None else {"ch_mult": multiplier}
    return {
        "input_offset": -layer.x_zero,
        "output_offset": layer.y_zero,
        **own,
        "stride": f"{{{v.sw}, {v.sh}}}",
        "padding": f"{{{v.pw}, {v.ph}}}",
        "dilation": f"{{{v.dw}, {v.dh}}}",
        "activation": f"{{{layer.low}, {layer.high}}}",
    }


def _reach(layer: Layer) -> np.ndarray:
    """The greatest magnitude of each accumulator: `Layer.reach` has the zero point in its bias."""
    return np.asarray(layer.reach, np.float64)


def _constants(site: Site, layer: Layer, weights: np.ndarray) -> list[tuple[str, Given]]:
    found = scales(layer.fitted, layer.shift, _reach(layer))
    bias = np.ascontiguousarray(site.known[2].astype(np.int32))
    return [
        ("const int8_t *x", Operand(place=0)),
        ("const int8_t *weights", Table(array=np.ascontiguousarray(weights))),
        ("const int32_t *bias", Table(array=bias)),
        ("const int32_t *multipliers", Table(array=found[0])),
        ("const int32_t *shifts", Table(array=found[1])),
        ("int8_t *y", Result()),
    ]


def _lines(name: str, kind: str, v: Window, fields: Mapping[str, str | int], filter_: str, scratch: int) -> list[str]:
    return [
        struct(kind, "parameters", fields),
        dims("from", v.n, v.h, v.w, v.c),
        filter_,
        dims("biases", 1, 1, 1, v.o),
        dims("to", v.n, v.oh, v.ow, v.o),
        _SCALES,
        context(scratch),
        f"(void){name}(&context, &parameters, &scales, &from, x, &filter, weights, &biases, bias, &to, y);",
    ]


def _point(site: Site, v: Window, layer: Layer) -> Kernel:
    """A product of matrices; where it steps, one for each row. The dilation of one tap says nothing."""
    v = replace(v, dh=1, dw=1)
    is_dense = (v.sh, v.sw) == (1, 1)
    name = "convolve_1x1_s8_fast" if is_dense else "convolve_1x1_s8"
    filter_ = dims("filter", v.o, 1, 1, v.c)
    lines = _lines(f"arm_{name}", "cmsis_nn_conv_params", v, _parameters(v, layer), filter_, 0)
    return call(site, name, _constants(site, layer, layer.rows), lines)


def _windows(site: Site, v: Window, layer: Layer) -> Kernel:
    """Columns of windows, two or four at a time, times the weights."""
    groups = site.attrs["groups"]
    if v.taps == 1:  # of one tap the dilation says nothing, but keeps the library from functions that know no padding
        v = replace(v, dh=2, dw=2)
    if _is_row(v, groups) and site.processor.has_mve and not is_exact_row(v):
        # The same numbers as one column: another function of the library, which looks at each element's place.
        v = replace(v, h=v.w, w=v.h, oh=v.ow, ow=v.oh, kh=v.kw, kw=v.kh, sh=v.sw, sw=v.sh, dh=v.dw, dw=v.dh, ph=v.pw,
                    pw=v.ph)  # fmt: skip
    scratch = convolution_scratch(v, groups, has_mve=site.processor.has_mve)
    filter_ = dims("filter", v.o, v.kh, v.kw, v.c // groups)
    fields = _parameters(v, layer)
    lines = _lines("arm_convolve_wrapper_s8", "cmsis_nn_conv_params", v, fields, filter_, scratch)
    # A group at a time, it comes back to the first pixel; and rows of one product are filled out of order.
    in_place = {0: v.ahead} if groups == 1 and not (_is_row(v, groups) and site.processor.has_mve) else {}
    constants = _constants(site, layer, layer.rows)
    return call(site, "convolve", constants, lines, scratch=scratch, in_place=in_place)


def _is_row(v: Window, groups: int) -> bool:
    """Whether the library takes its function for one row: ``arm_nn_is_convolve_1_x_n``."""
    return v.h == 1 and v.kh == 1 and v.dw == 1 and v.sw * v.c % 4 == 0 and groups == 1


def _row(v: Window) -> tuple[int, int, int, int]:
    """Padding in all, by how much its end is more, and the results that touch the padding at the start and the end."""
    total = (v.ow - 1) * v.sw + v.kw - v.w
    more = total - 2 * int(total / 2)  # the sign of C
    right = max(1, -(-(v.pw + more) // v.sw)) if v.pw + more else 0
    left = max(1, -(-v.pw // v.sw)) if v.pw else 0
    return total, more, left, right


def is_exact_row(v: Window) -> bool:
    """Whether ``arm_convolve_1_x_n_s8`` with vectors reads what the convolution does.

    It copies the first and the last elements beside padding, once, and takes for granted that padding is even, that
    the first result at the end lacks one element, and that there is a window's worth of elements at all.
    """
    total, more, left, right = _row(v)
    inner = max(v.ow - left - right, 0)
    if total < 0 or v.pw * 2 + more != total or left + inner + right != v.ow or (v.kw > v.w and (left or right)):
        return False
    first = v.sw * (left + inner) - v.pw
    reaches = right == 0 or first + v.kw == v.w + 1
    padded = right if more else v.pw
    return reaches and (right == 0 or (right - 1) * v.sw + v.kw <= v.kw - 1 + padded)


def convolution_scratch(v: Window, groups: int, *, has_mve: bool) -> int:
    """Bytes, as ``arm_convolve_wrapper_s8_get_buffer_size`` says."""
    columns = v.taps * v.c
    whole = 4 * 16 * -(-columns // 16) if has_mve else 4 * -(-columns // 4) * 4
    if not has_mve or not _is_row(v, groups):
        return whole
    _, more, left, right = _row(v)
    if right + max(v.ow - left - right, 0) + left != v.ow:
        return whole
    elements = v.kw * v.c
    end = right * v.c if more else v.pw * v.c
    return max(elements + v.pw * v.c, elements - v.c + end)


def _depthwise(site: Site, v: Window, layer: Layer) -> Kernel:
    multiplier = v.o // v.c
    plain = multiplier == 1 and v.n == 1 and (v.dh, v.dw) == (1, 1)
    processor = site.processor
    name = "depthwise_conv_s8"
    if plain and not processor.has_mve and (v.kh, v.kw) == (3, 3) and max(v.ph, v.pw) <= 1 and _lacks_one_column(v):
        name = "depthwise_conv_3x3_s8"
    elif plain:
        name = "depthwise_conv_s8_opt"
    scratch = 0
    if name == "depthwise_conv_s8_opt":
        scratch = depthwise_scratch(v, has_dsp=processor.has_dsp, has_mve=processor.has_mve)
    filter_ = dims("filter", 1, v.kh, v.kw, v.o)
    fields = _parameters(v, layer, multiplier)
    lines = _lines(f"arm_{name}", "cmsis_nn_dw_conv_params", v, fields, filter_, scratch)
    weights = layer.rows.T.reshape(v.kh, v.kw, v.o)
    in_blocks = name == "depthwise_conv_s8_opt" and processor.has_mve and v.c > _BLOCK
    in_place = {} if in_blocks else {0: v.ahead}
    return call(site, name, _constants(site, layer, weights), lines, scratch=scratch, in_place=in_place)


def _lacks_one_column(v: Window) -> bool:
    """Whether no window of three columns ends more than one beyond the operand, which is all that is looked for."""
    return (v.ow - 1) * v.sw - v.pw + 3 <= v.w + 1


def depthwise_scratch(v: Window, *, has_dsp: bool, has_mve: bool) -> int:
    """Bytes, as ``arm_depthwise_conv_s8_opt_get_buffer_size`` says."""
    if has_mve:
        return 4 * _BLOCK * v.taps
    return 2 * v.c * v.taps if has_dsp else 0


def _dense(site: Site) -> Sequence[Kernel]:
    layer = Layer.of(site)
    rows, (outer, inner) = prod(site.each.shape[:-1]), layer.rows.shape
    kernel = _fully_connected(site, layer, rows)
    if rows == 1 or max(inner, outer) > 32767:
        return (kernel,)
    v = Window(n=1, h=1, w=rows, c=inner, oh=1, ow=rows, o=outer, kh=1, kw=1, sh=1, sw=1, dh=1, dw=1, ph=0, pw=0)
    return (_point(site, v, layer), kernel)


def _fully_connected(site: Site, layer: Layer, rows: int) -> Kernel:
    outer, inner = layer.rows.shape
    constants = _constants(site, layer, layer.rows)
    is_one = len(set(layer.fitted.tolist())) == 1
    has_mve = site.processor.has_mve
    name = "fully_connected_s8" if is_one else "fully_connected_per_channel_s8"
    sums = "NULL"
    if has_mve:
        # With vectors the sums of the weights' rows are asked for, bias and all: they are known now.
        constants.insert(5, ("const int32_t *sums", Table(array=layer.bias.astype(np.int32))))
        sums = "(void *)sums"
    if is_one:
        constants = [each for each in constants if not each[0].endswith(("multipliers", "shifts"))]
        one = scales(layer.fitted[:1], layer.shift, _reach(layer).max(keepdims=True))
        attrs = f"static const cmsis_nn_per_tensor_quant_params scales = {{{one[0, 0]}, {one[1, 0]}}};"
    else:
        attrs = _SCALES
    fields: dict[str, str | int] = {
        "input_offset": -layer.x_zero,
        "filter_offset": 0,
        "output_offset": layer.y_zero,
        "activation": f"{{{layer.low}, {layer.high}}}",
    }
    lines = [
        struct("cmsis_nn_fc_params", "parameters", fields),
        dims("from", rows, 1, 1, inner),
        dims("filter", inner, 1, 1, outer),
        dims("biases", 1, 1, 1, outer),
        dims("to", rows, 1, 1, outer),
        attrs,
        f"const cmsis_nn_context context = {{{sums}, {4 * outer if has_mve else 0}}};",
        f"(void)arm_{name}(&context, &parameters, &scales, &from, x, &filter, weights, &biases, bias, &to, y);",
    ]
    return call(site, name.removesuffix("_s8"), constants, lines)


MAKERS: Mapping[str, Maker] = MappingProxyType({"q_conv_last": _convolution, "q_dense": _dense})
