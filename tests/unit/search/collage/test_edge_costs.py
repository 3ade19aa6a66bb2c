"""What is known of an edge: shares, borders, transitions, corrections, and their bounds."""

from __future__ import annotations

import math

import pytest

from intarsia.config import RunSettings
from intarsia.cost.records.record import Measurement, Outcome
from intarsia.partitioning import Capability
from intarsia.search.collage.edge_costs import EdgeCosts, Known
from intarsia.search.collage.shortest_path import Edge
from intarsia.target import Target
from tests.unit.search.fakes import FakeMeasurer, measured

ORT, OPENVINO, MNN = Target("onnxruntime"), Target("openvino"), Target("mnn")
SEGMENTS = tuple((f"n{number}",) for number in range(4))
COSTS = {ORT: [1.0, 2.0, 3.0, 4.0], MNN: [4.0, 3.0, 2.0, 1.0]}
WHOLES: dict[Target, Outcome] = {ORT: measured(10.0), MNN: measured(10.0)}


def costs_of(fake: FakeMeasurer, wholes: dict[Target, Outcome] | None = None, **more: object) -> EdgeCosts:
    wholes = wholes or WHOLES
    capabilities = {target: Capability(refusals={}) for target in wholes}
    return EdgeCosts(fake.as_measurer(), SEGMENTS, capabilities, wholes, RunSettings(threads=1), **more)  # type: ignore[arg-type]


def test_a_profile_saves_measuring_cells() -> None:
    fake = FakeMeasurer(COSTS)
    costs = costs_of(fake, profiles={ORT: {"n0": 2.0, "n1": 4.0, "n2": 6.0, "n3": 8.0}})
    for segment in range(4):
        costs.measure_region(segment, segment + 1)
    costs.calibrate(range(4))
    assert {name for name, _ in fake.asked} == {"mnn"}
    assert costs.cost(Edge(1, 3, ORT, MNN)) == 5.0  # scaled to the whole model's 10 ms
    assert costs.cost(Edge(1, 3, MNN, ORT)) == 5.0
    assert costs.shares == {ORT: (1.0, 2.0, 3.0, 4.0), MNN: (4.0, 3.0, 2.0, 1.0)}


def test_a_cell_is_put_down_to_its_segments_by_their_weight() -> None:
    costs = costs_of(FakeMeasurer(COSTS), weights=[1.0, 3.0, 1.0, 1.0])
    for region in ((0, 2), (2, 4)):
        costs.measure_region(*region)
    costs.calibrate((0, 2))
    assert costs.shares_ms(0, 1) == [0.75, 1.75]
    assert costs.shares_ms(0, 2) == [3.0, 7.0]


def test_cells_cost_more_than_their_shares_by_a_border() -> None:
    """The whole takes 6, its four cells 10 together: a partition of two costs its shares and a border."""
    costs = costs_of(FakeMeasurer(COSTS), {ORT: measured(6.0), MNN: measured(10.0)})
    for segment in range(4):
        costs.measure_region(segment, segment + 1)
    costs.calibrate(range(4))
    assert math.isclose(sum(costs.shares[ORT]), 6.0)
    assert costs.cost(Edge(0, 1, ORT, None)) == 1.0  # measured alone
    assert math.isclose(costs.cost(Edge(0, 2, ORT, None)), 1.8 + 1.0)  # the median of 0.4, 0.8, 1.2 and 1.6
    assert math.isclose(costs.low(Edge(0, 2, ORT, None)), 1.8 + 0.4)


def test_a_switch_is_learned_for_the_pair() -> None:
    costs = costs_of(FakeMeasurer(COSTS, transition_ms=2.0))
    for segment in range(4):
        costs.measure_region(segment, segment + 1)
    costs.calibrate(range(4))
    assert costs.cost(Edge(2, 3, MNN, ORT)) == 2.0
    costs.measure(Edge(1, 2, MNN, ORT))
    assert costs.cost(Edge(2, 3, MNN, ORT)) == 4.0
    assert costs.cost(Edge(2, 3, ORT, MNN)) == 5.0, "as any other, while this pair was never seen"
    costs.measure(Edge(1, 2, ORT, MNN))
    assert costs.cost(Edge(2, 3, ORT, MNN)) == 5.0
    assert costs.is_measured(Edge(1, 2, MNN, ORT))
    assert not costs.is_measured(Edge(2, 3, MNN, ORT))
    assert Known(start=1, end=2, target=MNN, after=ORT, ms=5.0) in costs.known


def test_bounds_come_from_the_samples() -> None:
    class Noisy(FakeMeasurer):
        def cost(self, *args: object, **more: object) -> Measurement:
            samples = tuple(map(float, range(1, 31)))
            return Measurement(samples_ms=samples, compile_s=0.0, load_s=0.0, error=0.0)

    costs = costs_of(Noisy(COSTS))
    edge = Edge(0, 2, ORT, None)
    costs.measure(edge)
    assert 1.0 < costs.low(edge) < costs.cost(edge) == 15.5


def test_inside_a_session_the_host_has_no_borders_and_is_not_measured() -> None:
    profile = {ORT: dict.fromkeys(("n0", "n1", "n2", "n3"), 1.0)}
    costs = costs_of(FakeMeasurer(COSTS), profiles=profile)
    edge = Edge(0, 2, ORT, None)
    costs.measure(edge)
    assert costs.cost(edge) == 3.0
    assert costs.cost(edge, ORT) == costs.low(edge, ORT) == 5.0  # half of the whole model
    assert costs.is_measured(Edge(2, 4, ORT, MNN), ORT)


def test_corrections_are_learned_for_each_way_apart() -> None:
    costs = costs_of(FakeMeasurer(COSTS), profiles={ORT: dict.fromkeys(("n0", "n1", "n2", "n3"), 1.0)})
    edge = Edge(2, 4, ORT, MNN)
    costs.correct(10.0, 14.0, transitions=2)
    assert costs.cost(edge) == 5.0 + 2.0
    assert costs.cost(edge, ORT) == 5.0
    costs.correct(10.0, 4.0, transitions=2)
    assert costs.cost(edge) == 5.0, "what a plan saves is not normalised to its transitions"


def test_what_an_engine_refuses_costs_infinity() -> None:
    capabilities = {ORT: Capability(refusals={"n1": "no"})}
    costs = EdgeCosts(FakeMeasurer(COSTS).as_measurer(), SEGMENTS, capabilities, WHOLES, RunSettings(threads=1))
    costs.measure_region(1, 2)
    assert costs.cost(Edge(0, 2, ORT, None)) == math.inf
    assert costs.shares_ms(1, 2) == [math.inf]
    assert costs.candidates(range(4)) == 1 + 3  # n0, and the runs of n2 and n3


@pytest.mark.parametrize(("hopeless", "limit"), [(3.0, 12.0), (None, None)])
def test_a_cell_that_cannot_win_is_given_up(hopeless: float | None, limit: float | None) -> None:
    seen: list[float | None] = []

    class Watching(FakeMeasurer):
        def cost(self, partition, settings, after=None, effort=None):  # type: ignore[no-untyped-def]
            seen.append(effort.hopeless_ms)
            return super().cost(partition, settings, after, effort)

    costs_of(Watching(COSTS), {MNN: measured(9.0), ORT: measured(10.0)}, hopeless=hopeless).measure_region(0, 1)
    assert seen == [None, limit]
