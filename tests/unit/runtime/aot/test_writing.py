"""A graph as a project: what options mean, who computes what, and what has no C."""

from __future__ import annotations

from typing import Any

import pytest
from onnx import TensorProto, helper

from intarsia.config import CompilationConfig
from intarsia.errors import ConfigError, ModelError
from intarsia.graph import load_model
from intarsia.partitioning import Partitioning
from intarsia.runtime.aot.place import place_of
from intarsia.runtime.aot.writing import Written, options_of, write_project
from intarsia.target import Target
from tests.unit.graph.models import info, model, two_layers

C = Target("c")


def configured(executor: str = "aot", runtime: str = "crt", target: str = "c") -> CompilationConfig:
    return CompilationConfig.of({"targets": [target], "executor": executor, "runtime": runtime})


def written(network: Any, config: CompilationConfig | None = None) -> Written:
    graph = load_model(network)
    parts = Partitioning.of(graph, [(C, tuple(node.id for node in graph.nodes))])
    found = config or configured()
    return Written(graph=graph, partitioning=parts, config=found, place=place_of(found.host, ()), name="Two Layers")


@pytest.mark.parametrize(
    ("executor", "runtime", "name", "value"),
    [
        ("aot", "crt", "entry", "array"),
        ("aot -unpacked-api", "crt", "entry", "arguments"),
        ("aot -unpacked-api -interface-api=c", "crt", "entry", "structs"),
        ("aot -interface-api=packed", "crt", "entry", "array"),
        ("aot", "crt", "link_weights", True),
        ("aot -link-params=false", "crt", "link_weights", False),
        ("aot -workspace-byte-alignment=32", "crt", "workspace_alignment", 32),
        ("aot -constant-byte-alignment=8", "crt", "constant_alignment", 8),
        ("aot -static-workspace", "crt", "static_workspace", True),
        ("aot", "crt -system-lib", "registered", True),
        ("aot", "crt", "registered", False),
    ],
)
def test_options_of_executor_and_runtime_say_how_the_code_is(
    executor: str, runtime: str, name: str, value: object
) -> None:
    assert getattr(options_of(configured(executor, runtime)), name) == value


def test_a_graph_becomes_a_project_of_its_name() -> None:
    project, layout = write_project(written(two_layers()))
    assert project.name == "two_layers"
    assert project.engines == ("c",)
    assert [each.name for each in project.interface.inputs] == ["x"]
    assert layout.workspace == project.memory["workspace_bytes"]
    nodes = {node for call in project.memory["calls"] for node in call["nodes"]}
    assert {"first", "relu"} <= nodes


def test_what_converts_comes_behind_what_computes_in_a_name() -> None:
    scale = {"s": 0.1, "z": 0}
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["a"], "in"),
        helper.make_node("DequantizeLinear", ["a", "s", "z"], ["b"], "wide"),
        helper.make_node("Sigmoid", ["b"], ["c"], "sigmoid"),
        helper.make_node("QuantizeLinear", ["c", "s", "z"], ["d"], "narrow"),
        helper.make_node("DequantizeLinear", ["d", "s", "z"], ["y"], "out"),
    ]
    import numpy as np

    weights = {"s": np.float32(scale["s"]), "z": np.int8(scale["z"])}
    project, _ = write_project(written(model(nodes, [info("x")], [info("y")], weights)))
    calls = [call for call in project.memory["calls"] if "sigmoid" in call["nodes"]]
    assert calls
    assert all(call["nodes"][0] == "sigmoid" for call in calls)


def test_double_precision_has_no_code() -> None:
    nodes = [helper.make_node("Relu", ["x"], ["y"], "relu")]
    network = model(nodes, [info("x", dtype=TensorProto.DOUBLE)], [info("y", dtype=TensorProto.DOUBLE)])
    with pytest.raises(ModelError, match=r"node 'relu': 'x' is float64, .* convert the model to float32"):
        write_project(written(network))


def test_a_target_that_is_too_small_is_an_error() -> None:
    small = configured(target="c -mcpu=cortex-m4 -board=mps2-an386 -ram=sram:8 -flash=100000")
    with pytest.raises(ConfigError, match=r"too large for the target: 'first'.*bytes are missing"):
        write_project(written(two_layers(), small))
