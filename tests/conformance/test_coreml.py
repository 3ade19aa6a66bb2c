"""Packages for Core ML, which do not run here, are read back by coremltools, and its folding of constants is judged."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from intarsia.backends import registry
from intarsia.backends.coreml import kernels
from intarsia.backends.lowering.interpreter import Interpreter
from intarsia.backends.lowering.lower import lower
from intarsia.backends.lowering.program import Program
from intarsia.errors import LoadError
from intarsia.graph import SubModel, extract
from intarsia.runtime.environment import applied
from intarsia.target import Target
from tests.conformance.boundary_cases import SMALL_NET
from tests.conformance.cases import Case
from tests.conformance.conftest import expected, graph_of
from tests.conformance.judge import differences
from tests.conformance.operator_cases import OPERATOR_CASES
from tests.conformance.worker import SETTINGS

# It leaves temporary folders to be removed with the object that made them.
pytestmark = pytest.mark.filterwarnings("ignore:Implicitly cleaning up:ResourceWarning")
BACKEND = registry.get("coreml")
TARGET = Target("coreml -compute-precision=float32")
NOT_FOLDED = frozenset({"conv", "pool_max", "pool_sum"})
"""Operations that coremltools does not compute itself, even of constants."""


@pytest.fixture(scope="module")
def coremltools() -> Any:
    found = BACKEND.probe()
    if found.version is None:
        pytest.skip(f"coreml: {found.reason}")
    with applied(BACKEND.environment(SETTINGS)):
        logging.getLogger("coremltools").setLevel(logging.CRITICAL)  # it says at length what it lacks off a Mac
        import coremltools

        return coremltools


def model_of(case: Case) -> SubModel | None:
    """The case's nodes, if all of them are taken."""
    graph = graph_of(case.name)
    refused = BACKEND.capability(graph, TARGET).refusals
    return None if refused else extract(graph, (node.id for node in graph.nodes))


def read_back(coremltools: Any, model: SubModel, folder: Path) -> Any:
    """The package, written and read."""
    BACKEND.export(model, TARGET, SETTINGS, folder)
    return coremltools.models.MLModel(str(folder / "model.mlpackage"), skip_model_load=True)


def operations(read: Any) -> list[Any]:
    """What the package computes, constants left out."""
    (block,) = read.get_spec().mlProgram.functions["main"].block_specializations.values()
    return [each for each in block.operations if each.type != "const"]


@pytest.mark.engine
@pytest.mark.parametrize("case", [case for case in OPERATOR_CASES if model_of(case)], ids=lambda case: case.name)
def test_what_is_taken_is_written_with_the_borders_of_the_graph(coremltools: Any, case: Case, tmp_path: Path) -> None:
    model = model_of(case)
    assert model is not None
    spec = read_back(coremltools, model, tmp_path).get_spec()
    for values, features in ((model.inputs, spec.description.input), (model.outputs, spec.description.output)):
        assert [each.shortDescription for each in features] == [value.name for value in values]
        assert [tuple(each.type.multiArrayType.shape) for each in features] == [value.shape for value in values]


@pytest.mark.engine
@pytest.mark.parametrize("case", [case for case in OPERATOR_CASES if model_of(case)], ids=lambda case: case.name)
def test_its_own_folding_gives_what_the_reference_computes(coremltools: Any, case: Case) -> None:
    model = model_of(case)
    assert model is not None
    program = lower(model, BACKEND.natives)  # type: ignore[attr-defined]
    if any(each.name in NOT_FOLDED for each in program.instructions):
        pytest.skip("coremltools folds no such layers")
    wanted = expected(case.name, "a")
    for name, result in zip(program.outputs, folded(coremltools, program, model, case), strict=True):
        array = np.asarray(result if isinstance(result, np.ndarray) else result.val)
        assert differences(array.astype(wanted[name].dtype), wanted[name]) == []


def folded(coremltools: Any, program: Program, model: SubModel, case: Case) -> list[Any]:
    """The outputs, as coremltools computes them from inputs that are constants."""
    from coremltools.converters.mil import Builder as mb  # noqa: N813
    from coremltools.converters.mil.mil import Function, types

    feeds = case.feeds("a")
    arrays = program.known | {place: model.weights[name].array() for name, place in program.weights.items()}
    arrays |= {place: feeds[name] for name, place in program.inputs.items()}
    known = {place: kernels.narrowed(array) for place, array in arrays.items()}
    placeholders = {"unused": mb.placeholder((1,), types.fp32)}
    with Function(placeholders, opset_version=coremltools.target.iOS16):
        return Interpreter(program, kernels.kernel_of, [], known)()


@pytest.mark.engine
def test_a_network_has_its_layers_and_its_weights(coremltools: Any, tmp_path: Path) -> None:
    model = model_of(SMALL_NET)
    assert model is not None
    read = read_back(coremltools, model, tmp_path)
    layers = [each for each in operations(read) if each.type == "conv"]
    kernels = [node for node in model.nodes if node.op_type == "Conv"]
    assert len(layers) == len(kernels) > 0
    stored = coremltools.optimize.coreml.get_weights_metadata(read, weight_threshold=1)
    for layer, node in zip(layers, kernels, strict=True):
        name = layer.inputs["weight"].arguments[0].name
        np.testing.assert_array_equal(stored[name].val, model.weights[node.inputs[1]].array())


@pytest.mark.engine
def test_its_precision_is_the_targets(coremltools: Any) -> None:
    model = model_of(SMALL_NET)
    assert model is not None
    sizes = {
        precision: sum(
            map(len, BACKEND.compile(model, Target(f"coreml -compute-precision={precision}"), SETTINGS).files.values())
        )
        for precision in ("float16", "float32")
    }
    assert sizes["float16"] < sizes["float32"]


def test_it_says_that_it_does_not_run() -> None:
    found = BACKEND.probe()
    assert not found.usable
    assert found.reason
    with pytest.raises(LoadError, match="machines of Apple's"):
        BACKEND.load(None, {}, TARGET, SETTINGS)  # type: ignore[arg-type]
