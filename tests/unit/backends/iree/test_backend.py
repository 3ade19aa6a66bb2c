"""What IREE refuses and how its compiler is called, without IREE."""

from __future__ import annotations

import numpy as np
import pytest

from intarsia.backends import registry
from intarsia.backends.iree.backend import IreeBackend, flags, gist
from intarsia.config import RunSettings
from intarsia.errors import CompileError
from intarsia.graph import extract, load_model
from intarsia.target import Target
from tests.conformance.cases import Case, Feed, f32, node, one


def reasons(case: Case) -> list[str]:
    graph = load_model(case.model())
    return list(registry.get("iree").capability(graph, Target("iree")).refusals.values())


def test_it_is_found_by_its_file() -> None:
    assert isinstance(registry.get("iree"), IreeBackend)


def test_it_compiles_for_this_processor_with_the_effort_of_its_target() -> None:
    found = flags(Target("iree -opt-level=O3"), has_doubles=False)
    assert {"--iree-llvmcpu-target-cpu=host", "--iree-opt-level=O3"} <= set(found)


def test_doubles_stay_doubles() -> None:
    assert "--iree-input-demote-f64-to-f32=false" in flags(Target("iree"), has_doubles=True)


CRD = {"mode": "CRD"}
TAKEN = (
    one("DepthToSpace", "crd-2", {"x": f32(1, 8, 2, 2)}, blocksize=2, **CRD),
    one("MatMul", "vectors", {"x": f32(3), "w": f32(3)}),
    one("Mod", "wrapping", {"x": Feed(shape=(4,), dtype="float64"), "d": np.full(4, 3.0)}, fmod=1),
    one("MaxPool", "rows", {"x": f32(1, 1, 4, 4)}, kernel_shape=[2, 2]),
    one("LpPool", "numbers", {"x": f32(1, 1, 4, 4)}, kernel_shape=[2, 2], pads=[0, 0, 1, 1]),
)
REFUSED = {
    "iree's DepthToSpace in the order CRD is wrong for blocks of more than 2": one(
        "DepthToSpace", "crd-3", {"x": f32(1, 9, 2, 2)}, blocksize=3, **CRD
    ),
    "iree does not multiply a vector by a stack of matrices": one("MatMul", "m", {"x": f32(3), "w": f32(2, 3, 2)}),
    "iree's Mod of float64 calls a function that nothing defines (fmod)": one(
        "Mod", "m", {"x": Feed(shape=(4,), dtype="float64"), "d": np.full(4, 3.0)}
    ),
    "iree's LpPool pads by numbers only": one(
        "LpPool", "l", {"x": f32(1, 1, 4, 4)}, kernel_shape=[2, 2], auto_pad="SAME_UPPER"
    ),
    "iree does not compile a ConvTranspose in groups": one(
        "ConvTranspose", "c", {"x": f32(1, 4, 3, 3), "w": (4, 2, 2, 2)}, group=2
    ),
    "iree's Resize to the nearest pixel aligns no corners": one(
        "Resize",
        "r",
        {"x": f32(1, 1, 2, 2), "roi": np.zeros(0, np.float32), "scales": np.array([1, 1, 2, 2], np.float32)},
        coordinate_transformation_mode="align_corners",
    ),
    "iree does not compile Softsign, or computes it wrongly": one("Softsign", "s", {"x": f32(3)}),
}


@pytest.mark.parametrize("case", TAKEN, ids=lambda case: case.name)
def test_it_takes(case: Case) -> None:
    assert reasons(case) == []


@pytest.mark.parametrize("reason", REFUSED)
def test_it_refuses(reason: str) -> None:
    assert reasons(REFUSED[reason]) == [reason]


def test_weights_that_its_importer_cannot_tell_apart_are_an_error() -> None:
    case = Case(
        name="names",
        nodes=(node("MatMul", "x a:b", "h"), node("MatMul", "h a_b")),
        inputs={"x": f32(4, 24)},
        weights={"a:b": (24, 24), "a_b": (24, 24)},
    )
    graph = load_model(case.model())
    model = extract(graph, (each.id for each in graph.nodes))
    with pytest.raises(CompileError, match="does not tell apart"):
        registry.get("iree").compile(model, Target("iree"), RunSettings(threads=1))


def test_of_a_log_the_errors_are_told_once() -> None:
    log = "model.mlir:3:1: error: no such thing\nnote: look here\nmodel.mlir:9:1: error: no such thing\n"
    assert gist(log) == "no such thing"
    assert gist("Stack dump:\n0. Program arguments") == "Stack dump:\n0. Program arguments"
