"""Models of OpenVINO: read over the weights' own memory, compiled for this machine; and tensors over arrays."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from intarsia.backends.contract import Arrays, EngineArtifact, guard
from intarsia.backends.contract.shared_memory import writable
from intarsia.backends.openvino.rewrites import fixed
from intarsia.errors import CompileError, LoadError

if TYPE_CHECKING:
    import numpy as np

_NAME = "openvino"
TYPES = {"bfloat16": "bf16", "float8_e4m3fn": "f8e4m3", "float8_e5m2": "f8e5m2"}
"""OpenVINO's names for the types that numpy cannot name; it is given their memory."""


def engine() -> Any:
    """The package ``openvino``, which sends nothing home."""
    # Its telemetry client writes under the home folder and sends; an import that fails is what it is prepared for.
    sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]
    import openvino

    return openvino


@cache
def core() -> Any:
    """The one ``Core`` of this process."""
    return engine().Core()


def inputs_left(inputs: Sequence[str], model: Any, weights: int) -> list[str]:
    """The inputs that the model still has, in its order: what no operator looks at vanishes while it is read."""
    parameters = model.get_parameters()
    count = len(parameters) - weights
    if count == len(inputs):
        return list(inputs)
    names = {each.get_friendly_name() for each in parameters}
    left = [name for name in inputs if name in names]
    if len(left) != count:
        raise CompileError(_NAME, f"of the inputs {', '.join(inputs)} only {count} are left, under other names")
    return left


def read_model(artifact: EngineArtifact, weights: Arrays) -> tuple[Any, tuple[np.ndarray, ...]]:
    """The model over the mapped weights, and the arrays to keep alive."""
    model = core().read_model(artifact.files["model.onnx"])
    return model, fill(model, [weights[name] for name in artifact.weights])


def compiled_model(
    artifact: EngineArtifact, weights: Arrays, properties: Mapping[str, Any]
) -> tuple[Any, tuple[np.ndarray, ...]]:
    """A compiled model over the mapped weights, and the arrays to keep alive."""
    with guard(LoadError, _NAME):
        model, held = read_model(artifact, weights)
        return core().compile_model(fixed(model), "CPU", dict(properties)), held


def specialised(
    artifact: EngineArtifact,
    weights: Arrays,
    properties: Mapping[str, Any],
    contents: Arrays,
    shapes: Mapping[str, tuple[int, ...]],
) -> tuple[Any, tuple[np.ndarray, ...]]:
    """As `compiled_model`, with some inputs as constants and all others of these shapes."""
    openvino = engine()
    model, held = read_model(artifact, weights)
    for name, parameter in zip(artifact.meta["left"], model.get_parameters(), strict=True):
        if name in contents:
            _put(model, parameter, openvino.op.Constant(tensor(contents[name]), shared_memory=False))
        else:
            parameter.set_partial_shape(openvino.PartialShape(list(shapes[name])))
    model.validate_nodes_and_infer_types()
    return core().compile_model(fixed(model), "CPU", dict(properties)), held


def fill(model: Any, weights: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
    """Put constants over the weights' memory in place of the last inputs; returns the arrays to keep alive.

    By position: an input takes another name when the node that reads it vanishes.
    """
    from openvino import op

    held = []
    parameters = model.get_parameters()
    for parameter, array in zip(parameters[len(parameters) - len(weights) :], weights, strict=True):
        shared = writable(array)
        _put(model, parameter, op.Constant(shared, shared_memory=True))
        held += [array, shared]
    return tuple(held)


def _put(model: Any, parameter: Any, constant: Any) -> None:
    """A constant in place of an input."""
    for reader in parameter.output(0).get_target_inputs():
        reader.replace_source_output(constant.output(0))
    model.remove_parameter(parameter)


def tensor(array: Any) -> Any:
    """A tensor over an array's memory."""
    openvino, shared, name = engine(), writable(array), TYPES.get(array.dtype.name)
    if name is None:
        return openvino.Tensor(shared, shared_memory=True)
    return openvino.Tensor(
        shared.view(f"uint{8 * array.itemsize}"), openvino.Shape(array.shape), getattr(openvino.Type, name)
    )
