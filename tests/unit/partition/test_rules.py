"""What each rule proposes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from intarsia.partition.capability import Capability
from intarsia.partition.rules import CandidatePartition, Intervals, MaximalRegions, PartitionSpec, WholeModel
from intarsia.target import Target
from tests.fakes import fake_dag

ORT = Target("onnxruntime")
ATOMS = (("n0", "n1"), ("n2",), ("n3",), ("n4", "n5"))
GRAPH = fake_dag([[number - 1] if number else [] for number in range(6)])


def refusing(*ids: str) -> Capability:
    return Capability(refusals=dict.fromkeys(ids, "not here"))


def test_the_whole_model_is_proposed_if_nothing_is_refused() -> None:
    everything = CandidatePartition(target=ORT, nodes=frozenset(f"n{number}" for number in range(6)))
    assert list(WholeModel().candidates(GRAPH, ORT, refusing())) == [everything]
    assert list(WholeModel().candidates(GRAPH, ORT, refusing("n5"))) == []
    assert list(WholeModel().candidates(fake_dag([]), ORT, refusing())) == []


def test_maximal_regions_are_proposed_from_a_size_on() -> None:
    def proposed(rule: MaximalRegions) -> list[frozenset[str]]:
        return [candidate.nodes for candidate in rule.candidates(GRAPH, ORT, refusing("n1"))]

    assert proposed(MaximalRegions()) == [{"n0"}, {"n2", "n3", "n4", "n5"}]
    assert proposed(MaximalRegions(min_nodes=2)) == [{"n2", "n3", "n4", "n5"}]


@given(st.sets(st.sampled_from([f"n{number}" for number in range(6)])))
def test_intervals_are_all_runs_of_atoms_that_are_taken_whole(refused: set[str]) -> None:
    rule, capability = Intervals(atoms=ATOMS), refusing(*refused)
    runs = {(first, last) for first in range(4) for last in range(first, 4)}
    taken = {(first, last) for first, last in runs if not rule.nodes(first, last) & refused}
    table = rule.table(capability)
    assert {(first, last) for first, last in runs if table.accepts(first, last)} == taken
    assert list(table) == sorted(taken)
    assert [(c.first, c.last, c.nodes) for c in rule.candidates(GRAPH, ORT, capability)] == [
        (first, last, rule.nodes(first, last)) for first, last in sorted(taken)
    ]


def test_a_spec_names_its_target_and_rule() -> None:
    spec = PartitionSpec(target=ORT, rule=Intervals(atoms=ATOMS))
    proposed = list(spec.rule.candidates(GRAPH, spec.target, refusing("n0", "n2", "n4")))
    assert proposed == [CandidatePartition(target=ORT, nodes=frozenset({"n3"}), first=2, last=2)]
