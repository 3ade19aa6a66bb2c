from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx

from intarsia import Target
from intarsia.backends.c.choose import kernels_for
from intarsia.backends.c.network import known_of, prepared
from intarsia.backends.c.site import NoKernelError, Site
from intarsia.backends.lowering.lower import lower
from intarsia.codegen.boards.board import EMULATED
from intarsia.codegen.module import Kernel
from intarsia.graph import Graph, extract, load_model
from intarsia.graph.reference.reference import evaluate
from intarsia.search.boards.answers import Answers
from intarsia.search.boards.plan import NOTE, BoardPlan, measured_plan
from tests.unit.codegen.tools import BOARDS
from tests.unit.search.boards.programs import NAIVE, WASTEFUL, products

HOST, ENGINE = Target("c -mcpu=cortex-m4"), Target("cmsis-nn -mcpu=cortex-m4")
FEEDS = {"x": np.linspace(-1, 1, 24, dtype=np.float32).reshape(4, 6)}


def graph_of(folder: Path) -> Graph:
    """exp(reshape(x @ w)) @ v, with two products that are as different as can be."""
    rng = np.random.default_rng(3)
    w, v = rng.standard_normal((6, 6)).astype(np.float32), rng.standard_normal((6, 2)).astype(np.float32)
    make = onnx.helper.make_node
    nodes = [
        make("MatMul", ["x", "w"], ["a"], "first"),
        make("Reshape", ["a", "shape"], ["b"], "folded"),
        make("Exp", ["b"], ["c"], "exp"),
        make("MatMul", ["c", "v"], ["y"], "second"),
    ]
    tensors = [onnx.numpy_helper.from_array(array, name) for array, name in ((w, "w"), (v, "v"))]
    tensors.append(onnx.numpy_helper.from_array(np.array([4, 6], np.int64), "shape"))
    value = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(nodes, "net", [value("x", 1, (4, 6))], [value("y", 1, (4, 2))], tensors)
    path = folder / "net.onnx"
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 21)], ir_version=10), path)
    return load_model(path)


def planned(folder: Path, text: str, nodes: frozenset[str]) -> tuple[Graph, BoardPlan]:
    graph = graph_of(folder)
    whole = extract(graph, (node.id for node in graph.nodes))
    program = lower(whole)
    prepared_program, known = prepared(
        program, known_of(program, {name: whole.weights[name].array() for name in program.weights})
    )

    def offered(target: Target, site: Site) -> Sequence[Kernel]:
        if target == HOST:
            return kernels_for(site)
        try:
            return products(text)(site)
        except NoKernelError:
            return ()

    every = frozenset(node.id for node in graph.nodes)
    takes = {HOST: every, ENGINE: nodes}  # what fuses more than a product is wrong by the made-up kernel
    answers = Answers(values=evaluate(graph, FEEDS))
    return graph, measured_plan(
        graph, prepared_program, known, HOST, takes, offered, EMULATED["mps2-an386"], FEEDS, answers
    )


@BOARDS
def test_each_engine_gets_the_nodes_of_which_it_executes_least(tmp_path: Path) -> None:
    empty = "    static const float none[1] = {0};\n    (void)none;\n" + NAIVE
    graph, found = planned(tmp_path, empty, frozenset({"first", "second"}))
    assert {part.target for part in found.partitioning.partitions} <= {ENGINE, HOST}
    facts = found.facts()
    assert facts["note"] == NOTE == "instructions in QEMU, not cycles"
    assert facts["total"] == found.placement.instructions
    assert abs(sum(row["instructions"] for row in facts["kernels"]) - facts["total"]) < 30
    for row in facts["kernels"]:
        least = min([row["instructions"], *(other.get("instructions", np.inf) for other in row["others"])])
        assert row["instructions"] == least
        owner = next(part.target for part in found.partitioning.partitions if row["nodes"][0] in part.nodes)
        assert owner.kind.name == row["engine"]
    assert sorted(id_ for part in found.partitioning.partitions for id_ in part.nodes) == sorted(
        node.id for node in graph.nodes
    )


@BOARDS
def test_what_executes_more_gets_nothing(tmp_path: Path) -> None:
    _, found = planned(tmp_path, WASTEFUL, frozenset({"first", "second"}))
    assert [part.target for part in found.partitioning.partitions] == [HOST]
    assert found.facts()["alone"]["cmsis-nn"] > found.facts()["total"]


@BOARDS
def test_an_engine_is_asked_for_no_node_that_it_does_not_take(tmp_path: Path) -> None:
    _, found = planned(tmp_path, NAIVE, frozenset({"second"}))
    rows = {row["nodes"][0]: row for row in found.facts()["kernels"]}
    assert "cmsis-nn" not in {other["engine"] for other in rows["first"]["others"]}
    engines = {rows["second"]["engine"], *(other["engine"] for other in rows["second"]["others"])}
    assert engines == {"c", "cmsis-nn"}
