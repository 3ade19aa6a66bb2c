"""Each engine alone: one partition, or as many as its devices make it."""

from __future__ import annotations

from dataclasses import replace

from intarsia.cost.progress import unwatched
from intarsia.partition import Capability, Partition
from intarsia.search import tune_singles
from intarsia.target import Target
from tests.unit.search.fakes import FakeMeasurer, chain_problem

REFERENCE = Target("reference")
PLACES = {"n0": "a", "n1": "b", "n2": "b", "n3": "a"}


def test_without_devices_the_whole_model_is_one_piece() -> None:
    fake = FakeMeasurer({REFERENCE: (1.0, 2.0, 3.0, 4.0)})
    (single,) = tune_singles(chain_problem(4, [REFERENCE]), fake.as_measurer(), unwatched)
    (candidate,) = single.candidates
    assert candidate.partitions == (Partition(target=REFERENCE, nodes=("n0", "n1", "n2", "n3")),)
    assert (candidate.predicted_ms, fake.asked) == ((10.0,), [("reference", 4)])


def test_no_partition_of_one_engine_spans_two_devices() -> None:
    fake = FakeMeasurer({REFERENCE: (1.0, 2.0, 3.0, 4.0)}, switch_ms=1.0)
    problem = replace(chain_problem(4, [REFERENCE]), places=PLACES)
    (single,) = tune_singles(problem, fake.as_measurer(), unwatched)
    (candidate,) = single.candidates
    assert [partition.nodes for partition in candidate.partitions] == [("n0",), ("n1", "n2"), ("n3",)]
    assert candidate.total_ms == single.outcome.cost_ms == 12.0
    assert single.tuned == REFERENCE


def test_an_engine_that_a_device_plan_keeps_away_is_no_single() -> None:
    refused = {REFERENCE: Capability(refusals={"n1": "the device plan puts it elsewhere"})}
    problem = replace(chain_problem(2, [REFERENCE]), capabilities=refused)
    fake = FakeMeasurer({REFERENCE: (1.0, 2.0)})
    (single,) = tune_singles(problem, fake.as_measurer(), unwatched)
    assert (single.candidates, fake.measured) == ((), 0)
    assert "the device plan puts it elsewhere" in str(single.outcome)
