"""Whatever engines fuse, no mix costs more than greedy or one engine, and of a small graph the best one is found.

The optimum is found here by another program, that tries all convex sets of nodes in all orders.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import cast

import onnx
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from onnx import helper

from intarsia.cost.measure import Measurer
from intarsia.cost.records.store import Store
from intarsia.cost.worker.deadline import NO_END
from intarsia.cost.worker.progress import unwatched
from intarsia.cost.worker.repro import Origin
from intarsia.errors import NoCoverError
from intarsia.graph import Graph, load_model
from intarsia.partitioning import Capability, greedy
from intarsia.search.collage.collage import CollageSearch
from intarsia.search.single.single_engine import tune_singles
from intarsia.search.thresholds import COLLAGE
from tests.unit.graph.models import info, model
from tests.unit.search.table_machine import Table, table_machine
from tests.unit.search.test_plan_laws import (
    AGREE,
    OPERATORS,
    TARGETS,
    World,
    assert_convex,
    assert_covers_in_order,
    assert_taken,
    fresh,
    worlds,
)

ORT, OPENVINO, _ = TARGETS
thorough = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fusing(Table):
    """An engine saves something where a node and one that reads it are in one partition, and on each call.

    Attributes:
        saved_ms: By kind of engine, for each value that a node in the partition makes for another one in it.
    """

    saved_ms: Mapping[str, float]

    def partition_ms(self, graph: Graph, engine: str, nodes: Sequence[str]) -> float:
        """What the nodes cost apart, less what is saved."""
        inside = {graph.node(id_).index for id_ in nodes}
        fused = sum(
            not inside.isdisjoint(graph.values[name].consumers) for id_ in nodes for name in graph.node(id_).outputs
        )
        apart = sum(self.node_ms[engine][graph.node(id_).op_type] for id_ in nodes)
        return apart - self.saved_ms[engine] * fused


@st.composite
def fusing_worlds(draw: st.DrawFn) -> World:
    """Operators cost as much as is saved at least, so that no partition costs less than nothing."""
    world = draw(worlds())
    saved = {target.kind.name: draw(st.sampled_from((0.0, 0.25, 1.0, 4.0))) for target in TARGETS}
    rows = {
        engine: {op_type: ms + saved[engine] for op_type, ms in row.items()}
        for engine, row in world.table.node_ms.items()
    }
    return replace(world, table=Fusing(node_ms=rows, transition_ms=world.table.transition_ms, saved_ms=saved))


def collage_ms(world: World) -> float:
    """What the best plan of the search costs, each engine alone among them."""
    problem = world.problem
    engines = [target.kind.name for target in TARGETS]
    with fresh() as records, table_machine(world.graph, world.table, records.folder):
        store, origin = cast("Store", records), Origin(model="m.onnx")
        with Measurer(world.graph, records.folder, store, engines, origin) as measurer:
            singles = tune_singles(problem, measurer, unwatched)
            tuned = {single.tuned: world.capabilities[single.target] for single in singles}
            wholes = {single.tuned: single.outcome for single in singles}
            found = CollageSearch(problem, measurer, tuned, wholes, unwatched).run(NO_END)
    mixes = [mix.candidate.partitions for mix in found.mixes]
    for partitions in mixes:
        assert_covers_in_order(world.graph, partitions)
        assert_convex(world.graph, partitions)
        assert_taken(world, partitions)
    plans = [*mixes, *(plan.partitions for single in singles for plan in single.candidates)]
    return min(map(world.cost_ms, plans), default=math.inf)


def optimum_ms(world: World) -> float:
    """By trying, from what is done, each set of nodes that can come next on each engine that takes it."""
    graph, table = world.graph, world.table
    count = len(graph.nodes)
    reads = [
        sum(1 << p for p in {graph.values[name].producer for name in node.reads} if p is not None)
        for node in graph.nodes
    ]

    def is_done(mask: int) -> bool:
        return all(not reads[index] & ~mask for index in range(count) if mask >> index & 1)

    everything = (1 << count) - 1
    ideals = [mask for mask in range(everything + 1) if is_done(mask)]

    @cache
    def part_ms(mask: int) -> float:
        nodes = [node.id for node in graph.nodes if mask >> node.index & 1]
        takers = [t.kind.name for t in TARGETS if all(map(world.capabilities[t].takes, nodes))]
        return min((table.partition_ms(graph, name, nodes) for name in takers), default=math.inf)

    best = {0: -table.transition_ms}
    for ideal in sorted(ideals[1:], key=int.bit_count):
        inner = (other for other in best if not other & ~ideal)
        best[ideal] = min(best[other] + table.transition_ms + part_ms(ideal & ~other) for other in inner)
    return best[everything]


def greedy_ms(world: World) -> float:
    try:
        return world.cost_ms(greedy(world.graph, TARGETS, world.capabilities).partitions)
    except NoCoverError:
        return math.inf


@thorough
@given(st.one_of(worlds(), fusing_worlds()))
def test_of_a_small_graph_the_best_mix_is_found(world: World) -> None:
    assume(len(world.graph.nodes) <= COLLAGE.exact_units)
    found = collage_ms(world)
    assert math.isclose(found, optimum_ms(world), abs_tol=AGREE)


@thorough
@given(st.one_of(worlds(), fusing_worlds()))
def test_no_mix_costs_more_than_greedy(world: World) -> None:
    found = collage_ms(world)
    assert found <= greedy_ms(world) + AGREE


ROW = dict.fromkeys(OPERATORS, 5.0)


def world_of(source: onnx.ModelProto, table: Table, taken: dict[str, set[str]]) -> World:
    """Who is named takes these types of operators only; ONNX Runtime takes all."""
    graph = load_model(source)
    return World(
        graph=graph,
        table=table,
        capabilities={
            target: Capability(
                refusals={
                    node.id: "not this"
                    for node in graph.nodes
                    if target != ORT and node.op_type not in taken.get(target.kind.name, set())
                }
            )
            for target in TARGETS
        },
    )


def nodes_of(text: str) -> list[onnx.NodeProto]:
    """Each line is a type, its inputs and its output."""
    rows = [line.split() for line in text.strip().splitlines()]
    return [helper.make_node(op_type, inputs, [output]) for op_type, *inputs, output in rows]


def test_a_partition_around_a_branch_is_found() -> None:
    """Along one order the engine that fuses has two partitions of two and three nodes; all five are convex too."""
    source = model(
        nodes_of(
            """
            Relu x n0
            Relu n0 n1
            Abs x n2
            Relu n2 n3
            Add n1 n3 n4
            Relu n4 n5
            Abs n5 r
            """
        ),
        [info("x")],
        [info("r")],
    )
    rows = {target.kind.name: ROW for target in TARGETS}
    table = Fusing(node_ms=rows, transition_ms=1.0, saved_ms={"onnxruntime": 0.0, "openvino": 2.0, "mnn": 0.0})
    world = world_of(source, table, {"openvino": {"Relu", "Add"}})
    assert collage_ms(world) == optimum_ms(world) == 3 * 5.0 + 4 * 3.0 + 2 * 1.0


def tower(name: str, op_types: Sequence[str]) -> str:
    values = [name, *(f"{name}{number}" for number in range(len(op_types)))]
    return "".join(f"{op} {values[i]} {values[i + 1]}\n" for i, op in enumerate(op_types))


def test_a_tower_is_a_candidate_with_the_join_whichever_comes_first() -> None:
    """In the one order the first tower lies between the inputs and the second one, far from the join."""
    count = 6
    text = tower("a", ["Relu"] * count) + tower("b", ["Neg"] * count) + f"Add a{count - 1} b{count - 1} r\nRelu r out\n"
    source = model(nodes_of(text), [info("a"), info("b")], [info("out")])
    slow = dict.fromkeys(OPERATORS, 9.0)
    rows = {"onnxruntime": {**slow, "Relu": 1.0, "Add": 1.0}, "openvino": {**slow, "Neg": 1.0}, "mnn": slow}
    world = world_of(source, Table(node_ms=rows, transition_ms=2.0), {"openvino": set(OPERATORS)})
    assert len(world.graph.nodes) > COLLAGE.exact_units
    assert collage_ms(world) == 2 * count + 2 + 2.0


def test_what_greedy_makes_of_a_large_graph_is_a_candidate() -> None:
    """Each block has a branch that the engine refuses, and all the rest of it is one convex set."""
    text, x = "", "x"
    for number in range(4):
        a, b, c, d, e, f, g = (f"{value}{number}" for value in "abcdefg")
        text += f"Relu {x} {a}\nRelu {a} {b}\nAbs {x} {c}\nRelu {c} {d}\nAdd {b} {d} {e}\nRelu {e} {f}\nAbs {f} {g}\n"
        x = g
    rows = {target.kind.name: ROW for target in TARGETS}
    table = Fusing(node_ms=rows, transition_ms=1.0, saved_ms={"onnxruntime": 0.0, "openvino": 2.0, "mnn": 0.0})
    world = world_of(model(nodes_of(text), [info("x")], [info(x)]), table, {"openvino": {"Relu", "Add"}})
    by_priority = greedy(world.graph, (OPENVINO, ORT), world.capabilities).partitions
    assert collage_ms(world) <= world.cost_ms(by_priority) < world.cost_ms(world.problem.whole(ORT))
