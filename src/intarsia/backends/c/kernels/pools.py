"""Pools of channels-last values: the greatest, or the sum, of what of a window lies inside, channel by channel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from types import MappingProxyType

from intarsia.backends.c.kernels.loop import INDEPENDENT, index, nested
from intarsia.backends.c.kernels.reduction import start
from intarsia.backends.c.kernels.scalars import scalar
from intarsia.backends.c.kernels.windows import window
from intarsia.backends.c.site import Maker, Site, function, indented, strides_of
from intarsia.codegen.module import Kernel, Operand, Result


def _pool(site: Site) -> Sequence[Kernel]:
    (batch, *sizes, channels), (_, *shape, _) = site.reads[0].shape, site.each.shape
    rank, dtype, kind = len(sizes), site.each.dtype, site.type
    at = [f"p{axis}" for axis in range(rank)]
    walk = window(site.attrs, site.attrs["kernel"], sizes, at)
    name = "max" if site.each.name == "pool_max_last" else "add"
    one = scalar(name, dtype, (dtype, dtype), ("s", "e"))
    first = start(name, dtype)
    row = [
        f"const {kind} *const from = x + (n * {prod(sizes)} + {walk.source}) * {channels};",
        *nested(["c"], [channels], ["const " + f"{kind} e = from[c], s = to[c];", f"to[c] = {one.text};"]),
    ]
    body = [
        f"{kind} *const to = y + (n * {prod(shape)} + {index(at, strides_of(shape))}) * {channels};",
        *nested(["c"], [channels], [f"to[c] = {first.text};"]),
        *walk.around(row),
    ]
    lines = nested(["n", *at], [batch, *shape], body, independent=False)
    made = function(
        site.each.name,
        f"const {kind} *x, {kind} *y",
        indented(lines),
        needs=(INDEPENDENT, *one.needs),
        headers=(*first.headers, *one.headers),
    )
    return [Kernel(functions=(made, INDEPENDENT, *one.needs), arguments=(Operand(place=0), Result()))]


MAKERS: Mapping[str, Maker] = MappingProxyType({"pool_max_last": _pool, "pool_sum_last": _pool})
