"""The lazy path is the best there is, measured throughout, for fewer measurements than there are edges."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from intarsia.config import RunSettings
from intarsia.cost.records.record import Measurement, Outcome
from intarsia.cost.timing.sampling import Effort
from intarsia.cost.worker.deadline import NO_END, Deadline
from intarsia.partitioning import Capability, Partition
from intarsia.search.collage.edge_costs import EdgeCosts
from intarsia.search.collage.lazy_shortest_path import LazyPaths
from intarsia.search.collage.shortest_path import Edge
from intarsia.search.thresholds import COLLAGE
from intarsia.target import Target
from tests.unit.search.fakes import FakeMeasurer, measured

ORT, OPENVINO, MNN = TARGETS = (Target("onnxruntime"), Target("openvino"), Target("mnn"))
OVER = Deadline(0.0)
Table = dict[Target, Sequence[float]]


class Uneven(FakeMeasurer):
    """Each partition costs something else, whatever its segments cost, so that estimates are wrong either way."""

    def cost(
        self,
        partition: Partition,
        settings: RunSettings,
        after: Partition | None = None,
        effort: Effort | None = None,
    ) -> Measurement:
        self.measured += 1
        behind = after and (str(after.target), after.nodes)
        return measured(random.Random(repr((str(partition.target), partition.nodes, behind))).uniform(1.0, 9.0))


@st.composite
def tables(draw: st.DrawFn) -> Table:
    segments = draw(st.integers(2, 5))
    ms = st.lists(st.integers(1, 9).map(float), min_size=segments, max_size=segments)
    return {target: draw(ms) for target in TARGETS[: draw(st.integers(2, 3))]}


def told(table: Table, fake: FakeMeasurer, refusals: dict[Target, str] | None = None) -> EdgeCosts:
    """Costs of which each engine told its shares."""
    count = len(next(iter(table.values())))
    wholes: dict[Target, Outcome] = {target: measured(sum(ms)) for target, ms in table.items()}
    return EdgeCosts(
        fake.as_measurer(),
        [(f"n{number}",) for number in range(count)],
        {
            target: Capability(refusals=dict.fromkeys(filter(None, [(refusals or {}).get(target)]), "no"))
            for target in table
        },
        wholes,
        RunSettings(threads=1),
        profiles={target: {f"n{number}": ms for number, ms in enumerate(told)} for target, told in table.items()},
    )


def paths_over(costs: EdgeCosts, table: Table, seams: Sequence[int] = (), most: float = math.inf) -> LazyPaths:
    return LazyPaths(costs, tuple(table), seams, most=most, measure=costs.measure)


def every_mix(table: Table) -> list[tuple[Edge[Target], ...]]:
    """All paths on which at least two engines take part."""
    count = len(next(iter(table.values())))
    found = []
    for choice in itertools.product(table, repeat=count):
        runs = [(target, list(run)) for target, run in itertools.groupby(range(count), choice.__getitem__)]
        before = (None, *(target for target, _ in runs))
        edges = zip(runs, before, strict=False)
        found.append(tuple(Edge(run[0], run[-1] + 1, target, after) for (target, run), after in edges))
    return [path for path in found if len(path) > 1]


def true_ms(path: Sequence[Edge[Target]], table: Table, transition_ms: float) -> float:
    return sum(sum(table[edge.target][edge.start : edge.end]) for edge in path) + transition_ms * (len(path) - 1)


@settings(deadline=None)
@given(table=tables(), transition_ms=st.integers(0, 5).map(float))
def test_where_estimates_are_never_too_high_nothing_is_faster(table: Table, transition_ms: float) -> None:
    costs = told(table, FakeMeasurer(table, transition_ms=transition_ms))
    path = paths_over(costs, table).best(range(len(costs.segments)), NO_END)
    assert path is not None
    assert all(map(costs.is_measured, path.edges))
    assert math.isclose(path.cost, true_ms(path.edges, table, transition_ms))
    assert math.isclose(path.cost, min(true_ms(mix, table, transition_ms) for mix in every_mix(table)))


@settings(deadline=None)
@given(table=tables())
def test_of_all_that_is_known_at_the_end_nothing_is_better(table: Table) -> None:
    costs = told(table, Uneven(table))
    path = paths_over(costs, table).best(range(len(costs.segments)), NO_END)
    assert path is not None
    assert all(map(costs.is_measured, path.edges))
    assert math.isclose(path.cost, min(sum(map(costs.cost, mix)) for mix in every_mix(table)))


def test_only_what_may_be_on_the_best_path_is_measured() -> None:
    table: Table = {ORT: [1.0, 1.0, 9.0, 9.0], MNN: [9.0, 9.0, 1.0, 1.0]}
    fake = FakeMeasurer(table)
    costs = told(table, fake)
    paths = paths_over(costs, table)
    path = paths.best(range(4), NO_END)
    assert path is not None
    assert path.edges == (Edge(0, 2, ORT, None), Edge(2, 4, MNN, ORT))
    assert fake.asked == [("onnxruntime", 2), ("mnn", 2)]
    assert paths.rounds == 2


def test_partitions_begin_at_stops_only() -> None:
    table: Table = {ORT: [1.0, 9.0, 9.0, 9.0], MNN: [9.0, 1.0, 1.0, 1.0]}
    path = paths_over(told(table, FakeMeasurer(table)), table).best((0, 2), NO_END)
    assert path is not None
    assert [edge.start for edge in path.edges] == [0, 2]
    assert path.cost == 12.0


def test_at_a_seam_a_partition_ends_though_the_next_is_on_the_same_engine() -> None:
    table: Table = {ORT: [1.0, 1.0], MNN: [9.0, 9.0]}
    path = paths_over(told(table, FakeMeasurer(table)), table, seams=(1,)).best((0, 1), NO_END)
    assert path is not None
    assert path.edges == (Edge(0, 1, ORT, None), Edge(1, 2, ORT, ORT))


def test_what_is_not_worth_building_is_not_measured() -> None:
    table: Table = {ORT: [2.0, 2.0], MNN: [3.0, 3.0]}
    fake = FakeMeasurer(table)
    costs = told(table, fake)
    assert paths_over(costs, table, most=4.9).best((0, 1), NO_END) is None
    assert paths_over(costs, table, most=4.9 / COLLAGE.loose_paths).best((0, 1), NO_END) is None
    assert not fake.asked
    assert paths_over(costs, table, most=5.0).best((0, 1), NO_END) is not None


def test_a_path_that_a_measurement_spoils_is_given_up() -> None:
    table: Table = {ORT: [1.0, 9.0], MNN: [9.0, 1.0]}
    fake = FakeMeasurer(table, transition_ms=7.0)
    assert paths_over(told(table, fake), table, most=8.0).best((0, 1), NO_END) is None
    assert fake.measured == 2


def test_when_the_time_is_over_the_best_of_what_is_measured_remains() -> None:
    table: Table = {ORT: [1.0, 1.0, 9.0], MNN: [9.0, 9.0, 1.0]}
    fake = FakeMeasurer(table)
    costs = told(table, fake)
    paths = paths_over(costs, table)
    assert paths.best(range(3), OVER) is None
    assert not fake.asked
    known = (Edge(0, 1, ORT, None), Edge(1, 3, MNN, ORT))
    for edge in known:
        costs.measure(edge)
    path = paths.best(range(3), OVER)
    assert path is not None
    assert path.edges == known, "though another one is promised to be faster"


def test_what_the_host_keeps_is_not_measured() -> None:
    table: Table = {ORT: [1.0, 9.0, 1.0], MNN: [9.0, 1.0, 9.0]}
    fake = FakeMeasurer(table)
    path = paths_over(told(table, fake), table).best(range(3), NO_END, host=ORT)
    assert path is not None
    assert [edge.target for edge in path.edges] == [ORT, MNN, ORT]
    assert fake.asked == [("mnn", 1)]


def test_no_mix_of_one_engine_nor_over_what_all_refuse() -> None:
    alone: Table = {ORT: [1.0, 1.0]}
    assert paths_over(told(alone, FakeMeasurer(alone)), alone).best((0, 1), NO_END) is None
    table: Table = {ORT: [1.0, 1.0], MNN: [1.0, 1.0]}
    refusing = told(table, FakeMeasurer(table), {ORT: "n0", MNN: "n0"})
    assert paths_over(refusing, table).best((0, 1), NO_END) is None
