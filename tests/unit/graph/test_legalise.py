"""Operators in other words: the evaluator gives the same values for both."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx.reference import ReferenceEvaluator

from intarsia.graph import extract, load_model
from intarsia.graph.reference.operators import REPLACEMENTS
from tests.conformance.cases import Case, Feed, f32, i64, one, scalar


def same(case: Case, folder: Path, operators: set[str]) -> None:
    """Both spellings agree, and the second is made of other operators."""
    graph = load_model(case.model())
    model = extract(graph, (node.id for node in graph.nodes))
    results: list[Any] = []
    for name, legalise in (("plain", ()), ("respelled", [node.id for node in graph.nodes])):
        model.save(folder / name, legalised=legalise)
        evaluator = ReferenceEvaluator(str(folder / name), new_ops=list(REPLACEMENTS))
        (result,) = evaluator.run(None, case.feeds("turn"))
        results.append(result)
    assert {node.op_type for node in evaluator.proto_.graph.node} - {"Constant"} == operators
    assert results[0].dtype == results[1].dtype
    assert np.allclose(results[0], results[1], rtol=1e-6, atol=1e-6)


def whole(*shape: int, low: int = -3, high: int = 4, dtype: str = "float32") -> Feed:
    """Whole numbers, so that some are equal."""
    return Feed(shape=shape, dtype=dtype, low=low, high=high)


class _Whole(Feed):
    """A float32 input of whole numbers."""

    __slots__ = ()

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        return np.asarray(np.round(super().draw(rng)), np.float32)


CASES: dict[str, tuple[Case, set[str]]] = {
    "CastLike": (one("CastLike", "like", {"x": whole(2, 3), "t": f32(1)}), {"Cast"}),
    "Less": (one("Less", "stretched", {"x": _Whole(shape=(4, 5)), "y2": _Whole(shape=(5,))}), {"Greater"}),
    "Equal": (
        one("Equal", "stretched", {"x": _Whole(shape=(4, 5)), "y2": _Whole(shape=(5,))}),
        {"GreaterOrEqual", "And"},
    ),
    "Where": (
        one("Where", "stretched", {"c": Feed(shape=(3, 1), dtype="bool"), "x": f32(2, 3, 4), "z": scalar(7.0)}),
        {"Expand", "Where"},
    ),
    "Clip between": (
        one("Clip", "between", {"x": f32(9), "low": f32(low=0.5), "high": f32(high=-0.5)}),
        {"Max", "Min"},
    ),
    "Clip above": (one("Clip", "above", {"x": f32(9), "low": f32()}), {"Max"}),
    "Clip nowhere": (one("Clip", "nowhere", {"x": f32(9)}), {"Identity"}),
    "GatherElements": (
        one("GatherElements", "from both ends", {"x": f32(3, 4), "i": whole(3, 2, low=-4, dtype="int64")}, axis=-1),
        {"Less", "Cast", "Mul", "Add", "GatherElements"},
    ),
    "ScatterElements": (
        one("ScatterElements", "from the end", {"x": f32(4), "i": i64(-1, 0), "u": f32(2)}),
        {"Less", "Cast", "Mul", "Add", "ScatterElements"},
    ),
    "ArgMax": (
        one("ArgMax", "last", {"x": _Whole(shape=(4, 9))}, axis=-1, keepdims=0, select_last_index=1),
        {"Gather", "ArgMax", "Sub"},
    ),
    "ArgMin": (one("ArgMin", "last", {"x": _Whole(shape=(9, 4))}, select_last_index=1), {"Gather", "ArgMin", "Sub"}),
    "Conv over one": (
        one("Conv", "over one", {"x": f32(1, 4, 9), "w": (6, 2, 3), "b": (6,)}, group=2, strides=[2], pads=[1, 0]),
        {"Unsqueeze", "Conv", "Squeeze"},
    ),
    "Conv by a computed weight": (
        one("Conv", "by a computed weight", {"x": f32(1, 2, 9), "w": f32(3, 2, 3)}, auto_pad="VALID"),
        {"Unsqueeze", "Conv", "Squeeze"},
    ),
    "Conv with pads before": (
        one("Conv", "pads before", {"x": f32(1, 2, 9, 8), "w": (3, 2, 4, 3)}, auto_pad="SAME_LOWER", strides=[2, 1]),
        {"Conv"},
    ),
    "Conv with pads behind": (
        one("Conv", "pads behind", {"x": f32(1, 2, 9, 8), "w": (3, 2, 4, 3)}, auto_pad="SAME_UPPER", strides=[2, 1]),
        {"Conv"},
    ),
    "ConvTranspose of a stated shape": (
        one("ConvTranspose", "stated", {"x": f32(1, 2, 4, 5), "w": (2, 3, 3, 2)}, output_shape=[10, 8], strides=[3, 2]),
        {"ConvTranspose"},
    ),
    "ConvTranspose with pads before": (
        one(
            "ConvTranspose", "before", {"x": f32(1, 2, 4, 5), "w": (2, 3, 4, 4)}, auto_pad="SAME_LOWER", strides=[2, 3]
        ),
        {"ConvTranspose"},
    ),
    "ConvTranspose with pads behind": (
        one(
            "ConvTranspose", "behind", {"x": f32(1, 2, 4, 5), "w": (2, 3, 4, 5)}, auto_pad="SAME_UPPER", strides=[2, 2]
        ),
        {"ConvTranspose"},
    ),
    "GatherND": (
        one("GatherND", "from both ends", {"x": f32(3, 4, 5), "i": whole(6, 2, low=-3, high=3, dtype="int64")}),
        {"Less", "Cast", "Mul", "Add", "GatherND"},
    ),
    "Gelu": (one("Gelu", "exact", {"x": f32(9)}), {"Mul", "Erf", "Add"}),
    "Gemm": (
        one("Gemm", "transposed", {"x": f32(3, 2), "w": (4, 3)}, transA=1, transB=1, alpha=0.5),
        {"Transpose", "Gemm"},
    ),
    "MatMul of vectors": (
        one("MatMul", "of vectors", {"x": f32(3), "z": f32(3)}),
        {"Unsqueeze", "MatMul", "Squeeze"},
    ),
    "MatMul by a vector": (
        one("MatMul", "by a vector", {"x": f32(2, 4, 3), "z": f32(3)}),
        {"Unsqueeze", "MatMul", "Squeeze"},
    ),
    "MatMul of a vector": (
        one("MatMul", "of a vector", {"x": f32(3), "z": f32(2, 3, 4)}),
        {"Unsqueeze", "MatMul", "Squeeze"},
    ),
    "Mean": (one("Mean", "stretched", {"x": f32(2, 3), "z": f32(2, 3), "v": f32(3)}), {"Add", "Div"}),
    "LayerNormalization": (
        one("LayerNormalization", "of all", {"x": f32(3, 4), "scale": (3, 4), "bias": (3, 4)}, axis=0),
        {"Unsqueeze", "LayerNormalization", "Squeeze"},
    ),
    "LpNormalization 2": (
        one("LpNormalization", "by squares", {"x": f32(3, 4)}, axis=0, p=2),
        {"Mul", "ReduceSum", "Sqrt", "LessOrEqual", "Cast", "Add", "Div"},
    ),
    "LpNormalization 1": (
        one("LpNormalization", "by sizes", {"x": f32(3, 4)}, p=1),
        {"Abs", "ReduceSum", "LessOrEqual", "Cast", "Add", "Div"},
    ),
}


@pytest.mark.parametrize(("case", "operators"), CASES.values(), ids=CASES)
def test_the_values_are_the_same(case: Case, operators: set[str], tmp_path: Path) -> None:
    same(case, tmp_path, operators)


def test_what_is_all_zero_stays_zero(tmp_path: Path) -> None:
    zeros: dict[str, Any] = {"x": f32(3, 4, low=0.0, high=0.0)}
    same(
        one("LpNormalization", "of nothing", zeros),
        tmp_path,
        {"Mul", "ReduceSum", "Sqrt", "LessOrEqual", "Cast", "Add", "Div"},
    )
