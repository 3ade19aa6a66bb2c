"""Rows about what a candidate costs the search: measured once, kept, and infinite where it is refused."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import onnx
import pytest

from intarsia.cost.measure import Measurer
from intarsia.cost.records.store import Store
from intarsia.cost.worker import lock, pool
from intarsia.cost.worker.protocol import Answer, Measured, Request
from intarsia.cost.worker.repro import Origin
from intarsia.graph import Graph, load_model
from intarsia.partitioning import Capability, Partition, linear_order
from intarsia.search.collage.edge_costs import EdgeCosts
from intarsia.search.collage.shortest_path import Edge
from intarsia.target import Target
from tests.conformance.rows.compilers import NATIVE, SETTINGS, Compiler, TableMeasurer, as_measured, fusion_factor
from tests.conformance.rows.programs import Program, read_program
from tests.conformance.rows.row import Row, form
from tests.unit.graph.models import info, model


def run_cost(row: Row) -> None:
    """What a piece of so many operators costs the search once it is measured."""
    count = row.input.get("ops_in_candidate", 1)
    program = read_program([f"n{i}=abs({f'n{i - 1}' if i else 'x'})" for i in range(count + 1)])
    graph = program.graph()
    compilers = {NATIVE: Compiler(op_cost=row.input["op_cost"], fusion_factor=fusion_factor(row), depth=count)}
    costs = _edge_costs(graph, TableMeasurer(graph, compilers), {NATIVE: Capability(refusals={})})
    edge = Edge(0, count, NATIVE, None)
    costs.measure(edge)
    assert costs.is_measured(edge)
    assert math.isclose(costs.cost(edge), row.expect["cost"])


def run_candidate_cost(row: Row) -> None:
    """What an operator with several inputs costs: the inputs are no operators."""
    program = read_program([f"r={row.input['candidate']}", "after=abs(r)"])
    graph = program.graph()
    compilers = {NATIVE: Compiler(op_cost=row.input["op_cost"], fusion_factor=1.0, depth=1)}
    costs = _edge_costs(graph, TableMeasurer(graph, compilers), {NATIVE: Capability(refusals={})})
    edge = Edge(0, 1, NATIVE, None)
    costs.measure(edge)
    assert math.isclose(costs.cost(edge), row.expect["cost"])


def run_known_cost(row: Row) -> None:
    """A cost that is known stays, whatever measuring again would give."""
    known = row.input["candidate_cost"]
    graph = read_program(["n0=abs(x)", "n1=abs(n0)"]).graph()
    compilers = {NATIVE: Compiler(op_cost=known, fusion_factor=1.0, depth=1)}
    measurer = TableMeasurer(graph, compilers)
    costs = _edge_costs(graph, measurer, {NATIVE: Capability(refusals={})})
    edge = Edge(0, 1, NATIVE, None)
    costs.measure(edge)
    measured = measurer.measured
    assert (costs.cost(edge), costs.measured_ms(edge)) == (row.expect["cost"], row.expect["cost"])
    assert measurer.measured == measured


def run_refused(row: Row) -> None:
    """A candidate that its engine refuses costs infinity, without being measured."""
    assert row.input["validator_returns"] == row.expect["cost"] == "invalid"
    graph = read_program(["n0=abs(x)", "n1=abs(n0)"]).graph()
    measurer = TableMeasurer(graph, {NATIVE: Compiler(op_cost=1, fusion_factor=1.0, depth=1)})
    costs = _edge_costs(graph, measurer, {NATIVE: Capability(refusals={"n0": "invalid"})})
    costs.measure_region(0, 1)
    assert (costs.cost(Edge(0, 1, NATIVE, None)), measurer.measured) == (math.inf, 0)


def run_reuse(row: Row) -> None:
    """Equal candidates under other names: measured once, by whoever comes first."""
    models = [_model(read_program([f"r={text.split()[0]}"])) for text in row.input["candidates"]]
    costs = []
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(lock, "lock_path", lambda: Path(folder) / "machine.lock")
        store = Store(Path(folder) / "records.sqlite")
        for model, op_cost in zip(models, row.input["estimators"], strict=True):
            graph = load_model(model)
            compiler = Compiler(op_cost=op_cost, fusion_factor=fusion_factor(row), depth=len(graph.nodes))
            patch.setattr(pool, "WorkerClient", partial(Estimator, compiler.cost(len(graph.nodes))))
            with Measurer(graph, Path(folder), store, ["reference"], Origin(model="a row")) as measurer:
                whole = Partition(target=Target("reference"), nodes=tuple(node.id for node in graph.nodes))
                costs.append(measurer.cost(whole, SETTINGS).cost_ms)
    assert [math.isclose(cost, wanted) for cost, wanted in zip(costs, row.expect["costs"], strict=True)] == [True] * 2


class Estimator:
    """Answers like a worker process, always with the same cost."""

    def __init__(self, ms: float, folder: Path, environment: dict[str, str | None]) -> None:
        self._ms = ms

    def ask(self, request: Request, timeout_s: float) -> Answer:
        return Measured(samples_ms=(self._ms,) * 3, compile_s=0.0, load_s=0.0, error=0.0, is_complete=True)

    def close(self) -> None:
        pass


def _model(program: Program) -> bytes:
    nodes = [onnx.helper.make_node(op, reads, writes, name=id_) for id_, op, reads, writes in program.rows]
    written = {name for node in nodes for name in node.output}
    inputs = dict.fromkeys(name for node in nodes for name in node.input if name not in written)
    outputs = [info(name) for name in program.outputs]
    return bytes(model(nodes, [info(name) for name in inputs], outputs).SerializeToString())


def _edge_costs(graph: Graph, measurer: TableMeasurer, capabilities: Mapping[Target, Capability]) -> EdgeCosts:
    segments = [(id_,) for id_ in linear_order(graph)]
    wholes = {target: as_measured(1.0) for target in capabilities}
    return EdgeCosts(measurer.as_measurer(), segments, capabilities, wholes, SETTINGS)


FORMS = (
    form(run_cost, "ops_in_candidate op_cost", "fusion_factor"),
    form(run_candidate_cost, "candidate op_cost"),
    form(run_known_cost, "candidate_cost"),
    form(run_refused, "validator_returns"),
    form(run_reuse, "candidates estimators", "fusion_factor"),
)
