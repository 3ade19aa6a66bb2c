"""What sets of units cost: measured, estimated by shares and borders, or at least what two laws say."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from intarsia.config import RunSettings
from intarsia.search.collage.convex_costs import ConvexCosts
from intarsia.target import Target
from tests.unit.search.fakes import FakeMeasurer, chain_problem

ORT, MNN = Target("onnxruntime"), Target("mnn")
COSTS: Mapping[Target, Sequence[float]] = {ORT: [1.0, 2.0, 3.0], MNN: [3.0, 2.0, 1.0]}
UNITS = (("n0",), ("n1",), ("n2",))
SETS = (0b001, 0b010, 0b100, 0b011, 0b110, 0b111)


def costs_of(fake: FakeMeasurer, refused: Sequence[str] = (), places: Mapping[str, str] | None = None) -> ConvexCosts:
    """Of a row of three units, some of which the second engine refuses."""
    problem = replace(chain_problem(3, [ORT, MNN]), places=places)
    refusals: dict[Target, Mapping[str, str]] = {ORT: {}, MNN: dict.fromkeys(refused, "no")}
    return ConvexCosts(
        fake.as_measurer(), problem, UNITS, SETS, [ORT, MNN], refusals, RunSettings(threads=1), hopeless_ms=None
    )


def row(mask: int) -> int:
    return SETS.index(mask)


def test_what_is_not_measured_is_the_sum_of_its_shares_and_a_border() -> None:
    costs = costs_of(FakeMeasurer(COSTS))
    costs.set_shares(0, COSTS[ORT], 0.5)
    assert costs.estimates()[row(0b011), 0] == 3.5
    assert costs.estimates()[row(0b011), 1] == math.inf, "nothing is known of its units there"
    costs.measure(0b011, 0)
    assert costs.is_known(0b011, 0)
    assert costs.estimates()[row(0b011), 0] == costs.known_ms(0b011, 0) == 3.0


def test_a_smaller_set_costs_no_less_than_the_larger_one_without_the_rest() -> None:
    costs = costs_of(FakeMeasurer(COSTS))
    for mask in (0b001, 0b010, 0b100):
        costs.measure(mask, 0)
    assert costs.bounds()[row(0b011), 0] == 1.0, "no less than the cheapest unit"
    costs.set_known(0b111, 0, 5.0)  # one less than its units apart
    assert costs.bounds()[row(0b011), 0] == 5.0 - 3.0
    assert costs.bounds()[row(0b110), 0] == 5.0 - 1.0
    assert costs.bounds()[row(0b111), 0] == 5.0


def test_a_failure_says_nothing_of_other_sets() -> None:
    fake = FakeMeasurer(COSTS, failing={MNN: "crash"})
    costs = costs_of(fake)
    costs.measure(0b111, 1)
    assert costs.known_ms(0b111, 1) == math.inf
    assert costs.bounds()[row(0b001), 1] == 0.0


def test_an_engine_that_fails_three_times_is_not_asked_again() -> None:
    fake = FakeMeasurer(COSTS, failing={MNN: "crash"})
    costs = costs_of(fake)
    for mask in SETS:
        costs.measure(mask, 1)
    assert fake.measured == 3
    assert all(costs.known_ms(mask, 1) == math.inf for mask in SETS)


def test_what_an_engine_refuses_costs_infinity_and_needs_no_measurement() -> None:
    costs = costs_of(FakeMeasurer(COSTS), refused=["n1"])
    assert not costs.takes(0b011, 1)
    assert costs.is_known(0b011, 1)
    assert costs.estimates()[row(0b011), 1] == costs.bounds()[row(0b011), 1] == math.inf
    assert costs.takes(0b100, 1)


def test_a_transition_is_what_a_set_costs_more_behind_another() -> None:
    costs = costs_of(FakeMeasurer(COSTS, transition_ms=2.0))
    assert not costs.has_seen(ORT, MNN)
    costs.measure(0b110, 1)
    costs.measure(0b110, 1, after=(0b001, 0))
    assert costs.has_seen(ORT, MNN)
    assert costs.transitions().tolist() == [[math.inf, 2.0], [2.0, math.inf]], "as any other, while it was never seen"
    assert costs.transitions(min).tolist() == [[math.inf, 2.0], [0.0, math.inf]]
    costs.correction = 1.0
    assert costs.transitions()[0, 1] == 3.0


def test_no_set_spans_two_devices_and_an_engine_may_follow_itself_there() -> None:
    costs = costs_of(FakeMeasurer(COSTS), places={"n0": "a", "n1": "a", "n2": "b"})
    assert [(each.target, each.place) for each in costs.runners] == [(ORT, "a"), (ORT, "b"), (MNN, "a"), (MNN, "b")]
    assert [costs.takes(0b011, runner) for runner in range(4)] == [True, False, True, False]
    assert not any(costs.takes(0b110, runner) for runner in range(4))
    assert costs.transitions()[0, 1] == 0.0


@pytest.mark.parametrize("mask", [0b001, 0b110])
def test_a_partition_holds_the_nodes_of_its_units(mask: int) -> None:
    part = costs_of(FakeMeasurer(COSTS)).partition(mask, 1)
    assert part.target == MNN
    assert part.nodes == tuple(f"n{unit}" for unit in range(3) if mask >> unit & 1)
