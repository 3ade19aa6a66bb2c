"""Models with control flow, drawn at random, and plans that run each body node by node on given targets."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from typing import Any

import numpy as np
import onnx
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from intarsia.config.settings import RunSettings
from intarsia.graph import Graph
from intarsia.graph.bodies import bodies_of, holds_bodies, with_body_plans
from intarsia.partitioning import BodyPlan, Partition, bodies_by_node
from intarsia.planning.bodies import RUNS_BODIES
from intarsia.runtime import Executor, Plan, build, load_build, plan_of
from intarsia.target import Target

SHAPE = (2, 3)
MOST_ROUNDS = 3
_UNARY = ("Relu", "Neg", "Sigmoid", "Tanh", "Abs", "Identity")
_BINARY = ("Add", "Sub", "Mul", "Max")


class Drawing:
    """Draws graphs of nodes that keep one shape; bodies capture what is around them."""

    def __init__(self, draw: st.DrawFn) -> None:
        self._draw = draw
        self._count = 0

    def name(self, stem: str) -> str:
        self._count += 1
        return f"{stem}{self._count}"

    def nodes(self, known: list[str], most: int) -> list[onnx.NodeProto]:
        """Some plain nodes; what they make is known from then on."""
        made = []
        for _ in range(self._draw(st.integers(0, most))):
            op = self._draw(st.sampled_from((*_UNARY, *_BINARY)))
            reads = [self._draw(st.sampled_from(known)) for _ in range(1 if op in _UNARY else 2)]
            made.append(helper.make_node(op, reads, [self.name("v")]))
            known.append(made[-1].output[0])
        return made

    def flow(self, known: list[str], depth: int) -> list[onnx.NodeProto]:
        """A node with bodies, and what it needs; what it makes is known from then on."""
        kind = self._draw(st.sampled_from(("If", "Loop")))
        made = self._branch(known, depth) if kind == "If" else self._loop(known, depth)
        known.append(made[-1].output[0])
        return made

    def _inner(self, known: list[str], depth: int) -> list[onnx.NodeProto]:
        nodes = self.nodes(known, 3)
        if depth > 0 and self._draw(st.booleans()):
            nodes += self.flow(known, depth - 1)
        return nodes

    def _branch(self, known: list[str], depth: int) -> list[onnx.NodeProto]:
        condition, total, zero = (self.name("c") for _ in range(3))
        bodies = {}
        for branch in ("then_branch", "else_branch"):
            inner = list(known)
            nodes = self._inner(inner, depth)
            made = [node for node in nodes if node.output[0] in inner]
            nodes.append(helper.make_node("Neg", [inner[-1] if made else known[-1]], [self.name("r")]))
            output = helper.make_tensor_value_info(nodes[-1].output[0], TensorProto.FLOAT, SHAPE)
            bodies[branch] = helper.make_graph(nodes, branch, [], [output])
        return [
            helper.make_node("ReduceSum", [self._draw(st.sampled_from(known))], [total], keepdims=0),
            helper.make_node("Sub", [total, total], [zero]),
            helper.make_node(self._draw(st.sampled_from(("Greater", "Less"))), [total, zero], [condition]),
            helper.make_node("If", [condition], [self.name("f")], **bodies),
        ]

    def _loop(self, known: list[str], depth: int) -> list[onnx.NodeProto]:
        step, going, state = self.name("i"), self.name("g"), self.name("h")
        inner = [*known, state]
        nodes = [helper.make_node("Identity", [going], [self.name("g")]), *self._inner(inner, depth)]
        nodes.append(helper.make_node("Sub", [inner[-1], state], [self.name("n")]))
        stacked = helper.make_node("Relu", [self._draw(st.sampled_from(inner))], [self.name("s")])
        info = helper.make_tensor_value_info
        body = helper.make_graph(
            [*nodes, stacked],
            "body",
            [
                info(step, TensorProto.INT64, ()),
                info(going, TensorProto.BOOL, ()),
                info(state, TensorProto.FLOAT, SHAPE),
            ],
            [
                info(nodes[0].output[0], TensorProto.BOOL, ()),
                info(nodes[-1].output[0], TensorProto.FLOAT, SHAPE),
                info(stacked.output[0], TensorProto.FLOAT, SHAPE),
            ],
        )
        rounds = helper.make_node("Constant", [], [self.name("m")], value_int=self._draw(st.integers(0, MOST_ROUNDS)))
        last, rows = self.name("f"), self.name("rows")
        loop = helper.make_node(
            "Loop", [rounds.output[0], "", self._draw(st.sampled_from(known))], [self.name("f"), rows], body=body
        )
        summed = helper.make_node("ReduceSum", [rows, "first"], [self.name("v")], keepdims=0)
        return [rounds, loop, summed, helper.make_node("Add", [loop.output[0], summed.output[0]], [last])]


@st.composite
def flow_models(draw: st.DrawFn) -> onnx.ModelProto:
    """A model of plain nodes and of `If` and `Loop`, inside of each other too, with one input ``x`` and a weight."""
    drawing, known = Drawing(draw), ["x", "w"]
    nodes = drawing.nodes(known, 2)
    for _ in range(draw(st.integers(1, 2))):
        nodes += drawing.flow(known, 1)
        nodes += drawing.nodes(known, 1)
    nodes.append(helper.make_node("Neg", [known[-1]], ["y"]))
    weights = {"w": np.random.default_rng(0).standard_normal(SHAPE).astype(np.float32), "first": np.array([0])}
    graph = helper.make_graph(
        nodes,
        "flow",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, SHAPE)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, SHAPE)],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def stepwise(graph: Graph, targets: Sequence[Target]) -> tuple[Partition, ...]:
    """Each node in a partition of its own, at every depth, on one of the targets after another."""
    turn: Any = cycle(targets)
    found = []
    for node in graph.nodes:
        bodies = _body_plans(graph, node.id, targets) if holds_bodies(node) else ()
        if any(graph.values[name].consumers or graph.values[name].is_output for name in node.outputs if name):
            found.append(Partition(target=RUNS_BODIES if bodies else next(turn), nodes=(node.id,), bodies=bodies))
        else:  # an engine is asked for some output; what nobody reads is run by the evaluator, which need not be
            found.append(Partition(target=Target("reference"), nodes=(node.id,)))
    return tuple(found)


def _body_plans(graph: Graph, id_: str, targets: Sequence[Target]) -> tuple[BodyPlan, ...]:
    bodies = bodies_of(graph, graph.node(id_))
    return tuple(
        BodyPlan(node=id_, body=name, partitions=stepwise(body.graph, targets)) for name, body in bodies.items()
    )


def stated(graph: Graph, partitions: Sequence[Partition]) -> Graph:
    """The graph whose nodes say by which of these plans their bodies run."""
    return with_body_plans(graph, bodies_by_node(body for part in partitions for body in part.bodies))


def loaded(graph: Graph, targets: Sequence[Target]) -> tuple[Plan, Executor]:
    """The plan that runs all node by node, and what runs it."""
    partitions = stepwise(graph, targets)
    graph = stated(graph, partitions)
    plan = plan_of(graph, partitions, RunSettings(threads=1))
    return plan, load_build(graph, build(graph, plan))
