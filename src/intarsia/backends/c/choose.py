"""Which kernels compute an instruction: the tables of all families, and what of the lowering has no C."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from intarsia.backends.c.kernels import convolutions, indexing, loop, movement, pools, products, reduction, windows
from intarsia.backends.c.kernels.integers import convolutions as integer_convolutions
from intarsia.backends.c.kernels.integers import elementwise as integer_elementwise
from intarsia.backends.c.kernels.integers import pools as integer_pools
from intarsia.backends.c.kernels.integers import quantize
from intarsia.backends.c.kernels.scalars import OF_FLOATS, number
from intarsia.backends.c.site import Maker, NoKernelError, Site, function, indented
from intarsia.backends.lowering.program import Instruction
from intarsia.codegen.emit import TYPES
from intarsia.codegen.module import Kernel, Result

_FAMILIES: Sequence[Mapping[str, Maker]] = (
    convolutions.MAKERS,
    indexing.MAKERS,
    integer_convolutions.MAKERS,
    integer_elementwise.MAKERS,
    integer_pools.MAKERS,
    quantize.MAKERS,
    loop.MAKERS,
    movement.MAKERS,
    pools.MAKERS,
    products.MAKERS,
    reduction.MAKERS,
    windows.MAKERS,
)
MAKERS: Mapping[str, Maker] = MappingProxyType({name: make for family in _FAMILIES for name, make in family.items()})
"""Who makes the kernels of an instruction. A family is added here; no instruction is in two of them."""
_OF_NOTHING = {"reduce_sum": 0, "reduce_prod": 1}
"""What comes of an instruction whose operand has no elements."""


def kernels_for(site: Site) -> Sequence[Kernel]:
    """Every way to compute an instruction, best guess first; at least one.

    Raises:
        NoKernelError: There is none.
    """
    reason = lack(site.each, site.reads)
    if reason is not None:
        raise NoKernelError(reason)
    if any(0 in read.shape for read in site.reads) and site.each.name in _OF_NOTHING:
        return (_filled(site),)
    return MAKERS[site.each.name](site)


def lack(each: Instruction, reads: Sequence[Instruction]) -> str | None:
    """Why there is no C for an instruction on what these compute, or ``None``."""
    if each.name not in MAKERS:
        return f"c has no {each.name}"
    strange = sorted({each.dtype, *(read.dtype for read in reads)} - TYPES.keys())
    if strange:
        return f"c has no {each.name} of {strange[0]}"
    if each.name in OF_FLOATS and "float" not in each.dtype:
        return f"c has no {each.name} of {each.dtype}"
    empty = any(0 in read.shape for read in reads) and 0 not in each.shape
    if empty and each.name not in ("concat", "pad", *_OF_NOTHING):
        return f"c has no {each.name} of nothing"
    return None


def _filled(site: Site) -> Kernel:
    value = number(_OF_NOTHING[site.each.name], site.each.dtype)
    lines = [f"for (size_t i = 0; i < {site.size}u; ++i) {{", f"    y[i] = {value.text};", "}"]
    made = function("fill", f"{site.type} *y", indented(lines))
    return Kernel(functions=(made,), arguments=(Result(),))
