"""Folding into columns: nothing overlaps, edges join their nodes, a ribbon comes to fill a screen."""

from __future__ import annotations

from itertools import combinations, pairwise

from hypothesis import given

from intarsia.report.page.folding import GUTTER, NODE_HEIGHT, Picture, fold
from intarsia.report.page.rows import NODE_WIDTH, arrange
from tests.unit.report.page.test_rows import Drawn, graphs


def picture(count: int, edges: list[tuple[int, int]], parts: list[list[int]]) -> Picture:
    return fold(arrange(count, edges, parts), edges, parts)


def test_a_long_chain_fills_a_screen() -> None:
    count = 2000
    drawn = picture(count, list(pairwise(range(count))), [list(range(count))])
    assert 1.2 < drawn.width / drawn.height < 2.4
    assert len({x for x, _ in drawn.nodes}) > 20  # one for each column


@given(graphs())
def test_nodes_lie_apart_and_inside_their_part(drawn: Drawn) -> None:
    made = picture(*drawn)
    count, _, parts = drawn
    for one, other in combinations(made.nodes, 2):
        assert abs(one[0] - other[0]) >= NODE_WIDTH or abs(one[1] - other[1]) >= NODE_HEIGHT
    for number, part in enumerate(parts):
        areas = [box for box in made.boxes if box.part == number]
        for x, y in (made.nodes[node] for node in part):
            assert any(box.left < x < box.right and box.top < y < box.bottom for box in areas)
    for area, beside in combinations(made.boxes, 2):
        apart = area.right <= beside.left or beside.right <= area.left
        assert apart or area.bottom <= beside.top or beside.bottom <= area.top
    assert all(0 <= x <= made.width and 0 <= y <= made.height for x, y in made.nodes)
    assert len(made.nodes) == count


@given(graphs())
def test_edges_beside_the_nodes_bend_at_right_angles_and_cross_none(drawn: Drawn) -> None:
    made = picture(*drawn)
    for edge in made.turns:
        (from_x, from_y), (to_x, to_y) = (made.nodes[node] for node in edge)
        points = [(from_x, from_y + NODE_HEIGHT / 2), *made.routes[edge], (to_x, to_y - NODE_HEIGHT / 2)]
        for (ax, ay), (bx, by) in pairwise(points):
            assert ax == bx or ay == by
            for node, (x, y) in enumerate(made.nodes):
                meets_x = min(ax, bx) < x + NODE_WIDTH / 2 and max(ax, bx) > x - NODE_WIDTH / 2
                meets_y = min(ay, by) < y + NODE_HEIGHT / 2 and max(ay, by) > y - NODE_HEIGHT / 2
                assert node in edge or not (meets_x and meets_y)


def test_columns_end_where_few_edges_cross() -> None:
    """Blocks of nine nodes with a skip each: between two blocks one edge passes, within one two."""
    count = 900
    skips = {(start, start + 8) for start in range(0, count - 8, 9)}
    edges = sorted({*pairwise(range(count)), *skips})
    made = picture(count, edges, [list(range(count))])
    assert made.turns
    assert not made.turns & skips


def test_a_gutter_holds_its_edges() -> None:
    count = 60
    edges = sorted({*pairwise(range(count)), *((0, end) for end in range(20, count))})
    made = picture(count, edges, [list(range(count))])
    rights = sorted({box.right for box in made.boxes})
    for edge in made.turns:
        for x, _ in made.routes[edge][1:-1]:
            assert any(right < x < right + GUTTER for right in (0, *rights))


def test_no_rows_make_no_picture() -> None:
    assert picture(0, [], []).nodes == ()
