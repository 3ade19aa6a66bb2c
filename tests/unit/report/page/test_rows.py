"""The rows of a drawn graph, on random graphs and on the shapes that libraries fail at."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from intarsia.report.page.rows import LONGEST_LANE, MOST_IN_ROW, NODE_WIDTH, Edge, Rows, arrange

Drawn = tuple[int, list[Edge], list[list[int]]]


@st.composite
def graphs(draw: st.DrawFn) -> Drawn:
    """A random graph, cut into partitions of consecutive nodes."""
    count = draw(st.integers(1, 30))
    edges = {(draw(st.integers(0, end - 1)), end) for end in range(1, count) for _ in range(draw(st.integers(0, 3)))}
    cuts = sorted(draw(st.sets(st.integers(1, count), max_size=4)) | {count})
    return count, sorted(edges), [list(range(start, end)) for start, end in pairwise([0, *cuts])]


def holds(rows: Rows, count: int, edges: list[Edge], parts: list[list[int]]) -> None:
    assert sorted(item for row in rows.rows for item in row if item < count) == list(range(count))
    assert all(rows.row_of[start] < rows.row_of[end] for start, end in edges)
    assert max(sum(item < count for item in row) for row in rows.rows) <= MOST_IN_ROW
    for one, other in pairwise(parts):
        assert max(rows.row_of[node] for node in one) < min(rows.row_of[node] for node in other)
    for row in rows.rows:
        for left, right in pairwise(row):
            assert rows.x[left] < rows.x[right]
            if left < count and right < count:
                assert rows.x[right] - rows.x[left] > NODE_WIDTH
    for (start, end), lane in rows.lanes.items():
        passed = range(rows.row_of[start] + 1, rows.row_of[end])
        assert all(item in rows.rows[row] for item, row in zip(lane, passed, strict=True))


@given(graphs())
def test_nodes_stand_below_what_they_read_and_beside_nobody(drawn: Drawn) -> None:
    holds(arrange(*drawn), *drawn)


def test_a_chain_is_a_straight_line() -> None:
    count = 3000
    rows = arrange(count, list(pairwise(range(count))), [list(range(count))])
    assert rows.row_of == tuple(range(count))
    assert len(set(rows.x)) == 1


def test_skips_do_not_push_the_chain_aside() -> None:
    count = 400
    edges = sorted({*pairwise(range(count)), *((start, start + 5) for start in range(0, count - 5, 5))})
    rows = arrange(count, edges, [list(range(count))])
    assert max(rows.x[:count]) - min(rows.x[:count]) < NODE_WIDTH
    assert len(rows.lanes) == 79


def test_what_is_read_everywhere_passes_beside_the_nodes() -> None:
    count = 300
    edges = sorted({*pairwise(range(count)), *((0, end) for end in range(2, count))})
    rows = arrange(count, edges, [list(range(count))])
    assert max(len(lane) for lane in rows.lanes.values()) <= LONGEST_LANE
    holds(rows, count, edges, [list(range(count))])


def test_a_wide_layer_is_spread_over_rows() -> None:
    edges = [(0, end) for end in range(1, 101)]
    rows = arrange(101, edges, [list(range(101))])
    assert len(rows.rows) == 1 + -(-100 // MOST_IN_ROW)


def test_what_reads_nothing_stands_right_above_its_reader() -> None:
    edges = [(0, 1), (1, 2), (2, 4), (3, 4)]
    assert arrange(5, edges, [list(range(5))]).row_of == (0, 1, 2, 2, 3)


def test_no_graph_has_no_rows() -> None:
    assert arrange(0, [], []).rows == ()
