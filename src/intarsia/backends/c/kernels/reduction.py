"""Instructions over whole dimensions: sums and the like, the place of the greatest, running sums, softmax."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from types import MappingProxyType

from intarsia.backends.c.kernels.loop import INDEPENDENT, index, nested
from intarsia.backends.c.kernels.scalars import Scalar, is_float, number, scalar
from intarsia.backends.c.site import Maker, Site, function, indented, strides_of
from intarsia.codegen.module import BYTES, Function, Kernel, Operand, Result

_PARTS = 16
"""Sums that are kept apart until the end: as many as a vector may have, so that a compiler makes one of them."""
_OVER = {"reduce_sum": "add", "reduce_mean": "add", "reduce_prod": "mul", "reduce_max": "max", "reduce_min": "min"}


def lowest(dtype: str) -> Scalar:
    """What no number of a type is less than."""
    if is_float(dtype):
        return number(float("-inf"), dtype)
    return number(0 if dtype[0] in "ub" else -(1 << (8 * BYTES[dtype] - 1)), dtype)


def highest(dtype: str) -> Scalar:
    """What no number of a type is greater than."""
    if is_float(dtype):
        return number(float("inf"), dtype)
    bits = 8 * BYTES[dtype]
    return number(1 if dtype == "bool" else (1 << (bits if dtype[0] == "u" else bits - 1)) - 1, dtype)


def start(name: str, dtype: str) -> Scalar:
    """What nothing was added to yet."""
    whole = {"add": 0, "mul": 1}
    return number(whole[name], dtype) if name in whole else (lowest if name == "max" else highest)(dtype)


def _reduce(site: Site) -> Sequence[Kernel]:
    sizes, over = _runs(site.reads[0].shape, site.attrs["axes"])
    steps = strides_of(sizes)
    kept = [axis for axis in range(len(sizes)) if not over[axis]]
    to = dict(zip(kept, strides_of([sizes[axis] for axis in kept]), strict=True))
    lines, needs = (_across if not over[-1] else _along)(site, sizes, over, steps, to)
    made = function(
        site.each.name,
        f"const {site.type_of(0)} *x, {site.type} *y",
        indented(lines),
        needs=(INDEPENDENT, *needs),
        headers=("<math.h>",),
    )
    return [Kernel(functions=(made, INDEPENDENT, *needs), arguments=(Operand(place=0), Result()))]


def _runs(shape: Sequence[int], axes: Sequence[int]) -> tuple[list[int], list[bool]]:
    """Neighbours of one sort as one dimension."""
    sizes: list[int] = []
    over: list[bool] = []
    for axis, size in enumerate(shape):
        is_over = axis in axes
        if size == 1:
            continue
        if over and over[-1] == is_over:
            sizes[-1] *= size
        else:
            sizes.append(size)
            over.append(is_over)
    return (sizes, over) if sizes else ([1], [True])


def _along(
    site: Site, sizes: Sequence[int], over: Sequence[bool], steps: Sequence[int], to: Mapping[int, int]
) -> tuple[list[str], tuple[Function, ...]]:
    """Elements that become one lie side by side."""
    dtype, name = site.each.dtype, _OVER[site.each.name]
    names = [f"i{axis}" for axis in range(len(sizes))]
    kept = list(to)
    one = scalar(name, dtype, (dtype, dtype), ("sum", "e"))
    part = scalar(name, dtype, (dtype, dtype), ("p", "e"))
    first = start(name, dtype).text
    between = [axis for axis in range(len(sizes) - 1) if over[axis]]
    count = sizes[-1]
    whole = count - count % _PARTS if count >= 2 * _PARTS else 0
    row = [f"const {site.type} *row = x + {index(names[:-1], steps[:-1])};"]
    lines = [f"{site.type} sum = {first};"]
    if whole:
        lines += [f"{site.type} lanes[{_PARTS}];", *_each_part(f"lanes[k] = {first};")]
        row += [
            f"for (size_t i = 0; i < {whole}u; i += {_PARTS}) {{",
            *(f"    {line}" for line in _each_part(
                f"const {site.type} p = lanes[k], e = row[i + k];", f"lanes[k] = {part.text};")),
            "}",
        ]  # fmt: skip
    if whole < count:
        rest = [f"const {site.type} e = row[i];", f"sum = {one.text};"]
        row += [f"for (size_t i = {whole}; i < {count}u; ++i) {{", *(f"    {line}" for line in rest), "}"]
    lines += nested([names[axis] for axis in between], [sizes[axis] for axis in between], row, independent=False)
    if whole:
        lines += _each_part(f"const {site.type} e = lanes[k];", f"sum = {one.text};")
    at = index([names[axis] for axis in kept], [to[axis] for axis in kept])
    lines.append(f"y[{at}] = {_mean(site, 'sum')};")
    whole_text = nested([names[axis] for axis in kept], [sizes[axis] for axis in kept], lines, independent=False)
    return (whole_text if kept else lines), one.needs


def _each_part(*statements: str) -> list[str]:
    return [f"for (size_t k = 0; k < {_PARTS}u; ++k) {{", *(f"    {each}" for each in statements), "}"]


def _across(
    site: Site, sizes: Sequence[int], over: Sequence[bool], steps: Sequence[int], to: Mapping[int, int]
) -> tuple[list[str], tuple[Function, ...]]:
    """Elements that become one lie apart, and their neighbours become neighbours."""
    dtype, name = site.each.dtype, _OVER[site.each.name]
    names = [f"i{axis}" for axis in range(len(sizes))]
    last = len(sizes) - 1
    outer = [axis for axis in to if axis != last]
    one = scalar(name, dtype, (dtype, dtype), ("a", "e"))
    row = [
        f"const {site.type} *row = x + {index(names[:-1], steps[:-1])};",
        *nested(["i"], [sizes[last]],
                [f"const {site.type} a = to[i], e = row[i];", f"to[i] = {one.text};"]),
    ]  # fmt: skip
    between = [axis for axis in range(last) if over[axis]]
    lines = [f"{site.type} *to = y + {index([names[axis] for axis in outer], [to[axis] for axis in outer])};"]
    lines += nested(["i"], [sizes[last]], [f"to[i] = {start(name, dtype).text};"])
    lines += nested([names[axis] for axis in between], [sizes[axis] for axis in between], row, independent=False)
    if site.each.name == "reduce_mean":
        lines += nested(["i"], [sizes[last]], [f"to[i] = {_mean(site, 'to[i]')};"])
    return nested([names[axis] for axis in outer], [sizes[axis] for axis in outer], lines, independent=False), one.needs


def _mean(site: Site, text: str) -> str:
    if site.each.name != "reduce_mean":
        return text
    count = prod(site.reads[0].shape[axis] for axis in site.attrs["axes"])
    if is_float(site.each.dtype):
        return f"{text} / {number(count, site.each.dtype).text}"
    wide = "uint64_t" if site.each.dtype == "uint64" else "int64_t"
    return f"({site.type})(({wide}){text} / {count})"


def _arg(site: Site) -> Sequence[Kernel]:
    """The first of equal ones; what is no number counts as most, as in numpy."""
    axis, shape = site.attrs["axis"], site.reads[0].shape
    outer, size, inner = prod(shape[:axis]), shape[axis], prod(shape[axis + 1 :])
    sign, kind = (">" if site.each.name == "argmax" else "<"), site.type_of(0)
    better = f"e {sign} best" + (" || (e != e && best == best)" if is_float(site.reads[0].dtype) else "")
    body = [
        f"const {kind} *row = x + i * {size * inner} + j;",
        f"{kind} best = row[0];",
        "int64_t at = 0;",
        f"for (size_t k = 1; k < {size}u; ++k) {{",
        f"    const {kind} e = row[k * {inner}];",
        f"    if ({better}) {{",
        "        best = e;",
        "        at = (int64_t)k;",
        "    }",
        "}",
        f"y[i * {inner} + j] = at;",
    ]
    lines = nested(["i", "j"], [outer, inner], body, independent=False)
    made = function(site.each.name, f"const {kind} *x, int64_t *y", indented(lines), headers=("<stdint.h>",))
    return [Kernel(functions=(made,), arguments=(Operand(place=0), Result()))]


def _cumulate(site: Site) -> Sequence[Kernel]:
    axis, shape, dtype = site.attrs["axis"], site.each.shape, site.each.dtype
    outer, size, inner = prod(shape[:axis]), shape[axis], prod(shape[axis + 1 :])
    one = scalar("add" if site.each.name == "cumsum" else "mul", dtype, (dtype, dtype), ("a", "e"))
    first = nested(["j"], [inner], ["to[j] = from[j];"])
    step = nested(
        ["j"],
        [inner],
        [f"const {site.type} a = to[j + (k - 1) * {inner}], e = from[j + k * {inner}];",
         f"to[j + k * {inner}] = {one.text};"],
    )  # fmt: skip
    body = [
        f"const {site.type} *from = x + i * {size * inner};",
        f"{site.type} *to = y + i * {size * inner};",
        *first,
        f"for (size_t k = 1; k < {size}u; ++k) {{",
        *(f"    {line}" for line in step),
        "}",
    ]
    made = function(
        site.each.name,
        f"const {site.type} *x, {site.type} *y",
        indented(nested(["i"], [outer], body, independent=False)),
        needs=(INDEPENDENT, *one.needs),
    )
    return [Kernel(functions=(made, INDEPENDENT, *one.needs), arguments=(Operand(place=0), Result()), in_place={0: 0})]


def _softmax(site: Site) -> Sequence[Kernel]:
    """Three walks over a row: the greatest, the exponentials and their sum, the division."""
    axis, shape, kind = site.attrs["axis"], site.each.shape, site.type
    outer, size, inner = prod(shape[:axis]), shape[axis], prod(shape[axis + 1 :])
    exp = scalar("exp", site.each.dtype, (site.each.dtype,), ("low",))
    greater = scalar("max", site.each.dtype, (site.each.dtype,) * 2, ("most", "e"))
    first, zero = lowest(site.each.dtype), number(0, site.each.dtype).text
    if inner == 1:
        body = f"""    for (size_t i = 0; i < {outer}u; ++i) {{
        const {kind} *from = x + i * {size};
        {kind} *to = y + i * {size};
        {kind} most = {first.text}, sum = {zero};
        for (size_t k = 0; k < {size}u; ++k) {{
            const {kind} e = from[k];
            most = {greater.text};
        }}
        INDEPENDENT
        for (size_t k = 0; k < {size}u; ++k) {{
            const {kind} low = from[k] - most;
            to[k] = {exp.text};
        }}
        for (size_t k = 0; k < {size}u; ++k) {{
            sum += to[k];
        }}
        for (size_t k = 0; k < {size}u; ++k) {{
            to[k] /= sum;
        }}
    }}"""
    else:
        body = f"""    for (size_t i = 0; i < {outer}u; ++i) {{
        for (size_t j = 0; j < {inner}u; ++j) {{
            const {kind} *from = x + i * {size * inner} + j;
            {kind} *to = y + i * {size * inner} + j;
            {kind} most = {first.text}, sum = {zero};
            for (size_t k = 0; k < {size}u; ++k) {{
                const {kind} e = from[k * {inner}];
                most = {greater.text};
            }}
            for (size_t k = 0; k < {size}u; ++k) {{
                const {kind} low = from[k * {inner}] - most;
                to[k * {inner}] = {exp.text};
                sum += to[k * {inner}];
            }}
            for (size_t k = 0; k < {size}u; ++k) {{
                to[k * {inner}] /= sum;
            }}
        }}
    }}"""
    made = function(
        "softmax",
        f"const {kind} *x, {kind} *y",
        body,
        needs=(INDEPENDENT, *exp.needs),
        headers=(*exp.headers, *first.headers),
    )
    return [Kernel(functions=(made, INDEPENDENT, *exp.needs), arguments=(Operand(place=0), Result()), in_place={0: 0})]


MAKERS: Mapping[str, Maker] = MappingProxyType(
    dict.fromkeys(_OVER, _reduce)
    | {"argmax": _arg, "argmin": _arg, "cumsum": _cumulate, "cumprod": _cumulate, "softmax": _softmax}
)
