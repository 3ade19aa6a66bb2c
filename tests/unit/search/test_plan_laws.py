"""Laws of every plan, whoever made it, on random graphs: who takes what, what things cost and what a plan may hold."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

import numpy as np
import onnx
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from onnx import helper

from intarsia.config import RunSettings, SearchSettings
from intarsia.cost.measure import Measurer
from intarsia.cost.records.store import Store
from intarsia.cost.worker.deadline import NO_END
from intarsia.cost.worker.progress import unwatched
from intarsia.cost.worker.repro import Origin
from intarsia.graph import Graph, extract, load_model
from intarsia.graph.reference.reference import evaluate
from intarsia.graph.work import work
from intarsia.partitioning import (
    Capability,
    Partition,
    Partitioning,
    boundaries,
    dump_plan,
    greedy,
    linear_order,
    segments,
)
from intarsia.planning.problem import Candidate, Problem
from intarsia.runtime import build, load_build, plan_of
from intarsia.search.collage.collage import CollageSearch
from intarsia.search.decision.decide import decide
from intarsia.search.decision.decision import Decision
from intarsia.search.single.single_engine import tune_singles
from intarsia.target import Target
from tests.unit.graph.models import feeds_of, info, model, random_dags
from tests.unit.search.fakes import MemoryStore
from tests.unit.search.table_machine import Table, table_machine

TARGETS = (Target("onnxruntime"), Target("openvino"), Target("mnn"))
OPERATORS = ("Relu", "Neg", "Sigmoid", "Tanh", "Abs", "Add", "Sub", "Mul", "Max")
AGREE = 1e-9
thorough = settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """A model, who takes which of its nodes, and what everything costs."""

    graph: Graph
    capabilities: Mapping[Target, Capability]
    table: Table

    @property
    def problem(self) -> Problem:
        """As the driver states it."""
        return Problem(
            graph=self.graph,
            targets=TARGETS,
            capabilities=self.capabilities,
            settings=SearchSettings(budget_s=1e9),
            threads=2,
            segments=segments(self.graph, 16, lambda node: work(self.graph, node)),
        )

    def cost_ms(self, partitions: Sequence[Partition]) -> float:
        """What a plan costs by the table."""
        return self.table.plan_ms(self.graph, [(part.target.kind.name, part.nodes) for part in partitions])


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """Each node is taken by one engine at least."""
    graph = load_model(draw(random_dags()))
    ids = [node.id for node in graph.nodes]
    assume(ids)
    takers = [draw(st.sets(st.sampled_from(TARGETS), min_size=1)) for _ in ids]
    if draw(st.booleans()):  # or an engine that takes the whole model would be rare
        takers = [{*taken, TARGETS[0]} for taken in takers]
    refused = {
        target: {id_: "not this" for id_, taken in zip(ids, takers, strict=True) if target not in taken}
        for target in TARGETS
    }
    row = st.fixed_dictionaries(dict.fromkeys(OPERATORS, st.integers(1, 20).map(float)))
    return World(
        graph=graph,
        capabilities={target: Capability(refusals=refused[target]) for target in TARGETS},
        table=Table(
            node_ms={target.kind.name: draw(row) for target in TARGETS}, transition_ms=float(draw(st.integers(0, 10)))
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """What came of a world.

    Attributes:
        singles: Plans with one engine.
        mixes: Plans that the search proposes.
        decision: What ships; ``None`` if nothing covers the model but a plan by priority.
        measured: How many measurements that took.
    """

    singles: tuple[Candidate, ...]
    mixes: tuple[Candidate, ...]
    decision: Decision | None
    measured: int


def planned(world: World, records: MemoryStore) -> Planned:
    """Tune the engines, search and decide, as the driver does, in a machine whose clock is the table."""
    problem = world.problem
    store, folder = cast("Store", records), records.folder
    engines = [target.kind.name for target in TARGETS]
    with (
        table_machine(world.graph, world.table, folder),
        Measurer(world.graph, folder, store, engines, Origin(model="m.onnx")) as measurer,
    ):
        singles = tune_singles(problem, measurer, unwatched)
        tuned = {single.tuned: world.capabilities[single.target] for single in singles}
        wholes = {single.tuned: single.outcome for single in singles}
        mixes: tuple[Candidate, ...] = ()
        if len(problem.segments) > 1:
            found = CollageSearch(problem, measurer, tuned, wholes, unwatched).run(NO_END)
            mixes = tuple(mix.candidate for mix in found.mixes)
        plans = tuple(candidate for single in singles for candidate in single.candidates)
        decision = decide(problem, measurer, plans, mixes, None, NO_END, unwatched) if plans or mixes else None
        return Planned(singles=plans, mixes=mixes, decision=decision, measured=measurer.measured)


@contextmanager
def fresh() -> Iterator[MemoryStore]:
    """An empty store for one example."""
    with TemporaryDirectory() as name:
        yield MemoryStore(Path(name))


def every_plan(world: World) -> list[tuple[Partition, ...]]:
    """By priority, of single engines, searched and decided."""
    with fresh() as store:
        found = planned(world, store)
    by_priority = greedy(world.graph, TARGETS, world.capabilities).partitions
    decided = [found.decision.chosen.partitions] if found.decision else []
    return [by_priority, *(each.partitions for each in (*found.singles, *found.mixes)), *decided]


def paths(graph: Graph) -> dict[str, set[str]]:
    """The nodes that each node leads to."""
    leads: dict[str, set[str]] = {node.id: set() for node in graph.nodes}
    for node in reversed(graph.nodes):
        for name in node.outputs:
            for index in graph.values[name].consumers:
                reader = graph.nodes[index].id
                leads[node.id] |= {reader, *leads[reader]}
    return leads


def interpreted(graph: Graph, partitions: Sequence[Partition]) -> dict[str, int]:
    """What the outputs stand for, if each partition sees what crosses its border and nothing else."""
    memory = {name: hash(name) for name in graph.inputs}
    for part in partitions:
        border = boundaries(graph, part.nodes)
        local = {name: hash(name) for name in graph.weights} | {name: memory[name] for name in border.inputs}
        for node in extract(graph, part.nodes).nodes:
            local[node.outputs[0]] = hash((node.op_type, *(local[name] for name in node.inputs)))
        memory |= {name: local[name] for name in border.outputs}
    return {name: memory[name] for name in graph.outputs}


def assert_covers_in_order(graph: Graph, partitions: Sequence[Partition]) -> None:
    held = Counter(id_ for part in partitions for id_ in part.nodes)
    assert held == Counter(node.id for node in graph.nodes)
    place = {id_: number for number, part in enumerate(partitions) for id_ in part.nodes}
    assert all(place[id_] <= place[later] for id_, behind in paths(graph).items() for later in behind)


def assert_convex(graph: Graph, partitions: Sequence[Partition]) -> None:
    leads = paths(graph)
    for part in partitions:
        inside = set(part.nodes)
        left = set().union(*(leads[id_] for id_ in inside)) - inside
        assert all(leads[outside].isdisjoint(inside) for outside in left)


def assert_taken(world: World, partitions: Sequence[Partition]) -> None:
    kinds = {target.kind.name: capability for target, capability in world.capabilities.items()}
    assert all(kinds[part.target.kind.name].takes(id_) for part in partitions for id_ in part.nodes)


@thorough
@given(worlds())
def test_every_plan_covers_in_order_with_convex_parts_that_compute_what_the_model_computes(world: World) -> None:
    whole = [Partition(target=TARGETS[0], nodes=tuple(node.id for node in world.graph.nodes))]
    for partitions in every_plan(world):
        assert_covers_in_order(world.graph, partitions)
        assert_convex(world.graph, partitions)
        assert_taken(world, partitions)
        assert interpreted(world.graph, partitions) == interpreted(world.graph, whole)


@settings(max_examples=60)
@given(random_dags(), st.data())
def test_running_a_plan_gives_what_the_model_gives(source: onnx.ModelProto, data: st.DataObject) -> None:
    """The same through the runtime, whose partitions share buffers that are used again; run twice, for what is left."""
    graph = load_model(source)
    order = linear_order(graph)
    assume(order)
    cuts = sorted(data.draw(st.sets(st.integers(1, len(order) - 1)))) if len(order) > 1 else []
    partitions = [order[start:end] for start, end in itertools.pairwise((0, *cuts, len(order)))]
    parts = [Partition(target=Target("reference"), nodes=tuple(partition)) for partition in partitions]
    plan = plan_of(graph, parts, RunSettings(threads=1))
    executor = load_build(graph, build(graph, plan))
    for seed in range(2):
        feeds = feeds_of(source, seed)
        expected = evaluate(graph, feeds)
        found = executor.run({name: feeds[name] for name in graph.inputs})
        assert set(found) == set(expected)
        for name, array in expected.items():
            np.testing.assert_array_equal(found[name], array)


@thorough
@given(worlds())
def test_what_ships_costs_no_more_than_any_engine_alone_or_any_benchmarked_mix(world: World) -> None:
    """By one table, which the search and the final decision read without noise.

    A plan by priority or from a file is what was asked for, whatever it costs: the law is not about these.
    """
    with fresh() as store:
        found = planned(world, store)
    assume(found.decision)
    assert found.decision is not None
    shipped = world.cost_ms(found.decision.chosen.partitions)
    assert all(shipped <= world.cost_ms(single.partitions) + AGREE for single in found.singles)
    benchmarked = [mix for mix in found.mixes if mix.name in found.decision.verdict.rounds_ms]
    assert all(shipped <= world.cost_ms(mix.partitions) + AGREE for mix in benchmarked)


@thorough
@given(worlds())
def test_the_same_store_and_seed_give_the_same_plan_to_the_byte(world: World) -> None:
    with fresh() as first, fresh() as second:
        once, again = planned(world, first), planned(world, second)
        warm = planned(world, first)
    assert warm.measured == 0 < once.measured == again.measured
    assert plan_bytes(once) == plan_bytes(again) == plan_bytes(warm)


def plan_bytes(found: Planned) -> bytes:
    if found.decision is None:
        return b""
    chosen = found.decision.chosen
    return dump_plan(Partitioning(partitions=chosen.partitions), chosen.settings).encode()


def test_a_mix_that_costs_less_ships() -> None:
    """So that the laws above are not kept by shipping single engines only."""
    graph = load_model(two_halves())
    row = dict.fromkeys(OPERATORS, 9.0)
    table = Table(
        node_ms={"onnxruntime": {**row, "Relu": 1.0}, "openvino": {**row, "Neg": 1.0}, "mnn": row}, transition_ms=1.0
    )
    world = World(graph=graph, capabilities=dict.fromkeys(TARGETS, Capability(refusals={})), table=table)
    with fresh() as store:
        found = planned(world, store)
    assert found.decision is not None
    assert [part.target.kind.name for part in found.decision.chosen.partitions] == ["onnxruntime", "openvino"]


def two_halves() -> onnx.ModelProto:
    """Four Relu, then four Neg."""
    types = ["Relu"] * 4 + ["Neg"] * 4
    nodes = [helper.make_node(op_type, [f"v{i}"], [f"v{i + 1}"]) for i, op_type in enumerate(types)]
    return model(nodes, [info("v0")], [info("v8")])
