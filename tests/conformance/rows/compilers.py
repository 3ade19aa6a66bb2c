"""Stand-ins for the two compilers of collage rows: what they cost follows from a formula."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from intarsia.backends.contract.failures import Cause
from intarsia.config import RunSettings, Spin
from intarsia.cost.measure import Measurer
from intarsia.cost.records.record import Failure, Measurement, Outcome
from intarsia.cost.timing.sampling import Effort
from intarsia.graph import Graph
from intarsia.partitioning import Capability, Partition
from intarsia.target import Target
from tests.conformance.rows.row import Row

NATIVE, EXTERNAL = Target("onnxruntime"), Target("mnn")
"""Two engines of ours that stand in for the two compilers of the rows."""
SETTINGS = RunSettings(threads=1, spin=Spin.CALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiler:
    """What a row says of one compiler.

    Attributes:
        op_cost: Of each operator by itself.
        fusion_factor: What each further operator of a kernel costs, as a share of the one before.
        depth: How many operators it fuses into one kernel at most.
        ops: The operators it takes; empty for all.
    """

    op_cost: float
    fusion_factor: float
    depth: int
    ops: frozenset[str] = frozenset()

    def takes(self, op_type: str) -> bool:
        """Whether it compiles this operator."""
        return not self.ops or op_type in self.ops

    def capability(self, graph: Graph) -> Capability:
        """What it refuses of a graph."""
        return Capability(refusals={n.id: "no pattern has it" for n in graph.nodes if not self.takes(n.op_type)})

    def cost(self, count: int) -> float:
        """Of so many operators, in kernels as long as it makes them."""
        kernels, rest = divmod(count, self.depth)
        return kernels * self._kernel(self.depth) + self._kernel(rest)

    def _kernel(self, count: int) -> float:
        return sum(self.op_cost * self.fusion_factor**number for number in range(count))


class TableMeasurer:
    """Measures by the compilers' formulas."""

    def __init__(self, graph: Graph, compilers: Mapping[Target, Compiler]) -> None:
        self._graph = graph
        self._compilers = compilers
        self.measured = 0

    def cost(
        self, partition: Partition, settings: RunSettings, after: Partition | None = None, effort: Effort | None = None
    ) -> Outcome:
        self.measured += 1
        compiler = self._compilers[partition.target]
        if not all(compiler.takes(self._graph.node(id_).op_type) for id_ in partition.nodes):
            return Failure(stage="capability", reason="some operator is in no pattern", cause=Cause.NOT_ASKED)
        return as_measured(compiler.cost(len(partition.nodes)))

    def cost_of_plan(self, partitions: Sequence[Partition], settings: RunSettings, effort: Effort) -> Outcome:
        costs = [self.cost(partition, settings).cost_ms for partition in partitions]
        return as_measured(sum(costs))

    def node_times(self, partition: Partition, settings: RunSettings) -> Mapping[str, float]:
        """The formulas say nothing of single nodes."""
        return {}

    def as_measurer(self) -> Measurer:
        return cast("Measurer", self)


def as_measured(ms: float) -> Measurement:
    return Measurement(samples_ms=(ms,) * 9, compile_s=0.0, load_s=0.0, error=0.0)


def fusion_factor(row: Row) -> float:
    """What fusing saves, in rows that do not say."""
    return float(row.input.get("fusion_factor", 0.9))
