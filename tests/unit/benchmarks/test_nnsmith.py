"""A seed gives one model, all of NNSmith's operators are known, and only what holds still is compared."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import onnx
import pytest
from onnx import helper

from benchmarks.nnsmith import mix
from benchmarks.nnsmith.__main__ import summary
from benchmarks.nnsmith.generate import _operators, model_of
from benchmarks.nnsmith.mix import Disagreement, Outcome, as_json
from benchmarks.nnsmith.operators import RULES, Writer, write
from benchmarks.nnsmith.steady import reference
from intarsia.backends.contract.failures import Cause
from intarsia.cost.worker.protocol import Failed
from intarsia.graph import Graph, load_model
from intarsia.graph.reference.reference import evaluate
from intarsia.partitioning import Partition
from intarsia.runtime.executors.drawn_feeds import graph_feeds
from intarsia.target import Target
from tests.unit.graph.models import info, model

X = np.array([[0.25, 1.0, 3.0], [-2.0, 0.5, 8.0]], np.float32)


def test_a_seed_gives_the_same_model_whatever_was_made_before() -> None:
    first = model_of(17).SerializeToString(deterministic=True)
    model_of(18)
    assert model_of(17).SerializeToString(deterministic=True) == first
    assert model_of(18).SerializeToString(deterministic=True) != first


def test_every_operator_is_known() -> None:
    assert {operator.__name__ for operator in _operators()} <= set(RULES)
    writer = Writer(rng=np.random.default_rng(0))
    with pytest.raises(NotImplementedError, match="object"):
        write(writer, object(), [], [], "y", None)


@pytest.mark.parametrize("seed", range(6))
def test_a_model_computes_what_it_says(seed: int) -> None:
    source = model_of(seed)
    graph = load_model(source)
    outputs = evaluate(graph, graph_feeds(graph, seed))
    for value in source.graph.output:
        shape = tuple(dim.dim_value for dim in value.type.tensor_type.shape.dim)
        assert outputs[value.name].shape == shape
        assert helper.np_dtype_to_tensor_dtype(outputs[value.name].dtype) == value.type.tensor_type.elem_type


@dataclass(frozen=True)
class Dtype:
    def numpy(self) -> type[np.float32]:
        return np.float32


@dataclass(frozen=True)
class Tensor:
    shape: tuple[int, ...]
    dtype: Dtype = Dtype()


class ConstPad:
    """As NNSmith states it: from the last dimension on, the padding before and behind."""

    padding_list = (1, -1, 0, 2)
    extra_attrs = {"type": "constant"}  # noqa: RUF012 - so does NNSmith


def test_negative_padding_crops() -> None:
    writer = Writer(rng=np.random.default_rng(0))
    write(writer, ConstPad(), ["x"], [Tensor((2, 3))], "y", Tensor((4, 3)))
    weights = {weight.name: onnx.numpy_helper.to_array(weight) for weight in writer.weights}
    graph = load_model(model(writer.nodes, [info("x")], [info("y", (4, 3))], weights))
    expected = np.full((4, 3), 0.5, np.float32)
    expected[:2, 1:] = X[:, :2]
    np.testing.assert_array_equal(evaluate(graph, {"x": X})["y"], expected)


def chain(*op_types: str) -> Graph:
    names = ["x", *(f"v{number}" for number in range(len(op_types)))]
    nodes = [helper.make_node(op, [names[i]], [names[i + 1]], name=op) for i, op in enumerate(op_types)]
    return load_model(model(nodes, [info("x")], [info(names[-1])]))


def test_what_the_last_bit_decides_is_unsteady() -> None:
    values, steady = reference(chain("Sqrt", "Floor"), {"x": np.abs(X)})
    np.testing.assert_array_equal(values["v0"], np.sqrt(np.abs(X)))
    assert steady == {"v0"}  # the root of 1 is 1, or a little less
    assert reference(chain("Relu", "Floor"), {"x": X + 0.3})[1] == {"v0", "v1"}


def test_nothing_is_expected_behind_what_is_not_finite() -> None:
    assert reference(chain("Sqrt", "Relu"), {"x": X})[1] == frozenset()
    assert reference(chain("Relu", "Sqrt"), {"x": X})[1] == {"v0", "v1"}


def test_a_cast_out_of_range_is_not_defined() -> None:
    node = helper.make_node("Cast", ["x"], ["y"], to=onnx.TensorProto.INT64)
    graph = load_model(model([node], [info("x")], [info("y", dtype=onnx.TensorProto.INT64)]))
    assert reference(graph, {"x": X})[1] == {"y"}
    assert reference(graph, {"x": X * np.float32(1e19)})[1] == frozenset()


def test_a_disagreement_is_taken_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine fails wherever it is given Floor."""
    graph = chain("Relu", "Floor", "Neg")
    parts = [
        Partition(target=Target("openvino"), nodes=("Relu", "Floor")),
        Partition(target=Target("mnn"), nodes=("Neg",)),
    ]

    def failure(graph: Graph, partitions: list[Partition], *_: object) -> Failed | None:
        bad = any(part.target == Target("openvino") and "Floor" in part.nodes for part in partitions)
        return Failed(stage="verify", reason="wrong", cause=Cause.ENGINE) if bad else None

    monkeypatch.setattr(mix, "_failure", failure)
    found = mix.run(graph, parts, seed=0).disagreement
    assert found == Disagreement(
        stage="verify",
        reason="wrong",
        partitions=("openvino: Relu Relu, Floor Floor",),
        culprits=("openvino: Floor Floor",),
    )


def test_the_summary_names_who_disagrees() -> None:
    fine = Outcome(engines=("a", "b"), partitions=3, embed=True, compared=4, unsteady=1)
    bad = Outcome(
        engines=("a", "c"),
        partitions=2,
        embed=False,
        compared=2,
        unsteady=0,
        disagreement=Disagreement(stage="crash", reason="gone", partitions=("c: Conv n",), culprits=("c: Conv n",)),
    )
    found = summary({"0": as_json(fine), "1": None, "2": as_json(bad)}, version=lambda name: "1")
    assert (found["models"], found["passed_over"], found["agree"]) == (2, 1, 1)
    assert found["disagreements"]["2"]["culprits"] == ["c: Conv n"]
    assert found["plans_with"] == {"a": 2, "b": 1, "c": 1}
    assert (found["values_compared"], found["values_unsteady"], found["partitions"], found["embedded"]) == (6, 1, 5, 1)
