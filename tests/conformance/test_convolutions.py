"""Convolutions on every engine, and that the one which is made for them takes them all."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from intarsia.backends import registry
from intarsia.backends.native import library
from intarsia.target import Target
from tests.conformance.cases import Case
from tests.conformance.conftest import Ask, expected, graph_of
from tests.conformance.convolution_cases import CONVOLUTION_CASES
from tests.conformance.judge import faults


@pytest.mark.engine
@pytest.mark.parametrize("case", CONVOLUTION_CASES, ids=lambda case: case.name)
def test_convolution(engine: str, ask: Ask, case: Case) -> None:
    answer = ask("run", case)
    want = [expected(case.name, turn) for turn in ("a", "b", "a")]
    assert faults(answer, want, registry.get(engine).traits.mutates_inputs) == []


@pytest.mark.parametrize(
    ("stated", "same"), [({}, {"pads": [1] * 4}), ({"pads": [0, 2, 1, 0]}, {"pads": [0, 2, 1, 0]})]
)
def test_an_operator_of_an_artifact_that_states_no_padding_pads_by_one(
    stated: dict[str, Any], same: dict[str, Any]
) -> None:
    import onnxruntime as ort

    if registry.get("winograd").probe().reason:
        pytest.skip("winograd is not here")
    block = library.block()
    rng = np.random.default_rng(0)
    x = rng.standard_normal((1, block, 9, 8)).astype(np.float32)
    w = rng.standard_normal((block, block, 3, 3)).astype(np.float32)
    limits = {"low": -math.inf, "high": math.inf}
    blocked = {"x": np.moveaxis(x, 1, -1).reshape(x.shape), "w": w.transpose(2, 3, 1, 0).reshape(w.shape)}
    answers = []
    for domain, op_type, given, attributes in (
        ("intarsia", "Winograd3x3", blocked, {**limits, **stated}),
        ("", "Conv", {"x": x, "w": w}, same),
    ):
        options = ort.SessionOptions()
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.register_custom_ops_library(str(library.built()))
        graph = helper.make_graph(
            [helper.make_node(op_type, ["x", "w"], ["y"], domain=domain, **attributes)],
            "one",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
            [numpy_helper.from_array(given["w"], "w")],
        )
        imports = [helper.make_opsetid(name, version) for name, version in (("", 21), ("intarsia", 1))]
        content = helper.make_model(graph, opset_imports=imports, ir_version=10).SerializeToString()
        session = ort.InferenceSession(content, options, providers=["CPUExecutionProvider"])
        answers.append(session.run(None, {"x": given["x"]})[0])
    ours, theirs = answers
    assert ours.shape == theirs.shape
    plain = np.moveaxis(ours.reshape(1, *ours.shape[2:], block), -1, 1)
    np.testing.assert_allclose(plain, theirs, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("case", CONVOLUTION_CASES, ids=lambda case: case.name)
def test_winograd_takes_it(case: Case) -> None:
    assert registry.get("winograd").capability(graph_of(case.name), Target("winograd")).refusals == {}
