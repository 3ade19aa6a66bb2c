"""Instructions that read or write where numbers say: elements by index, and the order that sorts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from types import MappingProxyType

from intarsia.backends.c.kernels.loop import index, nested
from intarsia.backends.c.kernels.scalars import Scalar, is_float, scalar
from intarsia.backends.c.site import Maker, Site, function, indented, strides_of
from intarsia.codegen.module import Function, Kernel, Operand, Result, Scratch

_HELD = Function(
    name="held_index",
    text="""static inline size_t held_index(int64_t wanted, int64_t size)
{
    return (size_t)(wanted < 0 ? 0 : (wanted < size ? wanted : size - 1));
}""",
    headers=("<stdint.h>", "<stddef.h>"),
)
"""Whatever an index says, nothing outside of the operand is touched."""


def _take(site: Site) -> Sequence[Kernel]:
    axis = site.attrs["axis"]
    read, count = site.reads[0].shape, prod(site.reads[1].shape)
    outer, size, inner = prod(read[:axis]), read[axis], prod(read[axis + 1 :])
    body = [
        f"const size_t k = held_index(indices[j], {size});",
        f"memcpy(y + (i * {count} + j) * {inner}, x + (i * {size} + k) * {inner}, {inner}u * sizeof(*y));",
    ]
    made = function(
        "take",
        f"const {site.type} *x, const int64_t *indices, {site.type} *y",
        indented(nested(["i", "j"], [outer, count], body, independent=False)),
        needs=(_HELD,),
        headers=("<string.h>",),
    )
    return [Kernel(functions=(made, _HELD), arguments=(Operand(place=0), Operand(place=1), Result()))]


def _take_along(site: Site) -> Sequence[Kernel]:
    axis, shape = site.attrs["axis"], site.each.shape
    read = site.reads[0].shape
    names = [f"i{place}" for place in range(len(shape))]
    source = index([*names[:axis], "k", *names[axis + 1 :]], strides_of(read))
    at = index(names, strides_of(shape))
    body = [f"const size_t k = held_index(indices[{at}], {read[axis]});", f"y[{at}] = x[{source}];"]
    made = function(
        "take_along",
        f"const {site.type} *x, const int64_t *indices, {site.type} *y",
        indented(nested(names, shape, body, independent=False)),
        needs=(_HELD,),
    )
    return [Kernel(functions=(made, _HELD), arguments=(Operand(place=0), Operand(place=1), Result()))]


def _scatter_along(site: Site) -> Sequence[Kernel]:
    """In the order of the indices: of several for one place, the last stays."""
    axis, shape, indices = site.attrs["axis"], site.each.shape, site.reads[1].shape
    how, dtype = site.attrs["reduction"], site.each.dtype
    names = [f"i{place}" for place in range(len(indices))]
    at = index(names, strides_of(indices))
    to = index([*names[:axis], "k", *names[axis + 1 :]], strides_of(shape))
    made = Scalar(text="b") if how == "none" else scalar(how, dtype, (dtype, dtype), ("a", "b"))
    body = [f"const size_t k = held_index(indices[{at}], {shape[axis]});"]
    body += [f"const {site.type} a = y[{to}];"] if how != "none" else []
    body += [f"const {site.type} b = updates[{at}];", f"y[{to}] = {made.text};"]
    lines = [
        f"if (y != x) {{\n        memcpy(y, x, {site.size}u * sizeof(*y));\n    }}",
        *nested(names, indices, body, independent=False),
    ]
    written = function(
        "scatter",
        f"const {site.type} *x, const int64_t *indices, const {site.type} *updates, {site.type} *y",
        indented(lines),
        needs=(_HELD, *made.needs),
        headers=("<string.h>", *made.headers),
    )
    arguments = (Operand(place=0), Operand(place=1), Operand(place=2), Result())
    return [Kernel(functions=(written, _HELD, *made.needs), arguments=arguments)]


def _argsort(site: Site) -> Sequence[Kernel]:
    """Runs of growing length are merged, so that equal elements keep their order. What is no number counts as most."""
    axis, shape = site.attrs["axis"], site.each.shape
    outer, size, inner = prod(shape[:axis]), shape[axis], prod(shape[axis + 1 :])
    later = _comes_later(site.attrs["descending"], is_float(site.reads[0].dtype))
    kind = site.type_of(0)
    body = f"""    int64_t *other = scratch;
    int64_t *from = other + {size}, *to = other;
    for (size_t i = 0; i < {outer}u; ++i) {{
        for (size_t j = 0; j < {inner}u; ++j) {{
            const {kind} *row = x + i * {size * inner} + j;
            for (size_t k = 0; k < {size}u; ++k) {{
                from[k] = (int64_t)k;
            }}
            for (size_t run = 1; run < {size}u; run *= 2) {{
                for (size_t first = 0; first < {size}u; first += 2 * run) {{
                    const size_t middle = first + run < {size}u ? first + run : {size}u;
                    const size_t end = middle + run < {size}u ? middle + run : {size}u;
                    size_t left = first, right = middle;
                    for (size_t k = first; k < end; ++k) {{
                        int from_right = right < end;
                        if (left < middle && right < end) {{
                            const {kind} a = row[(size_t)from[left] * {inner}], b = row[(size_t)from[right] * {inner}];
                            from_right = {later};
                        }}
                        to[k] = from_right ? from[right++] : from[left++];
                    }}
                }}
                {{
                    int64_t *const swapped = from;
                    from = to;
                    to = swapped;
                }}
            }}
            for (size_t k = 0; k < {size}u; ++k) {{
                y[(i * {size} + k) * {inner} + j] = from[k];
            }}
        }}
    }}"""
    made = function("argsort", f"const {kind} *x, int64_t *y, void *scratch", body, headers=("<stdint.h>",))
    return [Kernel(functions=(made,), arguments=(Operand(place=0), Result(), Scratch(16 * size)))]


def _comes_later(descending: bool, has_nan: bool) -> str:
    """Whether ``a``, which stands first, belongs behind ``b``."""
    if not has_nan:
        return "a < b" if descending else "a > b"
    return "(a < b || (b != b && a == a))" if descending else "(a > b || (a != a && b == b))"


MAKERS: Mapping[str, Maker] = MappingProxyType(
    {"take": _take, "take_along": _take_along, "scatter_along": _scatter_along, "argsort": _argsort}
)
