from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper

from intarsia.backends.base import Slot
from intarsia.backends.reference import ReferenceBackend
from intarsia.config.settings import RunSettings
from intarsia.errors import ExecutionError
from intarsia.graph import load_model
from intarsia.target import Target
from tests.conformance.cases import f32, one

TARGET, SETTINGS = Target("reference"), RunSettings(threads=1)


def test_a_late_shape_goes_into_a_slot() -> None:
    graph = load_model(one("NonZero", "late", {"x": f32(2, 3)}).model())
    backend = ReferenceBackend()
    assert backend.capability(graph, TARGET).refusals == {}
    model = graph.extract(node.id for node in graph.nodes)
    executable = backend.load(backend.compile(model, TARGET, SETTINGS), {}, TARGET, SETTINGS)
    x, y = np.zeros((2, 3), np.float32), Slot()
    call = executable.bind({"x": x}, {"y": y})
    for places in ([(0, 1)], [(0, 0), (1, 2)]):
        x[...] = 0
        x[tuple(np.transpose(places))] = 1
        call()
        assert y.array is not None
        assert y.array.T.tolist() == [list(place) for place in places]
    executable.close()
    executable.close()


def test_a_slot_that_is_still_empty_is_an_error_of_ours() -> None:
    graph = load_model(one("Relu", "plain", {"x": f32(2)}).model())
    backend = ReferenceBackend()
    artifact = backend.compile(graph.extract([graph.nodes[0].id]), TARGET, SETTINGS)
    executable = backend.load(artifact, {}, TARGET, SETTINGS)
    with pytest.raises(ExecutionError, match="reference failed at run"):
        executable.bind({"x": Slot()}, {"y": np.zeros(2, np.float32)})()


def test_an_operator_nobody_defined_is_refused() -> None:
    model = helper.make_model(
        helper.make_graph(
            [helper.make_node("Thing", ["x"], ["y"], domain="my.domain")],
            "custom",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])],
        ),
        opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid("my.domain", 1)],
    )
    graph = load_model(model)
    assert "my.domain.Thing" in (ReferenceBackend().refusal(graph.nodes[0], graph, TARGET) or "")


def test_functions_count_as_implemented() -> None:
    graph = load_model(one("HardSwish", "body", {"x": f32(2)}).model())
    assert ReferenceBackend().refusal(graph.nodes[0], graph, TARGET) is None
