"""OpenVINO's CPU plug-in. Which nodes it takes is data, in `openvino_rules`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from intarsia.backends.contract.backend import (
    Availability,
    Backend,
    BoundCall,
    EngineArtifact,
    Executable,
    ForkFault,
    Gap,
    GapReason,
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
from intarsia.backends.contract.shared_memory import writable
from intarsia.backends.openvino import rules
from intarsia.backends.openvino import shapes as openvino_shapes
from intarsia.backends.openvino.dynamic import DynamicExecutable
from intarsia.backends.openvino.open_sizes import ENVIRONMENT, PROPERTIES, Open, SizeGuide, check_ranks, settle
from intarsia.backends.openvino.rewrites import fixed
from intarsia.backends.package_probe import installed
from intarsia.errors import CompileError, LoadError
from intarsia.target.cores import thread_budget

if TYPE_CHECKING:
    import numpy as np
    from pydantic import BaseModel

    from intarsia.config.settings import RunSettings
    from intarsia.graph import Graph, Node, SubModel
    from intarsia.target import Target

_NAME = "openvino"
_SMALL_BYTES = 1024
_SHAREABLE = words("float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool")
"""Weights of these types are handed over as arrays; others stay inside the model."""

_TYPES = {"bfloat16": "bf16", "float8_e4m3fn": "f8e4m3", "float8_e5m2": "f8e5m2"}
"""OpenVINO's names for the types that numpy cannot name; it is given their memory."""


class OpenVinoBackend(Backend):
    """Weights become constants over the arrays they are mapped to; tensors are set once, over the plan's buffers.

    After a call its worker looks for more work for about a millisecond (a constant of oneTBB, which no property or
    variable changes), then sleeps; so the spin policy has nothing to set.
    """

    name = _NAME
    extra = _NAME
    licence = "Apache-2.0"
    machine_code = ()
    traits = Traits(
        writes_in_place=True,
        compiles_once=True,
        any_shape=True,
        follows_ports=True,
        dtypes=words("float16 float32 int8 int16 int32 int64 uint8 uint16 bool", *_TYPES),
    )
    fork_fault: ClassVar[ForkFault | None] = ForkFault(
        library="OpenVINO",
        evidence="loading a model there waits for ever where OpenVINO's threads still looked for work, as they do for "
        "a while after a call (1 of 40 forks)",
    )
    gaps: ClassVar[tuple[Gap, ...]] = (
        Gap(
            what="int64 beyond 32 bits",
            why=GapReason.UPSTREAM,
            evidence="Identity of 2**40 gives 0: the CPU plug-in holds 64-bit integers in 32",
        ),
        Gap(
            what="integer power, reduction, product of matrices, Relu; 32- and 64-bit division and modulo",
            why=GapReason.UPSTREAM,
            evidence="ReduceMax of int32 1058034504 gives 1058034496: computed in float32",
        ),
        Gap(
            what="comparing integers beyond 24 bits",
            why=GapReason.UPSTREAM,
            evidence="int32 1234567892 == 1234567891 gives true: compared in float32; taken, since ids are smaller",
        ),
        Gap(
            what="uint32, uint64",
            why=GapReason.UPSTREAM,
            evidence="uint32 4000000000 > 1 gives false: held in a signed integer of 32 bits",
        ),
        Gap(what="float64", why=GapReason.UPSTREAM, evidence="1e300 squared gives 3.4e38: computed in float32"),
        Gap(
            what="float8_e4m3fnuz, float8_e5m2fnuz, Cast[float8 without saturation]",
            why=GapReason.UPSTREAM,
            evidence="Unsupported data type FLOAT8E4M3FNUZ",
        ),
        Gap(
            what="DequantizeLinear[of a product's weights, several scales along the axis that is summed over]",
            why=GapReason.UPSTREAM,
            evidence="16x16 int8, axis 0, into MatMul: error 13; right along the other axis, and in blocks along this",
        ),
        Gap(
            what="strings, elements of less than 8 bits at the borders",
            why=GapReason.NOT_IMPLEMENTED,
            evidence="Unsupported data type: int4",
        ),
        Gap(
            what="values whose shape changes with what other values hold",
            why=GapReason.NOT_IMPLEMENTED,
            evidence="it refuses dynamic ranks; sizes of inputs may be open, and onnxruntime takes these nodes",
        ),
        Gap(
            what="fusing attention and chains of small operators where sizes are open",
            why=GapReason.UPSTREAM,
            evidence="SNIPPETS_MODE in 2026.4.1: a softmax between two products that first ran at length 1 is wrong at "
            "every length from 16 on; switched off there",
        ),
        Gap(
            what="DFT, STFT, Col2Im[more than two dimensions], DynamicQuantizeLinear",
            why=GapReason.UPSTREAM,
            evidence="ONNX node tests dft_axis, dft_rfft, col2im_5d, dynamicquantizelinear fail",
        ),
        Gap(
            what="Attention[causal, past, other numbers of queries than of keys]",
            why=GapReason.UPSTREAM,
            evidence="4 queries and 6 keys behind a past of 12: the mask ends at the last key, not at the past and 4",
        ),
        Gap(
            what="Conv[kernel of one element, dilated]",
            why=GapReason.UPSTREAM,
            evidence="SIGSEGV in 2026.4.1 on the models that NNSmith draws from the seeds 83 and 133",
        ),
        Gap(
            what="QuantizeLinear half way between two steps, QuantizeLinear[scale made from the data]",
            why=GapReason.UPSTREAM,
            evidence="ONNX node test quantizelinear_uint16: one step off, since it multiplies by 1 / scale",
        ),
        Gap(
            what="GRU, LSTM, RNN[layout=1], LSTM[peepholes]",
            why=GapReason.UPSTREAM,
            evidence="ONNX node tests gru_batchwise, lstm_batchwise, lstm_with_peepholes come out wrong",
        ),
        Gap(
            what="Resize[antialias, exclude_outside, keep_aspect_ratio_policy, tf_crop_and_resize]",
            why=GapReason.UPSTREAM,
            evidence="ONNX node tests resize_*_antialias, resize_*_not_larger come out wrong",
        ),
    )

    def probe(self) -> Availability:
        """Version and presence of the wheel; the engine itself is not loaded."""
        return installed("openvino", self.extra)

    def environment(self, settings: RunSettings) -> Mapping[str, str | None]:
        """The limit of what oneDNN keeps for sizes that it has seen."""
        return ENVIRONMENT

    def refusal(self, node: Node, graph: Graph, target: Target) -> str | None:
        """By operator, and by the cases known to fail or to come out wrong."""
        return rules.refusal(node, graph)

    def compile(self, model: SubModel, target: Target, settings: RunSettings) -> EngineArtifact:
        """Convert once, to see that it can be done; the plug-in compiles while it loads, faster than it imports."""
        outside = all(weight.dtype in _SHAREABLE for weight in model.weights.values())
        weights = tuple(w.name for w in model.weights.values() if outside and w.nbytes > _SMALL_BYTES)
        is_open = bool(model.graph.sizes)
        deciding = () if is_open else openvino_shapes.deciding_inputs(model)
        with guard(CompileError, _NAME):
            content = model.to_bytes(weights="inputs" if outside else "inline", small_bytes=_SMALL_BYTES)
            converted = _core().read_model(content)
            left = _left([value.name for value in model.inputs], converted, len(weights))
            is_open = is_open and (converted.is_dynamic() or _has_open(model))
            if is_open:
                check_ranks(converted)
        return EngineArtifact(
            files={"model.onnx": content},
            weights=weights,
            meta={
                "inputs": signature_rows(model.inputs),
                "outputs": signature_rows(model.outputs),
                "deciding": list(deciding),
                "left": left,
                "late": not model.graph.sizes and (bool(deciding) or _has_open(model)),
                "open": is_open,
            },
        )

    def meta_type(self, meta: Mapping[str, Any]) -> type[BaseModel]:
        """Its borders, and what its own files are read by."""
        from intarsia.backends.contract.metadata import OpenVino

        return OpenVino

    def load(
        self,
        artifact: EngineArtifact,
        weights: Mapping[str, np.ndarray],
        target: Target,
        settings: RunSettings,
    ) -> Executable:
        """Read the model, put constants over the mapped weights, compile for this machine."""
        meta = artifact.meta
        properties = _properties(target, settings, meta)
        if meta["late"]:
            own = {name: weights[name] for name in artifact.weights}
            return DynamicExecutable(meta, partial(_specialise, artifact, own, properties))
        is_open = _is_open(meta)
        if is_open:
            settle()
        compiled, held = _compiled_model(artifact, weights, properties)
        if not is_open:
            return _Compiled(compiled, meta, held)
        with guard(LoadError, _NAME):
            model, more = _read(artifact, weights) if thread_count(target, settings) == 1 else (None, ())
        return Open(compiled, meta, (*held, *more), None if model is None else SizeGuide(model))

    def kernel_times(
        self,
        artifact: EngineArtifact,
        weights: Mapping[str, np.ndarray],
        feeds: Mapping[str, np.ndarray],
        target: Target,
        settings: RunSettings,
        runs: int,
    ) -> Sequence[Sequence[tuple[str, float]]] | None:
        """By its performance counters; none of a model that is compiled anew for what its inputs hold."""
        if artifact.meta["late"]:
            return None
        from intarsia.backends.openvino.profiler import COUNTERS, primitive_times

        compiled, held = _compiled_model(
            artifact, weights, {**_properties(target, settings, artifact.meta), **COUNTERS}
        )
        inputs = [writable(feeds[name]) for name in artifact.meta["left"]]
        times = primitive_times(compiled, inputs, runs)
        del held
        return times

    def export(self, model: SubModel, target: Target, settings: RunSettings, folder: Path) -> tuple[Path, ...]:
        """OpenVINO's IR in full precision, and ``options.json`` with the properties to compile it with."""
        folder.mkdir(parents=True, exist_ok=True)
        artifact = self.compile(model, target, settings)
        with guard(CompileError, _NAME):
            converted = _core().read_model(artifact.files["model.onnx"])
            held = _fill(converted, [model.weights[name].array() for name in artifact.weights])
            path = folder / "model.xml"
            _engine().save_model(fixed(converted), path, compress_to_fp16=False)
            del held
        options = folder / "options.json"
        content = {
            "device": "CPU",
            "properties": _properties(target, settings, artifact.meta),
            "inputs": artifact.meta["left"],
            "outputs": [value.name for value in model.outputs],
        }
        options.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
        return (path, path.with_suffix(".bin"), options)


class _Compiled(Executable):
    """A compiled model, and the arrays its constants lie over."""

    def __init__(self, compiled: Any, meta: Mapping[str, Any], held: tuple[np.ndarray, ...]) -> None:
        self.inputs = signatures(meta["inputs"])
        self.outputs = signatures(meta["outputs"])
        self._left = [value for value in self.inputs if value.name in meta["left"]]
        self._compiled = compiled
        self._held = held

    def bind(self, inputs: Mapping[str, np.ndarray | Slot], outputs: Mapping[str, np.ndarray | Slot]) -> BoundCall:
        """Set each tensor once, over the given memory."""
        with guard(LoadError, _NAME):
            request = self._compiled.create_infer_request()
            sides = (
                (self._left, inputs, request.set_input_tensor),
                (self.outputs, outputs, request.set_output_tensor),
            )
            places = [
                (partial(_point, put, position), given[value.name])
                for values, given, put in sides
                for position, value in enumerate(values)
            ]
            call = following(places, _bare_infer(request))
        return guarded(call, _NAME, self._held)

    def close(self) -> None:
        """Drop the model; calls bound to it keep it alive until they are dropped too."""
        self._compiled = None
        self._held = ()


def _bare_infer(request: Any) -> BoundCall:
    """One inference over tensors that are set: the binding's own call, without the 20 us of looking for inputs first.

    Unless outputs are shared every call copies them once more, into arrays that nobody looks at.
    """
    return partial(super(type(request), request).infer, {}, share_outputs=True, decode_strings=False)


def _point(put: Callable[[int, Any], None], position: int, array: np.ndarray) -> None:
    put(position, tensor(array))


def _engine() -> Any:
    # Its telemetry client writes under the home folder and sends; an import that fails is what it is prepared for.
    sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]
    import openvino

    return openvino


@cache
def _core() -> Any:
    return _engine().Core()


def _is_open(meta: Mapping[str, Any]) -> bool:
    return bool(meta.get("open", False))  # artifacts from before OpenVINO took open sizes do not say


def _has_open(model: SubModel) -> bool:
    return any(value.shape is None for value in (*model.inputs, *model.outputs))


def _properties(target: Target, settings: RunSettings, meta: Mapping[str, Any]) -> dict[str, Any]:
    threads = thread_count(target, settings)
    return {
        "INFERENCE_NUM_THREADS": threads,
        # Each model pins its threads from the first core on, so two at work on some of the cores would share those.
        "ENABLE_CPU_PINNING": threads >= thread_budget(),
        "NUM_STREAMS": 1,
        "PERFORMANCE_HINT": target["performance-hint"].upper(),
        "INFERENCE_PRECISION_HINT": target["inference-precision"],
        # Quantising activations behind our back is for the user to ask for.
        "DYNAMIC_QUANTIZATION_GROUP_SIZE": 0,
        **(PROPERTIES if _is_open(meta) else {}),
    }


def _left(inputs: Sequence[str], model: Any, weights: int) -> list[str]:
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


def _read(artifact: EngineArtifact, weights: Mapping[str, np.ndarray]) -> tuple[Any, tuple[np.ndarray, ...]]:
    """The model over the mapped weights, and the arrays to keep alive."""
    model = _core().read_model(artifact.files["model.onnx"])
    return model, _fill(model, [weights[name] for name in artifact.weights])


def _compiled_model(
    artifact: EngineArtifact, weights: Mapping[str, np.ndarray], properties: Mapping[str, Any]
) -> tuple[Any, tuple[np.ndarray, ...]]:
    """A compiled model over the mapped weights, and the arrays to keep alive."""
    with guard(LoadError, _NAME):
        model, held = _read(artifact, weights)
        return _core().compile_model(fixed(model), "CPU", dict(properties)), held


def _specialise(
    artifact: EngineArtifact,
    weights: Mapping[str, np.ndarray],
    properties: Mapping[str, Any],
    contents: Mapping[str, np.ndarray],
    shapes: Mapping[str, tuple[int, ...]],
) -> tuple[Any, tuple[np.ndarray, ...]]:
    """As `_compiled_model`, with some inputs as constants and all others of these shapes."""
    engine = _engine()
    model, held = _read(artifact, weights)
    for name, parameter in zip(artifact.meta["left"], model.get_parameters(), strict=True):
        if name in contents:
            _put(model, parameter, engine.op.Constant(tensor(contents[name]), shared_memory=False))
        else:
            parameter.set_partial_shape(engine.PartialShape(list(shapes[name])))
    model.validate_nodes_and_infer_types()
    return _core().compile_model(fixed(model), "CPU", dict(properties)), held


def _fill(model: Any, weights: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
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
    engine, shared, name = _engine(), writable(array), _TYPES.get(array.dtype.name)
    if name is None:
        return engine.Tensor(shared, shared_memory=True)
    return engine.Tensor(
        shared.view(f"uint{8 * array.itemsize}"), engine.Shape(array.shape), getattr(engine.Type, name)
    )
