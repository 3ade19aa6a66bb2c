"""How the loops of a fused kernel run on a CPU: in parallel, in vectors, and sums of products in registers.

TVM's own default leaves every loop as it was written. Its tuner finds better orders than these, in hours of trials.

A stage of a kernel that sums up says by its attributes how its dimensions can be run (`tvm_kernels`): along ``VECTOR``
neighbours lie side by side in memory; along ``TILE`` what was read for a vector can be used again. -1 means none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

VECTOR, TILE = "intarsia.vector", "intarsia.tile"
"""Attributes of a stage: a dimension of its result."""
_WORTH_THREADS = 1 << 15
"""Steps of a loop below which handing parts of it to other threads takes longer than it saves."""
_PARTS = 16
"""Parts that the outermost loop should at least have, so that threads finish together."""
_LONGEST_TILE = 14
_SUM = 2
"""How TVM marks a dimension that is summed over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Registers:
    """Vector registers of a processor, each of so many bits: AVX has 16, AVX-512 and Neon have 32."""

    count: int
    bits: int

    @classmethod
    def of(cls, device: Any) -> Registers | None:
        """By the features of TVM's target; ``None`` where it writes C, which has no vectors."""
        from tvm.target import codegen

        if device.kind.name != "llvm":
            return None
        bits = int(codegen.llvm_get_vector_width(device))
        return cls(count=16 if bits == 256 else 32, bits=bits)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """What is computed at one time.

    Attributes:
        vector: The dimension of the result that lies in vectors.
        row: The dimension along which one vector that was read serves several results.
        length: Elements along the first.
        rows: Elements along the second.
    """

    vector: int
    row: int
    length: int
    rows: int


def scheduled(function: Any, registers: Registers | None) -> Any:
    """A kernel with its loops in order; one that TVM cannot order stays as it is."""
    from tvm import s_tir

    order = s_tir.Schedule(function)
    try:
        _inline(order)
        blocks = _blocks(order)
        sums = [block for block in blocks if _is_sum(order, block)]
        tile = _tile(order, sums[0], registers) if registers and len(sums) == 1 else None
        if tile is not None:
            last = _in_registers(order, sums[0], tile)
            blocks = [block for block in blocks if _name(order, block) not in (_name(order, sums[0]), last)]
        for block in blocks:
            if _is_sum(order, block):
                _sum(order, block)
            else:
                _spread(order, block)
    except s_tir.ScheduleError:
        return function
    return order.mod["main"]


def _blocks(order: Any) -> list[Any]:
    """The stages that have loops, in running order."""
    return [block for block in order.get_child_blocks(order.get_sblock("root")) if order.get_loops(block)]


def _name(order: Any, block: Any) -> str:
    return str(order.get(block).name_hint)


def _is_sum(order: Any, block: Any) -> bool:
    return any(each.iter_type == _SUM for each in order.get(block).iter_vars)


def _hint(order: Any, block: Any, name: str) -> int | None:
    found = order.get(block).annotations.get(name)
    return None if found is None else int(found)


def _extents(order: Any, loops: Sequence[Any]) -> list[int]:
    return [int(order.get(loop).extent) for loop in loops]


def _inline(order: Any) -> None:
    """Make stages that compute each element by itself a part of those that read them.

    Those stay that are read by a sum which says that it reads each of their elements often, by having a ``TILE``.
    """
    for block in order.get_child_blocks(order.get_sblock("root")):
        readers = order.get_consumers(block)
        if readers and not _is_sum(order, block) and all(_hint(order, each, TILE) is None for each in readers):
            order.compute_inline(block)


def _tile(order: Any, block: Any, registers: Registers) -> Tile | None:
    """The tile for which the fewest elements are read for each product, of those that registers hold."""
    vector, row = _hint(order, block, VECTOR), _hint(order, block, TILE)
    if vector is None or row is None or row < 0:
        return None
    sizes = _spatial(order, block)
    lanes = registers.bits // int(order.get(block).writes[0].source.dtype.bits)
    most = registers.count - registers.count // 8
    fits = [
        (length, rows)
        for length in (lanes // 4, lanes // 2, lanes, 2 * lanes, 4 * lanes)  # LLVM takes vectors of other lengths apart
        for rows in range(1, _LONGEST_TILE + 1)
        if sizes[vector] % length == sizes[row] % rows == 0 and -(-length // lanes) * rows <= most
    ]
    if not fits:
        return None
    length, rows = min(fits, key=lambda each: (-(-each[0] // lanes) + each[1]) / (each[0] * each[1]))
    return Tile(vector=vector, row=row, length=length, rows=rows)


def _spatial(order: Any, block: Any) -> list[int]:
    """The dimensions of a stage's result."""
    return [int(each.dom.extent) for each in order.get(block).iter_vars if each.iter_type != _SUM]


def _in_registers(order: Any, block: Any, tile: Tile) -> str:
    """Sum up a tile in registers before what follows is done with it, and give that stage's name."""
    readers = order.get_consumers(block)
    last = readers[0] if readers else order.cache_write(block, 0, "global")
    rank = len(_spatial(order, block))
    others = [axis for axis in range(rank) if axis != tile.vector]
    order.transform_layout(block, ("write", 0), lambda *index: [*(index[axis] for axis in others), index[tile.vector]])
    loops = order.get_loops(last)
    outer = {axis: loop for axis, loop in enumerate(loops) if axis not in (tile.vector, tile.row)}
    vectors, vector = order.split(loops[tile.vector], [None, tile.length])
    rows, row = order.split(loops[tile.row], [None, tile.rows])
    inner = (row, vector) if tile.vector > tile.row else (vector, row)
    before = [loop for axis, loop in outer.items() if axis < tile.vector]
    after = [loop for axis, loop in outer.items() if axis > tile.vector]
    order.reorder(*before, vectors, *after, rows, *inner)
    if tile.vector == rank - 1:
        order.vectorize(vector)
    parts = [*before, vectors, *after]
    is_few = prod(_extents(order, parts)) < _PARTS
    part = order.fuse(*parts, *([rows] if is_few else []))
    if prod(_extents(order, order.get_loops(block))) >= _WORTH_THREADS:
        order.parallel(part)
    order.compute_at(block, part if is_few else rows, preserve_unit_loops=True)
    own = order.get_loops(block)[-len(order.get(block).iter_vars) :]
    summed = own[rank:]
    order.reorder(*(own[axis] for axis in others if axis != tile.row), *summed, own[tile.row], own[tile.vector])
    order.unroll(own[tile.row])
    order.vectorize(own[tile.vector])
    order.decompose_reduction(block, summed[0])
    return _name(order, last)


def _sum(order: Any, block: Any) -> None:
    """Side by side where neighbours are; else one result after the other."""
    loops = order.get_loops(block)
    rank = len(_spatial(order, block))
    vector = _hint(order, block, VECTOR)
    if vector is None or vector < 0 or not _extents(order, loops)[vector] > 1:
        _share(order, loops[:rank], prod(_extents(order, loops)))
        return
    others = [loop for axis, loop in enumerate(loops[:rank]) if axis != vector]
    order.reorder(*others, *loops[rank:], loops[vector])
    _share(order, others, prod(_extents(order, loops)))
    order.decompose_reduction(block, loops[rank])


def _spread(order: Any, block: Any) -> None:
    """Parts of the outer loops to each thread; the innermost loop is LLVM's to make vectors of."""
    loops = order.get_loops(block)
    work = prod(_extents(order, loops))
    if len(loops) > 1 and prod(_extents(order, loops[:-1])) >= _PARTS:
        _share(order, loops[:-1], work)
        return
    whole = order.fuse(*loops)
    parts = next((each for each in range(_PARTS, 4 * _PARTS) if work % each == 0), None)
    if parts is not None and work >= _WORTH_THREADS:
        outer, _ = order.split(whole, [parts, None])
        order.parallel(outer)


def _share(order: Any, loops: Sequence[Any], work: int) -> None:
    """Share the outermost loops among threads, if there is work for them."""
    if loops and work >= _WORTH_THREADS:
        order.parallel(order.fuse(*loops))
