"""The best mixed path, of which no more edges are measured than it takes to know that it is the best.

The shortest path is found on estimates, its edges are measured, and it is found again, until the best path is measured
throughout (LazySP; Dellin & Srinivasa, "A Unifying Formalism for Shortest Path Problems with Expensive Edge
Evaluations", ICAPS 2016).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence

from intarsia.cost.worker.deadline import Deadline
from intarsia.search.collage.edge_costs import EdgeCosts
from intarsia.search.collage.shortest_path import Edge, Path, shortest_path
from intarsia.search.thresholds import COLLAGE
from intarsia.target import Target


class LazyPaths:
    """Asks for the best path again and again, on costs that become better known."""

    def __init__(
        self,
        costs: EdgeCosts,
        targets: Sequence[Target],
        seams: Collection[int],
        *,
        most: float,
        measure: Callable[[Edge[Target]], None],
    ) -> None:
        """A path is worth building if it may cost ``most`` milliseconds or less."""
        self._costs = costs
        self._targets = tuple(targets)
        self._seams = seams
        self._most = most
        self._measure = measure
        self.rounds = 0

    def best(self, stops: Collection[int], deadline: Deadline, host: Target | None = None) -> Path[Target] | None:
        """The best mixed path, measured throughout; when the time is over, the best of those that are.

        ``None`` if no path is worth building. Partitions may begin at the stops; of the host see `EdgeCosts.cost`.
        """
        while True:
            path = self._shortest(stops, lambda edge: self._costs.cost(edge, host))
            if path is None or sum(self._costs.low(edge, host) for edge in path.edges) > self._most:
                return None
            unmeasured = [edge for edge in path.edges if not self._costs.is_measured(edge, host)]
            if not unmeasured:
                return path
            for edge in unmeasured:
                if deadline.is_over() or self._costs.is_out_of_time:
                    return self._shortest(stops, lambda edge: self._costs.measured_cost(edge, host), self._most)
                self._measure(edge)

    def _shortest(
        self, stops: Collection[int], cost: Callable[[Edge[Target]], float], most: float | None = None
    ) -> Path[Target] | None:
        self.rounds += 1
        segments = len(self._costs.segments)

        def mixed(edge: Edge[Target]) -> float:
            return math.inf if edge.end - edge.start == segments else cost(edge)

        bound = COLLAGE.loose_paths * self._most if most is None else most
        return shortest_path(segments, self._targets, mixed, self._seams, stops=stops, most=bound)
