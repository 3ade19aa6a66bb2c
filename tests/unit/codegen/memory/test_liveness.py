from __future__ import annotations

from intarsia.codegen.memory.liveness import Extent, Liveness
from tests.unit.codegen.modules import Drawing


def test_a_value_lives_from_the_call_that_writes_it_to_the_last_that_reads_it() -> None:
    drawing = Drawing()
    first = drawing.call(8)
    drawing.call(4, first)
    drawing.call(2, first)
    live = Liveness(drawing.module())
    assert [(item.size, item.first, item.last) for item in live.items] == [(8, 0, 2), (4, 1, 1), (2, 2, 2)]
    assert live.alive() == [8, 12, 10]
    assert live.lower_bound() == 12


def test_parts_of_a_value_live_for_themselves() -> None:
    drawing = Drawing()
    first = drawing.call(8)
    second = drawing.call(16, drawing.call(4, first))
    drawing.call(1, drawing.concat(first, second))
    whole = next(item for item in Liveness(drawing.module()).items if item.size == 24)
    assert whole.extents == (Extent(0, 8, 0, 3), Extent(8, 24, 2, 3))


def test_what_is_alive_at_one_time_conflicts_wherever_bytes_would_meet() -> None:
    drawing = Drawing()
    first = drawing.call(8)
    second = drawing.call(4, first)
    assert Liveness(drawing.module()).conflicts[first][second] == ((-4, 8),)
    assert Liveness(drawing.module()).conflicts[second][first] == ((-8, 4),)


def test_in_place_allows_the_reader_ahead_of_the_writer() -> None:
    drawing = Drawing()
    first = drawing.call(8)
    second = drawing.call(8, first, ahead={first: 3})
    # The distance is the address of the first less that of the second: from 3 on all is allowed.
    assert Liveness(drawing.module()).conflicts[second][first] == ((-8, 3),)
    assert Liveness(drawing.module()).lower_bound() == 11


def test_what_never_meets_in_time_never_conflicts() -> None:
    drawing = Drawing()
    first = drawing.call(8)
    last = drawing.call(8, drawing.call(8, first))
    assert last not in Liveness(drawing.module()).conflicts[first]
