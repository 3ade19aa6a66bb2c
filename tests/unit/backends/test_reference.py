from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, NodeProto, TensorProto, helper

from intarsia.backends.contract import Slot
from intarsia.backends.reference import ReferenceBackend
from intarsia.config.settings import RunSettings
from intarsia.errors import ExecutionError
from intarsia.graph import Graph, extract, load_model
from intarsia.target import Target
from tests.conformance.cases import Case, Content, Feed, f32, node, one

TARGET, SETTINGS = Target("reference"), RunSettings(threads=1)


def test_a_late_shape_goes_into_a_slot() -> None:
    graph = load_model(one("NonZero", "late", {"x": f32(2, 3)}).model())
    backend = ReferenceBackend()
    assert backend.capability(graph, TARGET).refusals == {}
    model = extract(graph, (node.id for node in graph.nodes))
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
    artifact = backend.compile(extract(graph, [graph.nodes[0].id]), TARGET, SETTINGS)
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


def evaluated(graph: Graph, feeds: Mapping[str, np.ndarray]) -> np.ndarray:
    """The output ``y`` of a graph that is taken whole."""
    backend = ReferenceBackend()
    assert backend.capability(graph, TARGET).refusals == {}
    model = extract(graph, (node.id for node in graph.nodes))
    artifact = backend.compile(model, TARGET, SETTINGS)
    weights = {name: model.weights[name].array() for name in artifact.weights}
    executable = backend.load(artifact, weights, TARGET, SETTINGS)
    y = np.zeros(graph.values["y"].shape or (), np.float32)
    executable.bind(feeds, {"y": y})()
    return y


def test_functions_that_depend_on_types_count_inside_a_graph_too() -> None:
    nodes = (node("Relu", "x", "a"), node("Gelu", "a"))
    graph = load_model(Case(name="inside", nodes=nodes, inputs={"x": f32(4)}).model())
    y = evaluated(graph, {"x": np.array([-1, 0, 1, 2], np.float32)})
    assert np.allclose(y, [0, 0, 0.841345, 1.9545], rtol=1e-5)


@pytest.mark.parametrize("channels", [4, 1024], ids=["weights inside", "weights fed"])
def test_functions_that_depend_on_types_take_weights(channels: int) -> None:
    inputs: dict[str, Content] = {"x": f32(1, channels, 2), "scale": (channels,), "bias": (channels,)}
    graph = load_model(one("GroupNormalization", f"of {channels}", inputs, num_groups=2).model())
    x = np.arange(2 * channels, dtype=np.float32).reshape(1, channels, 2)
    groups = x.reshape(2, -1)
    normal = (groups - groups.mean(1, keepdims=True)) / groups.std(1, keepdims=True)
    scale, bias = (graph.weights[name].array()[:, None] for name in graph.nodes[0].inputs[1:])
    assert np.allclose(evaluated(graph, {"x": x})[0], normal.reshape(channels, 2) * scale + bias, rtol=1e-3, atol=1e-4)


def test_domains_in_preview_are_known() -> None:
    names = ("rate", "step", "x", "g", "h")
    types = dict.fromkeys(names, TensorProto.FLOAT) | {"step": TensorProto.INT64}
    model = one_node(
        helper.make_node("Adagrad", names, ["x_new", "h_new"], domain="ai.onnx.preview.training"),
        types,
        {"ai.onnx.preview.training": 1},
    )
    graph = load_model(model)
    assert ReferenceBackend().refusal(graph.nodes[0], graph, TARGET) is None


def one_node(node: NodeProto, inputs: Mapping[str, int], opsets: Mapping[str, int]) -> ModelProto:
    """A model of a node whose inputs and outputs have one element each."""
    return helper.make_model(
        helper.make_graph(
            [node],
            "one",
            [helper.make_tensor_value_info(name, elem_type, [1]) for name, elem_type in inputs.items()],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in node.output],
        ),
        opset_imports=[helper.make_opsetid(domain, version) for domain, version in ({"": 21} | dict(opsets)).items()],
    )


def scan(opset: int, **attributes: Any) -> Graph:
    """A graph of one Scan over a state and two rows."""
    inner = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [3]) for name in ("s", "row")]
    done = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [3]) for name in ("sum", "copy")]
    add = helper.make_node("Add", ["s", "row"], ["sum"])
    copy = helper.make_node("Identity", ["sum"], ["copy"])
    body = helper.make_graph([add, copy], "body", inner, done)
    lead = [1] if opset < 9 else []
    shapes = {"start": [*lead, 3], "rows": [*lead, 2, 3], "y": [*lead, 3], "all": [*lead, 2, 3]}
    infos = {name: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()}
    reads = ["", "start", "rows"] if opset < 9 else ["start", "rows"]
    node = helper.make_node("Scan", reads, ["y", "all"], body=body, num_scan_inputs=1, **attributes)
    graph = helper.make_graph([node], "scan", [infos["start"], infos["rows"]], [infos["y"], infos["all"]])
    return load_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)]))


@pytest.mark.parametrize(
    "graph",
    [scan(8), scan(21, scan_input_directions=[1]), scan(21, scan_output_axes=[1])],
    ids=["with a batch", "backwards", "along another axis"],
)
def test_scans_of_other_forms_are_refused(graph: Graph) -> None:
    assert "runs forwards along first axes" in (ReferenceBackend().refusal(graph.nodes[0], graph, TARGET) or "")


def test_a_plain_scan_is_taken() -> None:
    graph = scan(21)
    assert ReferenceBackend().refusal(graph.nodes[0], graph, TARGET) is None


def test_what_draws_random_numbers_is_refused() -> None:
    graph = load_model(one("RandomNormalLike", "draw", {"x": f32(2)}).model())
    assert "draws random numbers" in (ReferenceBackend().refusal(graph.nodes[0], graph, TARGET) or "")


def test_images_are_decoded_where_pillow_is(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = load_model(one("ImageDecoder", "picture", {"x": Feed(shape=(8,), dtype="uint8", low=0, high=9)}).model())
    for found, refused in ((object(), False), (None, True)):
        monkeypatch.setattr("intarsia.backends.reference.util.find_spec", lambda name, found=found: found)
        assert (ReferenceBackend().refusal(graph.nodes[0], graph, TARGET) is not None) is refused
