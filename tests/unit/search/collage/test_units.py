"""Units: the nodes of a small graph; the regions of a large one, cut at the borders of what greedy makes of it."""

from __future__ import annotations

from dataclasses import replace

from intarsia.partitioning import Capability
from intarsia.planning.problem import Problem
from intarsia.search.collage.units import cut_units, divisions, order_of, readers, single_nodes
from intarsia.target import Target
from tests.fakes import fake_dag
from tests.unit.search.fakes import chain_problem

ORT, MNN = Target("onnxruntime"), Target("mnn")


def problem_of(reads: list[list[int]], refused: list[str]) -> Problem:
    """A graph of which the second engine refuses some nodes."""
    graph = fake_dag(reads)
    capabilities = {ORT: Capability(refusals={}), MNN: Capability(refusals=dict.fromkeys(refused, "no"))}
    return replace(chain_problem(len(reads), [ORT, MNN]), graph=graph, capabilities=capabilities)


DIAMOND = [[], [0], [0], [1, 2]]


def test_an_engine_that_takes_a_part_divides_the_graph() -> None:
    problem = problem_of(DIAMOND, ["n2"])
    (division,) = divisions(problem, problem.capabilities)
    assert [(part.target, part.nodes) for part in division.partitions] == [
        (MNN, ("n0", "n1")),
        (ORT, ("n2",)),
        (MNN, ("n3",)),
    ]


def test_an_engine_that_takes_all_or_nothing_does_not() -> None:
    for refused in ([], ["n0", "n1", "n2", "n3"]):
        problem = problem_of(DIAMOND, refused)
        assert divisions(problem, problem.capabilities) == []


def test_what_no_engine_takes_is_not_divided() -> None:
    problem = problem_of(DIAMOND, ["n2"])
    assert divisions(problem, {MNN: problem.capabilities[MNN]}) == []


def test_a_small_graph_is_taken_apart() -> None:
    graph = fake_dag(DIAMOND)
    units = single_nodes(graph, 4)
    assert units is not None
    assert sorted(units) == [("n0",), ("n1",), ("n2",), ("n3",)]
    after = readers(graph, units)
    assert all(unit < reader for unit, several in enumerate(after) for reader in several)
    assert single_nodes(graph, 3) is None
    assert single_nodes(fake_dag([[] for _ in range(200)]), 4) is None


def test_regions_are_cut_where_an_engine_ends_if_that_leaves_few() -> None:
    problem = problem_of([[], [0], [1], [2], [3]], ["n2"])
    several = divisions(problem, problem.capabilities)
    regions = [("n0", "n1", "n2"), ("n3", "n4")]
    units, kept = cut_units(problem.graph, regions, several, 3)
    assert units == (("n0", "n1"), ("n2",), ("n3", "n4"))
    assert kept == several
    assert order_of(kept[0], units) == [0, 1, 2]
    assert cut_units(problem.graph, regions, several, 2) == (tuple(regions), [])


def test_regions_are_cut_where_branches_begin_and_end() -> None:
    """Two towers and a join: the second tower's last node and the join are one region."""
    graph = fake_dag([[], [0], [], [2], [1, 3], [4]])
    regions = [("n0", "n1"), ("n2",), ("n3", "n4"), ("n5",)]
    units, _ = cut_units(graph, regions, [], 8)
    assert units == (("n0", "n1"), ("n2",), ("n3",), ("n4",), ("n5",))
    row = fake_dag([[], [0], [0, 1], [2]])
    assert cut_units(row, [("n0", "n1", "n2"), ("n3",)], [], 8)[0] == (("n0", "n1", "n2"), ("n3",))
