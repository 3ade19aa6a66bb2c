"""The shortest path against an integer program that HiGHS solves: another formulation, by another solver."""

from __future__ import annotations

import itertools
import math
import random
from collections import defaultdict

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp  # type: ignore[import-untyped]

from intarsia.search.collage.shortest_path import Edge, Path, shortest_path

TARGETS = ("a", "b", "c")


def every_edge(stops: list[int]) -> list[Edge[str]]:
    return [
        Edge(start, end, target, after)
        for start, end in itertools.combinations(stops, 2)
        for target in TARGETS
        for after in ((None,) if start == 0 else tuple(other for other in TARGETS if other != target))
    ]


def least_cost(segments: int, edges: list[Edge[str]], costs: list[float]) -> float:
    """Each segment is covered once, and a partition stands behind a target only where a partition of that target
    ends."""
    rows: defaultdict[object, dict[int, float]] = defaultdict(dict)
    for number, edge in enumerate(edges):
        for segment in range(edge.start, edge.end):
            rows["segment", segment][number] = 1.0
        if edge.after is not None:
            rows["state", edge.start, edge.after][number] = -1.0
        if edge.end < segments:
            rows["state", edge.end, edge.target][number] = 1.0
    matrix = np.zeros((len(rows), len(edges)))
    for row, entries in enumerate(rows.values()):
        matrix[row, list(entries)] = list(entries.values())
    right = np.array([1.0 if key[0] == "segment" else 0.0 for key in rows])  # type: ignore[index]
    found = milp(
        np.array(costs),
        integrality=np.ones(len(edges)),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(matrix, right, right),
    )
    return float(found.fun) if found.success else math.inf


@pytest.mark.parametrize("seed", range(12))
def test_an_integer_program_finds_nothing_cheaper(seed: int) -> None:
    rng = random.Random(seed)
    segments = rng.randint(4, 10)
    stops = [0, *sorted(rng.sample(range(1, segments), rng.randint(1, segments - 1))), segments]
    edges = [edge for edge in every_edge(stops) if rng.random() < 0.8]
    table = {edge: rng.uniform(1, 100) * (edge.end - edge.start) for edge in edges}
    expected = least_cost(segments, edges, list(table.values()))

    def found(most: float = math.inf) -> Path[str] | None:
        return shortest_path(segments, TARGETS, lambda edge: table.get(edge, math.inf), stops=stops, most=most)

    path = found()
    assert (path is None) == (expected == math.inf)
    if path is not None:
        assert math.isclose(path.cost, expected, rel_tol=1e-6)
        assert found(most=path.cost) == path
        assert found(most=0.99 * path.cost) is None
