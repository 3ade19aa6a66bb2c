from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from intarsia.codegen.arena import laid_out, plan
from intarsia.codegen.copying import drifting, gathered, with_copies
from intarsia.codegen.memory.arena_exact import FEW, exact
from intarsia.codegen.memory.liveness import Liveness
from intarsia.codegen.memory.order import in_best_order
from intarsia.codegen.memory.placing import height
from intarsia.codegen.module import SourceModule
from tests.unit.codegen.modules import Drawing, drawn, run_at_worst
from tests.unit.codegen.smallest import smallest

ALIGNMENTS = st.sampled_from((1, 4, 16))


@given(st.integers(0, 100_000), st.integers(1, 24), ALIGNMENTS)
@settings(max_examples=60, deadline=None)
def test_nothing_that_is_alive_is_overwritten(seed: int, count: int, alignment: int) -> None:
    module = drawn(seed, count)
    for each, arena in ((module, plan(module, alignment)), laid_out(module, alignment, tries=30)):
        run_at_worst(each, arena)
        assert all(offset % alignment == 0 for offset in (*arena.offsets.values(), *arena.scratch.values()))
        assert arena.floor <= arena.size


def test_a_plan_that_forgets_what_is_alive_is_noticed() -> None:
    """The memory that the plans above run on sees bytes that were overwritten."""
    module = drawn(seed=3, count=12)
    arena = plan(module)
    with pytest.raises(AssertionError):
        run_at_worst(module, replace(arena, offsets=dict.fromkeys(arena.offsets, 0)))


@given(st.integers(0, 100_000), st.integers(1, 10), ALIGNMENTS)
@settings(max_examples=100, deadline=None)
def test_of_few_values_the_arena_is_the_smallest(seed: int, count: int, alignment: int) -> None:
    module = drawn(seed, count)
    live, arena = Liveness(module), plan(module, alignment)
    assume(len(live.items) <= FEW)
    assert arena.size == smallest(live.items, live.conflicts, alignment, arena.size)


@given(st.integers(0, 100_000), st.integers(1, 8), ALIGNMENTS)
@settings(max_examples=10, deadline=None)
def test_the_exact_search_says_that_it_ended(seed: int, count: int, alignment: int) -> None:
    module = drawn(seed, count)
    live, arena = Liveness(module), plan(module, alignment)
    assume(len(live.items) <= FEW)
    best, is_shown = exact(live.items, live.conflicts, alignment, 0, arena.places)
    assert is_shown
    assert arena.size == height(live.items, best)


@given(st.integers(0, 100_000), st.integers(1, 4))
@settings(max_examples=25, deadline=None)
def test_the_exact_search_finds_what_trying_everything_finds(seed: int, count: int) -> None:
    module = drawn(seed, count)
    live = Liveness(module)
    items, step = live.items[:4], 8
    behind, top = {}, 0
    for item in items:
        behind[item.key] = top
        top = -(-(top + item.size) // step) * step
    found, _ = exact(items, live.conflicts, step, 0, behind)

    def is_allowed(offsets: dict[str | int, int]) -> bool:
        return not any(
            low < offsets[other] - offsets[one] < high
            for one, rows in live.conflicts.items()
            for other, barred in rows.items()
            for low, high in barred
            if one in offsets and other in offsets
        )

    # The bound on what is tried keeps this in seconds; nothing lies above the size that the search found.
    places = [range(0, height(items, found), step) for _ in items]
    if len(items) and max(map(len, places)) ** len(items) > 30_000:
        return
    tried = (dict(zip((item.key for item in items), row, strict=True)) for row in product(*places))
    assert height(items, found) == min(
        (height(items, each) for each in tried if is_allowed(each)), default=height(items, found)
    )
    assert is_allowed(found)


def chain(*sizes: int, ahead: int | None) -> SourceModule:
    drawing, name = Drawing(), ""
    for size in sizes:
        reads = (name,) if name else ()
        name = drawing.call(size, *reads, ahead=None if ahead is None else dict.fromkeys(reads, ahead))
    return drawing.module()


@pytest.mark.parametrize(("ahead", "size"), [(None, 128), (0, 64), (16, 80), (32, 96), (100, 128)])
def test_in_place_takes_what_the_call_needs_ahead(ahead: int | None, size: int) -> None:
    arena = plan(chain(64, 64, ahead=ahead))
    assert (arena.size, arena.floor) == (size, size)


def test_what_is_read_again_is_not_overwritten() -> None:
    drawing = Drawing()
    first = drawing.call(64)
    second = drawing.call(64, first, ahead={first: 0})
    drawing.call(16, first, second)
    assert plan(drawing.module()).size == 64 + 64 + 16


def test_an_operand_that_is_read_twice_needs_two_permissions() -> None:
    drawing = Drawing()
    first = drawing.call(64)
    drawing.call(64, first, first, ahead={first: 0})
    module = drawing.module()
    assert plan(module).size == 128
    twice = replace(module.calls[1], overlaps=2 * module.calls[1].overlaps)
    assert plan(replace(module, calls=(module.calls[0], twice))).size == 64


def test_a_part_that_is_not_there_yet_leaves_its_bytes_to_others() -> None:
    drawing = Drawing()
    first = drawing.call(32)
    large = drawing.call(64, first)
    second = drawing.call(64, large)
    drawing.call(16, drawing.concat(first, second))
    # `large` lies over nothing that is alive: 32 + 64 + 64 bytes, and not 32 + 64 beside it.
    assert plan(drawing.module()).size == 160


def test_inputs_and_outputs_are_the_callers() -> None:
    drawing = Drawing()
    middle = drawing.call(64, drawing.input(1000))
    drawing.output(drawing.call(2000, middle))
    arena = plan(drawing.module())
    assert (arena.size, list(arena.offsets)) == (64, [middle])


def test_scratch_memory_is_the_calls_own() -> None:
    drawing = Drawing()
    first = drawing.call(64)
    drawing.call(32, first, scratch=(100, 20))
    arena = plan(drawing.module())
    assert arena.size == 64 + 32 + 112 + 20
    assert drawing.calls[1].scratch_offset(3) == 112


def test_a_value_of_no_bytes_needs_none() -> None:
    drawing = Drawing()
    drawing.call(16, drawing.call(0))
    assert plan(drawing.module()).size == 16


def residual(blocks: int, size: int, ahead: int | None) -> SourceModule:
    """Bottlenecks as in ResNet: the sum may lie over either of what it adds."""
    drawing = Drawing()
    name = drawing.call(size)
    for block in range(blocks):
        inner = drawing.call(size // 4, drawing.call(size // 4, name, scratch=(16,)))
        size = size // 2 if block % 4 == 3 else size
        inner = drawing.call(size, inner)
        name = name if block % 4 != 3 else drawing.call(size, name)
        name = drawing.call(size, inner, name, ahead=None if ahead is None else {inner: ahead, name: ahead})
    drawing.call(10, name)
    return drawing.module()


def separable(layers: int, size: int) -> SourceModule:
    """As in MobileNet: a depthwise convolution that works some rows ahead, then a product for each point."""
    drawing, name = Drawing(), ""
    name = drawing.call(size)
    for layer in range(layers):
        size = size // 2 if layer % 3 == 2 else size
        name = drawing.call(size, name, ahead={name: size // 16})
        name = drawing.call(size * 2 if layer % 3 == 2 else size, name)
    return drawing.module()


def drifting_chain(layers: int, size: int) -> SourceModule:
    """As in keyword spotting: values of one size, every other one computed some rows ahead in place."""
    drawing = Drawing()
    name = drawing.call(size)
    for _ in range(layers):
        name = drawing.call(size, name, ahead={name: size // 12})
        name = drawing.call(size, name, ahead={name: 0})
    return drawing.module()


def branching(blocks: int, *, inside: bool) -> SourceModule:
    """As in Inception: four branches, their results one behind the other."""
    drawing = Drawing()
    name = drawing.call(192)
    for _ in range(blocks):
        branches = [drawing.call(64, name), drawing.call(128, drawing.call(96, name))]
        branches += [drawing.call(32, drawing.call(16, name)), drawing.call(32, drawing.call(192, name))]
        name = drawing.concat(*branches) if inside else drawing.call(256, *branches)
    return drawing.module()


def ladder(depth: int, size: int) -> SourceModule:
    """As in U-Net: values of the way down are read on the way up."""
    drawing = Drawing()
    name, kept = drawing.call(size), []
    for _ in range(depth):
        name = drawing.call(size, drawing.call(size, name))
        kept.append((name, size))
        size //= 2
        name = drawing.call(size, name)
    for skipped, wide in reversed(kept):
        name = drawing.call(wide, drawing.call(2 * wide, skipped, drawing.call(wide, name)))
    return drawing.module()


def attention(layers: int, width: int) -> SourceModule:
    """Blocks of a transformer, what each element is computed from in its own place."""
    drawing = Drawing()
    name = drawing.call(width)
    for _ in range(layers):
        query, key, value = (drawing.call(width, name) for _ in range(3))
        scores = drawing.call(2 * width, query, drawing.call(width, key))
        soft = drawing.call(2 * width, scores, ahead={scores: 0})
        mixed = drawing.call(width, drawing.call(width, soft, value))
        name = drawing.call(width, mixed, name, ahead={mixed: 0, name: 0})
        wide = drawing.call(4 * width, name)
        narrow = drawing.call(width, drawing.call(4 * width, wide, ahead={wide: 0}))
        name = drawing.call(width, narrow, name, ahead={narrow: 0, name: 0})
    return drawing.module()


NETWORKS = {
    "residual": residual(16, 1024, None),
    "residual in place": residual(16, 1024, 0),
    "separable": separable(14, 1024),
    "drifting": drifting_chain(5, 1200),
    "branching": branching(8, inside=False),
    "branching, parts inside": branching(8, inside=True),
    "ladder": ladder(5, 1024),
    "attention": attention(6, 128),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_of_networks_the_arena_is_within_2_percent_of_the_lower_bound(name: str) -> None:
    module, arena = laid_out(NETWORKS[name], 1)
    run_at_worst(module, arena)
    assert arena.size <= 1.02 * arena.floor
    assert arena.floor <= Liveness(NETWORKS[name]).lower_bound()


def test_what_drifts_is_moved_back_where_that_needs_less() -> None:
    module = NETWORKS["drifting"]
    assert len(drifting(module)) == 5
    found, arena = laid_out(module, 1)
    moves = [call for call in found.calls if call.function == "move_bytes"]
    assert 0 < len(moves) < 5  # the last one need not be
    assert arena.size == 1200 + 100
    assert plan(module, 1).size == 1200 + 5 * 100


def test_what_drifts_a_little_stays() -> None:
    """A copy costs instructions: some percent of the arena have to be saved."""
    drawing = Drawing()
    name = drawing.call(4000)
    for _ in range(3):
        name = drawing.call(4000, name, ahead={name: 8})
    found, _ = laid_out(drawing.module(), 1)
    assert found == drawing.module()


def test_parts_are_copied_where_that_needs_less() -> None:
    module = NETWORKS["branching, parts inside"]
    roots = gathered(module)
    assert len(roots) == 8
    assert plan(with_copies(module, roots[0])).size > 0
    found, arena = laid_out(module, 1)
    assert arena.size < plan(in_best_order(module), 1, tries=30).size
    assert sum(call.function == "copy_bytes" for call in found.calls) > 0


def test_parts_stay_where_they_are_where_that_needs_no_more() -> None:
    drawing = Drawing()
    drawing.call(16, drawing.concat(drawing.call(32), drawing.call(32)))
    module, _ = laid_out(drawing.module())
    assert module == drawing.module()
