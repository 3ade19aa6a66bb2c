"""What a node is lowered to computes what the node computes; no engine is needed to see that."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from intarsia.backends.lowering.interpreter import Interpreter
from intarsia.backends.lowering.lower import RULES, lower, refusal
from intarsia.backends.lowering.program import Program
from intarsia.graph import Graph, extract, load_model
from intarsia.graph.reference.reference import evaluate
from tests.conformance.cases import Case, f32, i64, one
from tests.conformance.convolution_cases import CONVOLUTION_CASES
from tests.conformance.judge import differences
from tests.conformance.node_cases import node_cases
from tests.conformance.operator_cases import OPERATOR_CASES
from tests.unit.backends.lowering.numpy_kernels import kernel_of

CASES = {case.name: case for case in (*OPERATOR_CASES, *CONVOLUTION_CASES)}
NOTHING: frozenset[str] = frozenset()


def refusals(graph: Graph, natives: frozenset[str] = NOTHING) -> list[str]:
    return [reason for node in graph.nodes if (reason := refusal(node, graph, natives, lambda *_: None))]


def run(program: Program, graph: Graph, feeds: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    known = program.known | {place: graph.weights[name].array() for name, place in program.weights.items()}
    given = {name: place for name, place in program.inputs.items() if name in feeds}
    results = Interpreter(program, kernel_of, list(given.values()), known)(*(feeds[name] for name in given))
    return dict(zip(program.outputs, results, strict=True))


@pytest.mark.parametrize("name", CASES)
def test_what_is_lowered_computes_the_same(name: str) -> None:
    graph = load_model(CASES[name].model())
    if refusals(graph):
        return
    program = Program.of_files(lower(extract(graph, graph.position)).files())
    feeds = CASES[name].feeds("a")
    found = run(program, graph, feeds)
    for output, want in evaluate(graph, feeds).items():
        assert differences(found[output], want) == []


def test_operators_without_a_case_here_compute_what_their_generator_says() -> None:
    own = {node.op_type for case in CASES.values() for node in case.nodes}
    found: dict[str, list[str]] = {}
    for case in node_cases():
        if not case.is_numeric or not set(case.operators) <= RULES.keys() - own:
            continue
        graph = load_model(case.model)
        if not refusals(graph):
            results = run(lower(extract(graph, graph.position)), graph, case.inputs or {})
            found[case.name] = case.faults(results)
    assert {name: faults for name, faults in found.items() if faults} == {}
    assert len(found) > 100


def test_most_cases_are_lowered() -> None:
    taken = Counter(not refusals(load_model(case.model())) for case in CASES.values())
    assert taken[True] > 0.8 * len(CASES)


def test_a_reason_says_what_is_missing() -> None:
    case = Case(
        name="late",
        nodes=one("Reshape", "late", {"x": f32(2, 3), "shape": i64(3, 2)}).nodes,
        inputs={"x": f32(2, 3)},
        weights={"shape": i64(3, 2)},
    )
    assert refusals(load_model(case.model())) == []
    graph = load_model(one("Det", "d", {"x": f32(3, 3)}).model())
    assert refusals(graph) == ["Det: it has no lowering"]


def test_an_engine_s_own_judgement_is_heard() -> None:
    graph = load_model(one("Exp", "e", {"x": f32(2)}).model())
    (node,) = graph.nodes
    assert (
        refusal(node, graph, NOTHING, lambda each, reads: f"no {each.name} of {reads[0].dtype}") == "no exp of float32"
    )


def test_natives_are_kept_whole() -> None:
    graph = load_model(one("Softmax", "s", {"x": f32(2, 3)}).model())
    model = extract(graph, graph.position)
    assert [each.name for each in lower(model, frozenset({"softmax"})).instructions] == ["input", "softmax"]
    assert "exp" in {each.name for each in lower(model).instructions}


def test_a_slope_for_each_channel_is_native_to_some() -> None:
    graph = load_model(one("PRelu", "p", {"x": f32(2, 3), "slope": (3,)}).model())
    model = extract(graph, graph.position)
    assert "prelu" in {each.name for each in lower(model, frozenset({"prelu"})).instructions}
    assert "where" in {each.name for each in lower(model).instructions}


@pytest.mark.parametrize(
    ("attrs", "is_whole"),
    [
        ({"mode": "linear"}, True),
        ({"mode": "linear", "coordinate_transformation_mode": "align_corners"}, True),
        ({"mode": "linear", "coordinate_transformation_mode": "half_pixel_symmetric"}, False),
        ({"mode": "linear", "antialias": 1}, False),
        ({"mode": "linear", "exclude_outside": 1}, False),
        ({"mode": "cubic"}, False),
        ({"mode": "nearest"}, False),
    ],
)
def test_interpolation_of_images_is_native_where_all_mean_the_same(attrs: dict[str, Any], is_whole: bool) -> None:
    sizes = {"roi": np.zeros(0, np.float32), "scales": np.zeros(0, np.float32), "sizes": i64(1, 3, 9, 7)}
    graph = load_model(one("Resize", "r", {"x": f32(1, 3, 4, 5), **sizes}, **attrs).model())
    program = lower(extract(graph, graph.position), frozenset({"resize_linear"}))
    assert ("resize_linear" in {each.name for each in program.instructions}) == is_whole


def test_a_program_prints_each_step() -> None:
    graph = load_model(one("Neg", "n", {"x": f32(2, 3)}).model())
    program = lower(extract(graph, graph.position))
    assert str(program) == "%0 = input(, name=x) : float32[2, 3]\n%1 = neg(%0) : float32[2, 3]\nreturn y=%1"


def test_every_rule_is_of_an_operator_that_onnx_has() -> None:
    from onnx import defs

    known = {schema.name for schema in defs.get_all_schemas()}
    assert set(RULES) <= known
