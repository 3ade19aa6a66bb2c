"""ONNX Runtime on its CPU provider. Which operators it has kernels for is data, in `onnxruntime_rules`."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from intarsia.backends.contract import (
    Availability,
    Backend,
    BoundCall,
    Embedding,
    EngineArtifact,
    Executable,
    Gap,
    GapReason,
    Port,
    ProfileRequest,
    Signature,
    Slot,
    Traits,
    following,
    guard,
    guarded,
    signature_rows,
    signatures,
    thread_count,
)
from intarsia.backends.contract.node_facts import words
from intarsia.backends.native.carried import FILE as KERNELS
from intarsia.backends.onnxruntime import rules
from intarsia.backends.onnxruntime.packed import BITS, Packed
from intarsia.backends.package_probe import installed
from intarsia.config.settings import Spin
from intarsia.errors import CompileError, ExecutionError, LoadError

if TYPE_CHECKING:
    import numpy as np
    from pydantic import BaseModel

    from intarsia.config.settings import RunSettings
    from intarsia.graph import Graph, Node, SubModel
    from intarsia.target import Target

_NAME = "onnxruntime"
PROVIDERS = ["CPUExecutionProvider"]
"""Named at every session: left out, ORT takes what the wheel lists first, and an Azure provider is in that list."""
SMALL_BYTES = 1024
_ELEMENT_TYPES = {
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
_NUMPY_TYPES = "float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool string"
_STORED_PACKED = frozenset({*BITS, "float4_e2m1fn"})
_LEVELS = {
    "all": "ORT_ENABLE_ALL",
    "extended": "ORT_ENABLE_EXTENDED",
    "basic": "ORT_ENABLE_BASIC",
    "disable": "ORT_DISABLE_ALL",
}
_MODES = {"sequential": "ORT_SEQUENTIAL", "parallel": "ORT_PARALLEL"}
_SPIN = {
    Spin.FREE: {},
    Spin.CALL: {"session.force_spinning_stop": "1"},
    Spin.NEVER: {"session.intra_op.allow_spinning": "0"},
}


class OnnxRuntimeBackend(Backend):
    """Sessions with named providers; weights are handed over as arrays, inputs and outputs bound by pointer."""

    name = _NAME
    extra = _NAME
    licence = "MIT"
    machine_code = (KERNELS,)  # of a session that holds other engines
    traits = Traits(
        writes_in_place=True,
        compiles_once=True,
        any_shape=True,
        follows_ports=True,
        spins=True,
        dtypes=frozenset({*words(_NUMPY_TYPES), *_ELEMENT_TYPES}),
        max_opset=26,
        max_ir=13,
    )
    gaps: ClassVar[tuple[Gap, ...]] = (
        Gap(
            what="GRU, LSTM, RNN[layout=1]",
            why=GapReason.UPSTREAM,
            evidence="Batchwise recurrent operations (layout == 1) are not supported",
        ),
        Gap(
            what="Resize[align_corners, scale * size not whole]",
            why=GapReason.UPSTREAM,
            evidence="onnx node test resize_downsample_scales_linear_align_corners: 4 instead of 3.142857",
        ),
        Gap(
            what="Attention[qk_matmul_output of a causal one with a mask, window sizes]",
            why=GapReason.UPSTREAM,
            evidence="onnx node tests attention_4d_with_past_and_present_qk_matmul_bias_*_causal: wrong fourth output",
        ),
        Gap(
            what="MaxUnpool[output_shape]",
            why=GapReason.UPSTREAM,
            evidence="onnx node test maxunpool_export_with_output_shape: values at other places",
        ),
        Gap(
            what="ConvInteger[zero point per channel]",
            why=GapReason.UPSTREAM,
            evidence="Non per-tensor quantization is not supported now",
        ),
        Gap(
            what="DequantizeLinear[of a MatMul's weights, several scales along the axis that is summed over]",
            why=GapReason.UPSTREAM,
            evidence="MatMulIntegerToFloat: Attempting to broadcast an axis by a dimension other than 1. 8 by 16",
        ),
        Gap(
            what="STFT",
            why=GapReason.UPSTREAM,
            evidence="ONNX node test stft: another number of frames than ONNX's shape inference counts",
        ),
        Gap(
            what="StringNormalizer",
            why=GapReason.UPSTREAM,
            evidence="Failed to construct locale with name:en_US.UTF-8, which containers lack",
        ),
        Gap(
            what="float4_e2m1fn, float8_e8m0fnu",
            why=GapReason.UPSTREAM,
            evidence="Could not find an implementation for Cast(25)",
        ),
    )

    def probe(self) -> Availability:
        """Version and presence of the wheel; the engine itself is not loaded."""
        return installed("onnxruntime", self.extra, version=_version)

    def refusal(self, node: Node, graph: Graph, target: Target) -> str | None:
        """By domain, kernel table and the cases known to come out wrong."""
        return rules.refusal(node, graph, has_custom_ops=bool(target["custom-ops"]))

    def compile(self, model: SubModel, target: Target, settings: RunSettings) -> EngineArtifact:
        """Serialise; ORT optimises while it loads, which is fast and depends on the machine it runs on."""
        # Packed types are stored two in a byte, so the array in memory is not what ORT wants: those stay inside.
        outside = not any(weight.dtype in _STORED_PACKED for weight in model.weights.values())
        weights = [w.name for w in model.weights.values() if outside and w.nbytes > SMALL_BYTES]
        with guard(CompileError, _NAME):
            content = model.to_bytes(
                weights="external" if outside else "inline",
                small_bytes=SMALL_BYTES,
                max_opset=self.traits.max_opset,
                max_ir=self.traits.max_ir,
            )
        return EngineArtifact(
            files={"model.onnx": content},
            weights=tuple(weights),
            meta={"inputs": signature_rows(model.inputs), "outputs": signature_rows(model.outputs)},
        )

    def meta_type(self, meta: Mapping[str, Any]) -> type[BaseModel]:
        """Its borders, and more of a session with partitions of others."""
        from intarsia.backends.contract.metadata import Borders, Embedding

        return Embedding if "partitions" in meta else Borders

    def load(
        self,
        artifact: EngineArtifact,
        weights: Mapping[str, np.ndarray],
        target: Target,
        settings: RunSettings,
    ) -> Executable:
        """A session over the given weights. ORT copies each once, keeps what it packs from it, and frees the copy."""
        with guard(LoadError, _NAME):
            held = {name: weights[name] for name in artifact.weights}
            session = open_session(artifact.files["model.onnx"], held, session_options(options_of(target, settings)))
        return Session(session, artifact.meta, tuple(held.values()))

    def export(self, model: SubModel, target: Target, settings: RunSettings, folder: Path) -> tuple[Path, ...]:
        """``model.onnx``, and ``options.json`` with what to set on ``SessionOptions``."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "model.onnx"
        model.save(path, max_opset=self.traits.max_opset, max_ir=self.traits.max_ir)
        options = folder / "options.json"
        content = {"providers": PROVIDERS, **options_of(target, settings)}
        options.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
        return (path, options)

    def embedding(self, *, loading: bool = False) -> Embedding | None:
        """Through custom operators, where the native library can be built; what was compiled brings it."""
        from intarsia.backends.onnxruntime.embedding import embedding

        return embedding(loading=loading)

    def kernel_times(self, request: ProfileRequest) -> Sequence[Sequence[tuple[str, float]]]:
        """By its profiler."""
        from intarsia.backends.onnxruntime.profiler import kernel_times

        held = {name: request.weights[name] for name in request.artifact.weights}
        opened = partial(open_session, request.artifact.files["model.onnx"], held)
        options = session_options(options_of(request.target, request.settings))
        return kernel_times(opened, options, request.feeds, request.runs)

    def observe(
        self,
        model: SubModel,
        names: Sequence[str],
        feeds: Mapping[str, np.ndarray],
        target: Target,
        settings: RunSettings,
    ) -> Sequence[np.ndarray]:
        """With all rewrites off, so that the values are there to be told."""
        plain = target.with_options({"optimization-level": "disable"})
        with guard(ExecutionError, _NAME):
            options = session_options(options_of(plain, settings))
            artifact = self.compile(model.with_outputs(names), target, settings)
            held = {name: model.weights[name].array() for name in artifact.weights}
            return list(open_session(artifact.files["model.onnx"], held, options).run(list(names), dict(feeds)))

    def variants(self, target: Target) -> tuple[Target, ...]:
        """Two levels: the blocked layout that ``all`` adds can cost more than it gives (onnxruntime#26992)."""
        if "optimization-level" in target.options:
            return (target,)
        return tuple(target.with_options({"optimization-level": level}) for level in ("all", "extended"))


class Session(Executable):
    """A session, and the arrays it reads its weights from."""

    def __init__(self, session: Any, meta: Mapping[str, Any], held: tuple[np.ndarray, ...]) -> None:
        self.inputs = signatures(meta["inputs"])
        self.outputs = signatures(meta["outputs"])
        self._session = session
        self._held = held

    def bind(self, inputs: Mapping[str, np.ndarray | Slot], outputs: Mapping[str, np.ndarray | Slot]) -> BoundCall:
        """Pointers are bound once; strings and late shapes go through a plain ``run`` and a copy."""
        with guard(LoadError, _NAME):
            if any(map(_is_late, (*inputs.values(), *outputs.values()))):
                return guarded(self._copying(inputs, outputs), _NAME, self._held)
            return guarded(self._by_pointer(inputs, outputs), _NAME, self._held)

    def close(self) -> None:
        """Drop the session; calls bound to it keep it alive until they are dropped too."""
        self._session = None
        self._held = ()

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
                bind(value.name, "cpu", 0, _ELEMENT_TYPES[value.dtype], value.shape, each.memory.ctypes.data)
        return _around(run, *([each for _, each in packed] for packed in narrow)) if any(narrow) else run

    def _copying(self, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> BoundCall:
        run, names = self._session.run, list(outputs)

        def call() -> None:
            feeds = {name: value.array if isinstance(value, Slot) else value for name, value in inputs.items()}
            for name, result in zip(names, run(names, feeds), strict=True):
                place = outputs[name]
                if isinstance(place, Slot):
                    place.array = result
                else:
                    place[...] = result

        return call


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


def _is_late(value: np.ndarray | Slot) -> bool:
    """Whether there is no pointer to bind before the run: a shape to come, or strings."""
    if isinstance(value, Slot):
        return not isinstance(value, Port)
    return value.dtype.hasobject


def _engine() -> Any:
    # Read once, when the library starts. `disable_telemetry_events` alone comes after the first event was sent.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    onnxruntime.disable_telemetry_events()
    onnxruntime.set_default_logger_severity(4)
    return onnxruntime


@cache
def _version() -> str:
    """Of the module, whichever of its wheels (onnxruntime, onnxruntime-gpu, ...) brought it.

    Cached: it looks through every installed distribution, and each measurement's key asks.
    """
    owners = metadata.packages_distributions().get("onnxruntime", ["onnxruntime"])
    return metadata.version(owners[0])


def options_of(target: Target, settings: RunSettings) -> dict[str, Any]:
    """What to set on ``SessionOptions`` for a target, JSON-able."""
    level, mode = target["optimization-level"], target["execution-mode"]
    values = option_values(level, thread_count(target, settings), settings.spin, mode)
    return {**values, "custom_ops_libraries": list(target["custom-ops"] or ())}


def option_values(level: str, threads: int, spin: Spin, mode: str = "sequential") -> dict[str, Any]:
    """What to set on ``SessionOptions``, JSON-able; ``level`` and ``mode`` as the target's options spell them."""
    return {
        "graph_optimization_level": _LEVELS[level],
        "intra_op_num_threads": threads,
        "inter_op_num_threads": 1,
        "execution_mode": _MODES[mode],
        "session_config": _SPIN[spin],
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
    if not Path(library).is_file():
        raise LoadError(_NAME, f"the library of custom operators {library} is not there; put it back, or compile anew")
    return library


def open_session(content: bytes, held: Mapping[str, np.ndarray], options: Any) -> Any:
    """An ``InferenceSession`` of a model whose large weights are the arrays in ``held``, which must outlive it."""
    ort = _engine()
    options.add_external_initializers(list(held), [_ort_value(ort, array) for array in held.values()])
    return ort.InferenceSession(content, options, providers=PROVIDERS)


def _ort_value(ort: Any, array: np.ndarray) -> Any:
    element_type = _ELEMENT_TYPES.get(array.dtype.name)
    if element_type is None:
        return ort.OrtValue.ortvalue_from_numpy(array)
    return ort.OrtValue.ortvalue_from_numpy_with_onnx_type(array.view(f"uint{8 * array.itemsize}"), element_type)


def _element_type(value: Signature, array: np.ndarray) -> Any:
    return _ELEMENT_TYPES.get(value.dtype, array.dtype.type)
