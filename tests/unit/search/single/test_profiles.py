"""Profiles are asked of the engines that run the whole model in one partition, and kept of those that tell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from intarsia.backends.contract.failures import Cause
from intarsia.config import RunSettings
from intarsia.cost.records.record import Failure, Outcome
from intarsia.partitioning import Partition
from intarsia.search.single.single_engine import profiles
from intarsia.target import Target
from tests.unit.search.fakes import FakeMeasurer, chain_problem, measured

ORT, OPENVINO, MNN = TARGETS = (Target("onnxruntime"), Target("openvino"), Target("mnn"))
COSTS = {target: [1.0, 2.0, 3.0] for target in TARGETS}
SETTINGS = RunSettings(threads=2)
several = st.sets(st.sampled_from(TARGETS))


class Watched(FakeMeasurer):
    """Remembers whose profile was asked, and how it was to run."""

    def __init__(self, telling: set[Target]) -> None:
        super().__init__(COSTS, telling=telling)
        self.inspected: list[tuple[Target, RunSettings]] = []

    def node_times(self, partition: Partition, settings: RunSettings) -> Mapping[str, float]:
        self.inspected.append((partition.target, settings))
        return super().node_times(partition, settings)


def outcomes(failing: set[Target]) -> dict[Target, Outcome]:
    return {
        target: Failure(stage="run", reason="on purpose", cause=Cause.ENGINE) if target in failing else measured(6.0)
        for target in TARGETS
    }


def test_a_profile_has_the_time_of_each_node() -> None:
    found = profiles(chain_problem(3, TARGETS), Watched({ORT}).as_measurer(), outcomes(set()), SETTINGS)
    assert found == {ORT: {"n0": 0.8 * 1.0, "n1": 0.8 * 2.0, "n2": 0.8 * 3.0}}


@given(telling=several, failing=several)
def test_all_that_run_are_asked_and_those_that_tell_are_kept(telling: set[Target], failing: set[Target]) -> None:
    fake = Watched(telling)
    found = profiles(chain_problem(3, TARGETS), fake.as_measurer(), outcomes(failing), SETTINGS)
    assert fake.inspected == [(target, SETTINGS) for target in TARGETS if target not in failing]
    assert set(found) == telling - failing


def test_a_model_in_partitions_gives_no_profile() -> None:
    """Where devices part the model, what an engine takes for it is no sum over one run of its own."""
    fake = Watched(set(TARGETS))
    problem = replace(chain_problem(3, TARGETS), places={"n0": "cpu", "n1": "cpu", "n2": "gpu"})
    assert not profiles(problem, fake.as_measurer(), outcomes(set()), SETTINGS)
    assert not fake.inspected
    at_one_place = replace(problem, places=dict.fromkeys(("n0", "n1", "n2"), "cpu"))
    assert set(profiles(at_one_place, fake.as_measurer(), outcomes(set()), SETTINGS)) == set(TARGETS)
