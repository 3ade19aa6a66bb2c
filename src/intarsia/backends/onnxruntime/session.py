"""Sessions of ONNX Runtime: the model and the options they are opened with, and how they are bound and run."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from intarsia.backends.contract import (
    Arrays,
    BoundCall,
    EngineArtifact,
    Executable,
    Places,
    Signature,
    Slot,
    array_at,
    border_rows,
    by_copy,
    following,
    guard,
    guarded,
    is_late,
    stated,
    thread_count,
)
from intarsia.backends.onnxruntime.subbyte_types import BITS, Packed
from intarsia.config.settings import Spin
from intarsia.errors import CompileError, LoadError

if TYPE_CHECKING:
    import numpy as np

    from intarsia.config.settings import RunSettings
    from intarsia.graph import SubModel
    from intarsia.target import Target

_NAME = "onnxruntime"
MAX_OPSET = 26
MAX_IR = 13
PROVIDERS = ["CPUExecutionProvider"]
"""Named at every session: left out, ORT takes what the wheel lists first, and an Azure provider is in that list."""
SMALL_BYTES = 1024
ELEMENT_TYPES = {
    "bfloat16": 16,
    "float8_e4m3fn": 17,
    "float8_e4m3fnuz": 18,
    "float8_e5m2": 19,
    "float8_e5m2fnuz": 20,
    "uint4": 21,
    "int4": 22,
    "uint2": 25,
    "int2": 26,
}
"""ONNX's numbers for the types that numpy cannot name; ORT is given their memory by pointer."""
_STORED_PACKED = frozenset({*BITS, "float4_e2m1fn"})
_LEVELS = {
    "all": "ORT_ENABLE_ALL",
    "extended": "ORT_ENABLE_EXTENDED",
    "basic": "ORT_ENABLE_BASIC",
    "disable": "ORT_DISABLE_ALL",
}
_MODES = {"sequential": "ORT_SEQUENTIAL", "parallel": "ORT_PARALLEL"}
_LEVEL_NUMBERS = {"disable": 0, "basic": 1, "extended": 2, "all": 99}
"""ONNX Runtime's own numbers of the levels, in C."""
_SPIN = {
    Spin.FREE: {},
    Spin.CALL: {"session.force_spinning_stop": "1"},
    Spin.NEVER: {"session.intra_op.allow_spinning": "0"},
}
FAST_MATH = "fast-math"
_DENORMALS = {"session.set_denormal_as_zero": "1"}
_NO_SATURATION = {"session.x64quantprecision": "1"}
"""Products of uint8 and int8 are added in 32 bits on x86 processors without VNNI too, where 16 bits would saturate."""


def serialised(model: SubModel) -> EngineArtifact:
    """A model as ONNX, without its large weights: ONNX Runtime is given those as arrays when it loads."""
    from intarsia.backends.onnxruntime.unsigned_weights import saturates, unsigned_weights
    from intarsia.backends.onnxruntime.zero_points import add_zero_points
    from intarsia.graph.export import serialise
    from intarsia.target.detect import cpu_here

    # Packed types are stored two in a byte, so the array in memory is not what ORT wants: those stay inside.
    inside = frozenset(weight.name for weight in model.weights.values() if weight.dtype in _STORED_PACKED)
    outside = {w.name: w for w in model.weights.values() if w.name not in inside and w.nbytes > SMALL_BYTES}
    with guard(CompileError, _NAME):
        message = add_zero_points(
            model.to_message(
                weights="external",
                inside=inside,
                small_bytes=SMALL_BYTES,
                max_opset=MAX_OPSET,
                max_ir=MAX_IR,
            )
        )
        if saturates(cpu_here().features):
            held = {name: weight.array() for name, weight in outside.items() if weight.dtype == "int8"}
            unsigned_weights(message, held)
        kept = {tensor.name for tensor in message.graph.initializer}
        content = serialise(message)
    return EngineArtifact(
        files={"model.onnx": content},
        weights=tuple(name for name in outside if name in kept),
        meta=border_rows(model),
    )


class Session(Executable):
    """A session, and the arrays it reads its weights from."""

    let_go = ("_session", "_held")

    def __init__(self, session: Any, meta: Mapping[str, Any], held: tuple[np.ndarray, ...]) -> None:
        super().__init__(meta)
        self._session = session
        self._held = held

    def bind(self, inputs: Places, outputs: Places) -> BoundCall:
        """Pointers are bound once; strings and late shapes go through a plain ``run`` and a copy."""
        with guard(LoadError, _NAME):
            if any(map(_has_no_pointer, (*inputs.values(), *outputs.values()))):
                return guarded(by_copy(self._session.run, inputs, outputs), _NAME, self._held)
            return guarded(self._by_pointer(inputs, outputs), _NAME, self._held)

    def _by_pointer(self, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> BoundCall:
        binding = self._session.io_binding()
        sides = ((self.inputs, inputs, binding.bind_input), (self.outputs, outputs, binding.bind_output))
        places = [
            (partial(_point, bind, value), given[value.name])
            for values, given, bind in sides
            for value in values
            if value.dtype not in BITS
        ]
        run = following(places, partial(self._session.run_with_iobinding, binding))
        narrow = [
            [(v, Packed(given[v.name], v.dtype)) for v in values if v.dtype in BITS] for values, given, _ in sides
        ]
        for (_, _, bind), packed in zip(sides, narrow, strict=True):
            for value, each in packed:
                bind(value.name, "cpu", 0, ELEMENT_TYPES[value.dtype], value.shape, each.memory.ctypes.data)
        return _around(run, *([each for _, each in packed] for packed in narrow)) if any(narrow) else run


def _around(run: BoundCall, inputs: Sequence[Packed], outputs: Sequence[Packed]) -> BoundCall:
    def call() -> None:
        for each in inputs:
            each.pack()
        run()
        for each in outputs:
            each.unpack()

    return call


def _point(bind: Callable[..., None], value: Signature, array: np.ndarray) -> None:
    bind(value.name, "cpu", 0, _element_type(value, array), array.shape, array.ctypes.data)


def _has_no_pointer(value: np.ndarray | Slot) -> bool:
    """Whether there is nothing to bind before the run: a shape to come, or strings."""
    return is_late(value) or array_at(value).dtype.hasobject


def _engine() -> Any:
    # Read once, when the library starts. `disable_telemetry_events` alone comes after the first event was sent.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    onnxruntime.disable_telemetry_events()
    onnxruntime.set_default_logger_severity(4)
    return onnxruntime


def options_of(target: Target, settings: RunSettings) -> dict[str, Any]:
    """What to set on ``SessionOptions`` for a target, JSON-able."""
    level, mode = target["optimization-level"], target["execution-mode"]
    values = option_values(level, thread_count(target, settings), settings.spin, mode)
    values["session_config"] |= fast_math(target)
    return {**values, "custom_ops_libraries": list(target["custom-ops"] or ())}


def fast_math(target: Target) -> dict[str, str]:
    """The entry by which tiny numbers count as zero, where the processor's description takes such liberties."""
    return _DENORMALS if stated(target.base, (FAST_MATH,)).get(FAST_MATH) else {}


def option_values(level: str, threads: int, spin: Spin, mode: str = "sequential") -> dict[str, Any]:
    """What to set on ``SessionOptions``, JSON-able; ``level`` and ``mode`` as the target's options spell them."""
    return {
        "graph_optimization_level": _LEVELS[level],
        "intra_op_num_threads": threads,
        "inter_op_num_threads": 1,
        "execution_mode": _MODES[mode],
        "session_config": {**_NO_SATURATION, **_SPIN[spin]},
    }


def native_session(values: Mapping[str, Any], level: str, *, is_saved: bool) -> dict[str, Any]:
    """What `option_values` says in C's numbers; ``is_saved``: the model was optimised before, with our operators."""
    return {
        "loader": _NAME,
        "level": _LEVEL_NUMBERS[level],
        "mode": [*_MODES.values()].index(values["execution_mode"]),
        "threads": values["intra_op_num_threads"],
        "libraries": list(values.get("custom_ops_libraries", ())),
        "saved": is_saved,
    }


def session_options(values: Mapping[str, Any]) -> Any:
    """A ``SessionOptions`` of these values."""
    ort = _engine()
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = getattr(ort.GraphOptimizationLevel, values["graph_optimization_level"])
    options.intra_op_num_threads = values["intra_op_num_threads"]
    options.inter_op_num_threads = values["inter_op_num_threads"]
    options.execution_mode = getattr(ort.ExecutionMode, values["execution_mode"])
    for key, value in values["session_config"].items():
        options.add_session_config_entry(key, value)
    for library in values.get("custom_ops_libraries", ()):
        options.register_custom_ops_library(_present(library))
    return options


def _present(library: str) -> str:
    """Raises an error that says what to do, where ONNX Runtime's says which system call failed."""
    if not os.path.isfile(library):
        raise LoadError(_NAME, f"the library of custom operators {library} is not there; put it back, or compile anew")
    return library


def open_session(content: bytes, held: Arrays, options: Any) -> Any:
    """An ``InferenceSession`` of a model whose large weights are the arrays in ``held``, which must outlive it."""
    ort = _engine()
    options.add_external_initializers(list(held), [_ort_value(ort, array) for array in held.values()])
    return ort.InferenceSession(content, options, providers=PROVIDERS)


def _ort_value(ort: Any, array: np.ndarray) -> Any:
    element_type = ELEMENT_TYPES.get(array.dtype.name)
    if element_type is None:
        return ort.OrtValue.ortvalue_from_numpy(array)
    return ort.OrtValue.ortvalue_from_numpy_with_onnx_type(array.view(f"uint{8 * array.itemsize}"), element_type)


def _element_type(value: Signature, array: np.ndarray) -> Any:
    return ELEMENT_TYPES.get(value.dtype, array.dtype.type)
