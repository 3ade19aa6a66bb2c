"""The divisions that are found are the best there are, by what machines and links cost."""

from __future__ import annotations

from itertools import combinations, pairwise, permutations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intarsia.deploy.cuts import Line
from intarsia.deploy.splits import MOST_STAGES, LinkCost, MachineCost, Run, Splits

MS = st.floats(0.01, 100.0)


@st.composite
def lines(draw: st.DrawFn) -> Line:
    """Up to five nodes, with a place between all of them."""
    count = draw(st.integers(2, 5))
    nodes = tuple(f"n{number}" for number in range(count))
    pairs = [(start, end) for start in range(count + 1) for end in range(start + 1, count + 1)]
    return Line(nodes=nodes, places=tuple(range(count + 1)), sent={pair: draw(st.integers(0, 1000)) for pair in pairs})


@st.composite
def problems(draw: st.DrawFn) -> Splits:
    """A line on two or three machines."""
    line = draw(lines())
    machines = {}
    for name in "abc"[: draw(st.integers(2, 3))]:
        link = LinkCost(round_trip_ms=draw(st.floats(0, 5)), ms_per_byte=draw(st.floats(0, 0.1)))
        machines[name] = MachineCost(node_ms={id_: draw(MS) for id_ in line.nodes}, link=link)
    return Splits(line, machines)


def every_chain(splits: Splits, *, once: bool) -> list[tuple[Run, ...]]:
    """Every division into two stages or more, of neighbours on different machines; ``once``: no machine twice."""
    last = len(splits.line.places) - 1
    found = []
    for count in range(2, min(MOST_STAGES, last) + 1):
        for inner in combinations(range(1, last), count - 1):
            bounds = (0, *inner, last)
            names = permutations(splits.machines, count) if once else product(splits.machines, repeat=count)
            found += [
                tuple(Run(machine=name, start=bounds[at], end=bounds[at + 1]) for at, name in enumerate(chain))
                for chain in names
                if all(one != other for one, other in pairwise(chain))
            ]
    return found


@given(problems())
def test_the_best_division_for_calls_is_the_shortest_of_all(splits: Splits) -> None:
    whole = {
        runs: sum(splits.computing_ms(run) + splits.sending_ms(run) for run in runs)
        for runs in every_chain(splits, once=False)
    }
    found = splits.for_calls()
    assert found[0].predicted_ms == pytest.approx(min(whole.values()))
    for each in found:
        assert each.predicted_ms == pytest.approx(whole[each.runs])
        assert each.link_ms == pytest.approx(sum(map(splits.sending_ms, each.runs)))


@given(problems())
def test_the_best_division_for_streams_has_the_least_busy_machine_of_all(splits: Splits) -> None:
    busiest = {
        runs: max(max(splits.computing_ms(run), splits.sending_ms(run)) for run in runs)
        for runs in every_chain(splits, once=True)
    }
    found = splits.for_streams()
    assert found[0].predicted_ms == pytest.approx(min(busiest.values()))
    assert all(each.predicted_ms == pytest.approx(busiest[each.runs]) for each in found)


def test_a_link_that_costs_more_than_it_saves_makes_the_division_slower_than_a_machine_alone() -> None:
    line = Line(nodes=("n0", "n1"), places=(0, 1, 2), sent={(0, 1): 10, (1, 2): 10, (0, 2): 10})
    costs = {"a": {"n0": 1.0, "n1": 9.0}, "b": {"n0": 9.0, "n1": 1.0}}

    def best(ms_per_byte: float) -> tuple[float, float]:
        link = LinkCost(ms_per_byte=ms_per_byte)
        splits = Splits(line, {name: MachineCost(node_ms=cost, link=link) for name, cost in costs.items()})
        return splits.for_calls()[0].predicted_ms, min(map(splits.alone_ms, costs))

    divided, alone = best(0.01)
    assert (divided, alone) == pytest.approx((2.2, 10.1))
    divided, alone = best(10.0)
    assert divided > alone


def test_a_line_without_a_place_has_no_division() -> None:
    line = Line(nodes=("n0", "n1"), places=(0, 2), sent={(0, 1): 10})
    cost = MachineCost(node_ms={"n0": 1.0, "n1": 1.0}, link=LinkCost())
    splits = Splits(line, {"a": cost, "b": cost})
    assert splits.for_calls() == splits.for_streams() == []
