"""Laws of topological order: nothing stands before what it needs."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given

from intarsia.topological_order import in_order, runnable_order
from tests.unit.partitioning.test_quotient import Graphs, reachable


@given(Graphs)
def test_the_order_holds_all_that_no_cycle_stops(graph: list[set[int]]) -> None:
    graph = [after - {part} for part, after in enumerate(graph)]
    on_cycle = {part for part in range(len(graph)) if part in reachable(graph, part)}
    stopped = on_cycle.union(*(reachable(graph, part) for part in on_cycle))
    order = runnable_order(graph)
    assert sorted(order) == sorted(set(range(len(graph))) - stopped)
    place = {part: place for place, part in enumerate(order)}
    assert all(place[part] < place[after] for part in order for after in graph[part] if after in place)


def test_the_order_prefers_the_smallest_number() -> None:
    assert runnable_order([set(), {3}, {0}, set()]) == [1, 2, 0, 3]


@dataclass(frozen=True)
class Step:
    """Reads values and yields others."""

    reads: tuple[str, ...]
    outputs: tuple[str, ...]


def test_steps_stand_behind_those_that_yield_what_they_read() -> None:
    first, second, third = Step(("c",), ("d",)), Step(("x",), ("b", "")), Step(("b", ""), ("c",))
    assert in_order([first, second, third]) == [second, third, first]


def test_steps_that_need_each_other_are_left_out() -> None:
    alone = Step(("x",), ("y",))
    assert in_order([Step(("b",), ("a",)), alone, Step(("a",), ("b",)), Step(("b",), ("c",))]) == [alone]
