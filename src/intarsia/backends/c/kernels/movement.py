"""Instructions that move elements and compute nothing: transposed, repeated, cut, padded, put together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from types import MappingProxyType

from intarsia.backends.c.kernels.loop import INDEPENDENT, index, merged, nested
from intarsia.backends.c.kernels.scalars import number
from intarsia.backends.c.site import Maker, Site, function, indented, strides_of
from intarsia.codegen.module import BYTES, Kernel, Operand, Result

_TILE = 16
"""Rows and columns of the square that is turned at one time: as much as lies in the nearest cache."""


def _strided(site: Site) -> Sequence[Kernel]:
    """Each dimension of the result goes through the operand in a step of its own."""
    start, steps = _walk(site)
    sizes, (steps,) = _without_ones(site.each.shape, steps)
    return [_kernel(site, _copied(site, sizes, steps, start))]


def _walk(site: Site) -> tuple[int, list[int]]:
    """Where the first element of the result lies in the operand, and the step for each dimension of the result."""
    read = site.reads[0].shape
    own = strides_of(read)
    if site.each.name == "transpose":
        return 0, [own[axis] for axis in site.attrs["order"]]
    if site.each.name == "slice":
        start = sum(first * step for first, step in zip(site.attrs["starts"], own, strict=True))
        return start, [by * step for by, step in zip(site.attrs["steps"], own, strict=True)]
    if site.each.name == "expand":
        aligned = [1] * (len(site.each.shape) - len(read)) + list(read)
        rows = zip(aligned, site.each.shape, strides_of(aligned), strict=True)
        return 0, [0 if size == 1 and whole != 1 else step for size, whole, step in rows]
    return 0, strides_of(site.each.shape)


def _without_ones(shape: Sequence[int], steps: Sequence[int]) -> tuple[list[int], list[list[int]]]:
    """As few dimensions as say the same, by where the result lies and where the operand does."""
    sizes, (_, ours) = merged(shape, [strides_of(shape), steps])
    return sizes, [ours]


def _copied(site: Site, sizes: Sequence[int], steps: Sequence[int], start: int) -> list[str]:
    to = strides_of(sizes)
    names = [f"i{axis}" for axis in range(len(sizes))]
    if steps[-1] == 1 and sizes[-1] * BYTES[site.each.dtype] >= 16:
        rows = names[:-1]
        line = f"memcpy(y + {index(rows, to[:-1])}, x + {_place(rows, steps[:-1], start)}, {sizes[-1]}u * sizeof(*y));"
        return nested(rows, sizes[:-1], [line], independent=False)
    if len(sizes) >= 2 and 1 in steps and min(sizes[steps.index(1)], sizes[-1]) > 4 and steps[-1] > 1:
        return _turned(sizes, steps, to, start)
    return nested(names, sizes, [f"y[{index(names, to)}] = x[{_place(names, steps, start)}];"])


def _turned(sizes: Sequence[int], steps: Sequence[int], to: Sequence[int], start: int) -> list[str]:
    """In squares, where neighbours of the operand are far apart in the result."""
    near, last = list(steps).index(1), len(sizes) - 1
    outer = [axis for axis in range(last) if axis != near]
    names = [f"i{axis}" for axis in range(len(sizes))]
    move = [f"y[{index(names, to)}] = x[{_place(names, steps, start)}];"]
    lines: list[str] = [
        f"const size_t r{axis} = b{axis} + {_TILE} < {sizes[axis]}u ? b{axis} + {_TILE} : {sizes[axis]}u;"
        for axis in (near, last)
    ]
    inner = [f"for (size_t i{last} = b{last}; i{last} < r{last}; ++i{last}) {{", *(f"    {each}" for each in move), "}"]
    lines += [
        f"for (size_t i{near} = b{near}; i{near} < r{near}; ++i{near}) {{",
        "    INDEPENDENT",
        *(f"    {line}" for line in inner),
        "}",
    ]
    for axis in (last, near):
        head = f"for (size_t b{axis} = 0; b{axis} < {sizes[axis]}u; b{axis} += {_TILE}) {{"
        lines = [head, *(f"    {line}" for line in lines), "}"]
    return nested([f"i{axis}" for axis in outer], [sizes[axis] for axis in outer], lines, independent=False)


def _place(names: Sequence[str], steps: Sequence[int], start: int) -> str:
    """Where an element of the operand lies; steps may go backwards."""
    forward = [f"{name} * {step}" if step != 1 else name for name, step in zip(names, steps, strict=True) if step > 0]
    back = "".join(f" - {name} * {-step}" for name, step in zip(names, steps, strict=True) if step < 0)
    text = " + ".join([*([str(start)] if start or back else []), *forward]) or "0"
    if not back:
        return text
    return f"{start}u{''.join(f' + {each}' for each in forward)}{back}"


def _kernel(site: Site, lines: Sequence[str]) -> Kernel:
    made = function(
        site.each.name,
        f"const {site.type} *x, {site.type} *y",
        indented(lines),
        needs=(INDEPENDENT,),
        headers=("<string.h>",),
    )
    return Kernel(functions=(made, INDEPENDENT), arguments=(Operand(place=0), Result()))


def _pad(site: Site) -> Sequence[Kernel]:
    """The filling everywhere, then the operand into the middle."""
    shape, read = site.each.shape, site.reads[0].shape
    to = strides_of(shape)
    start = sum(before * step for before, step in zip(site.attrs["before"], to, strict=True))
    value = number(site.attrs["value"], site.each.dtype)
    lines = nested(["i"], [site.size], [f"y[i] = {value.text};"])
    if 0 not in read:
        sizes, (ours, theirs) = merged(read, [to, strides_of(read)])
        names = [f"i{axis}" for axis in range(len(sizes))]
        if ours[-1] == theirs[-1] == 1:
            where, source = index(names[:-1], ours[:-1]), index(names[:-1], theirs[:-1])
            move = [f"memcpy(y + {start} + {where}, x + {source}, {sizes[-1]}u * sizeof(*y));"]
            lines += nested(names[:-1], sizes[:-1], move, independent=False)
        else:
            lines += nested(names, sizes, [f"y[{start} + {index(names, ours)}] = x[{index(names, theirs)}];"])
    made = function(
        "pad",
        f"const {site.type} *x, {site.type} *y",
        indented(lines if 0 not in read else [*lines, "(void)x;"]),
        needs=(INDEPENDENT,),
        headers=("<string.h>", *value.headers),
    )
    return [Kernel(functions=(made, INDEPENDENT), arguments=(Operand(place=0), Result()))]


def _concat(site: Site) -> Sequence[Kernel]:
    """Row after row of each operand."""
    axis, shape = site.attrs["axis"], site.each.shape
    outer, row = prod(shape[:axis]), prod(shape[axis:])
    lines, offset = [], 0
    places = [place for place, read in enumerate(site.reads) if 0 not in read.shape]
    for place in places:
        part = prod(site.reads[place].shape[axis:])
        move = f"memcpy(y + i * {row} + {offset}, x{place} + i * {part}, {part}u * sizeof(*y));"
        lines += nested(["i"], [outer], [move], independent=False)
        offset += part
    parameters = ", ".join([*(f"const {site.type} *x{place}" for place in places), f"{site.type} *y"])
    made = function("concat", parameters, indented(lines), headers=("<string.h>",))
    return [Kernel(functions=(made,), arguments=(*(Operand(place=place) for place in places), Result()))]


MAKERS: Mapping[str, Maker] = MappingProxyType(
    dict.fromkeys(("transpose", "slice", "expand", "reshape"), _strided) | {"pad": _pad, "concat": _concat}
)
