"""OpenVINO's CPU plug-in. Which nodes it takes is data, in `openvino_rules`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from intarsia.backends import openvino_rules
from intarsia.backends.base import (
    Availability,
    Backend,
    BoundCall,
    EngineArtifact,
    Executable,
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
from intarsia.backends.memory import writable
from intarsia.backends.node_facts import words
from intarsia.backends.wheel import installed
from intarsia.errors import CompileError, LoadError
from intarsia.target.cores import thread_budget

if TYPE_CHECKING:
    import numpy as np

    from intarsia.config.settings import RunSettings
    from intarsia.graph import Graph, Node, SubModel
    from intarsia.target import Target

_NAME = "openvino"
_SMALL_BYTES = 1024
_SHAREABLE = words("float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool")
"""Weights of these types are handed over as arrays; others stay inside the model."""


class OpenVinoBackend(Backend):
    """Weights become constants over the arrays they are mapped to; tensors are set once, over the plan's buffers.

    After a call its worker looks for more work for about a millisecond (a constant of oneTBB, which no property or
    variable changes), then sleeps; so the spin policy has nothing to set.
    """

    name = _NAME
    extra = _NAME
    licence = "Apache-2.0"
    traits = Traits(
        writes_in_place=True,
        compiles_once=True,
        follows_ports=True,
        dtypes=words("float16 float32 int8 int16 int32 int64 uint8 uint16 bool"),
    )
    gaps: ClassVar[tuple[Gap, ...]] = (
        Gap(
            what="int64 beyond 32 bits",
            why=GapReason.UPSTREAM,
            evidence="Identity of 2**40 gives 0: the CPU plug-in holds 64-bit integers in 32",
        ),
        Gap(
            what="integer division, modulo, power, reduction, product of matrices, Relu",
            why=GapReason.UPSTREAM,
            evidence="ReduceMax of int32 1058034504 gives 1058034496: computed in float32",
        ),
        Gap(
            what="8- and 16-bit integer arithmetic",
            why=GapReason.UPSTREAM,
            evidence="int8 100 + 100 gives 127 instead of -56",
        ),
        Gap(what="float64", why=GapReason.UPSTREAM, evidence="1e300 squared gives 3.4e38: computed in float32"),
        Gap(
            what="bfloat16, float8, strings at the borders",
            why=GapReason.NOT_IMPLEMENTED,
            evidence="set_tensor: precision f16, since the model input tensor precision is bf16",
        ),
        Gap(
            what="values whose shape only running tells",
            why=GapReason.NOT_IMPLEMENTED,
            evidence="it refuses dynamic ranks, and with open dimensions a transformer that ran at length 1 first "
            "answers every other length wrongly from then on; onnxruntime takes these nodes",
        ),
        Gap(
            what="DFT, STFT, Col2Im, BitShift, DynamicQuantizeLinear",
            why=GapReason.UPSTREAM,
            evidence="ONNX node tests dft_axis, dft_rfft, col2im_5d, bitshift_*_negative_*, dynamicquantizelinear fail",
        ),
        Gap(
            what="Conv[kernel of one element, dilated]",
            why=GapReason.UPSTREAM,
            evidence="SIGSEGV in 2026.4.1 on the models that NNSmith draws from the seeds 83 and 133",
        ),
        Gap(
            what="QuantizeLinear half way between two steps",
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

    def refusal(self, node: Node, graph: Graph, target: Target) -> str | None:
        """By operator, and by the cases known to fail or to come out wrong."""
        return openvino_rules.refusal(node, graph)

    def compile(self, model: SubModel, target: Target, settings: RunSettings) -> EngineArtifact:
        """Convert once, to see that it can be done; the plug-in compiles while it loads, faster than it imports."""
        outside = all(weight.dtype in _SHAREABLE for weight in model.weights.values())
        weights = tuple(w.name for w in model.weights.values() if outside and w.nbytes > _SMALL_BYTES)
        with guard(CompileError, _NAME):
            content = model.to_bytes(weights="inputs" if outside else "inline", small_bytes=_SMALL_BYTES)
            _core().read_model(content)
        return EngineArtifact(
            files={"model.onnx": content},
            weights=weights,
            meta={"inputs": signature_rows(model.inputs), "outputs": signature_rows(model.outputs)},
        )

    def load(
        self,
        artifact: EngineArtifact,
        weights: Mapping[str, np.ndarray],
        target: Target,
        settings: RunSettings,
    ) -> Executable:
        """Read the model, put constants over the mapped weights, compile for this machine."""
        compiled, held = _compiled_model(artifact, weights, _properties(target, settings))
        return _Compiled(compiled, artifact.meta, held)

    def kernel_times(
        self,
        artifact: EngineArtifact,
        weights: Mapping[str, np.ndarray],
        feeds: Mapping[str, np.ndarray],
        target: Target,
        settings: RunSettings,
        runs: int,
    ) -> Sequence[Sequence[tuple[str, float]]]:
        """By its performance counters."""
        from intarsia.backends.openvino_profile import COUNTERS, primitive_times

        compiled, held = _compiled_model(artifact, weights, {**_properties(target, settings), **COUNTERS})
        inputs = [writable(feeds[value.name]) for value in signatures(artifact.meta["inputs"])]
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
            _engine().save_model(converted, path, compress_to_fp16=False)
            del held
        options = folder / "options.json"
        content = {"device": "CPU", "properties": _properties(target, settings)}
        options.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
        return (path, path.with_suffix(".bin"), options)


class _Compiled(Executable):
    """A compiled model, and the arrays its constants lie over."""

    def __init__(self, compiled: Any, meta: Mapping[str, Any], held: tuple[np.ndarray, ...]) -> None:
        self.inputs = signatures(meta["inputs"])
        self.outputs = signatures(meta["outputs"])
        self._compiled = compiled
        self._held = held

    def bind(self, inputs: Mapping[str, np.ndarray | Slot], outputs: Mapping[str, np.ndarray | Slot]) -> BoundCall:
        """Set each tensor once, over the given memory."""
        with guard(LoadError, _NAME):
            request = self._compiled.create_infer_request()
            sides = (
                (self.inputs, inputs, request.set_input_tensor),
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
    put(position, _tensor(array))


def _engine() -> Any:
    # Its telemetry client writes under the home folder and sends; an import that fails is what it is prepared for.
    sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]
    import openvino

    return openvino


@cache
def _core() -> Any:
    return _engine().Core()


def _properties(target: Target, settings: RunSettings) -> dict[str, Any]:
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
    }


def _compiled_model(
    artifact: EngineArtifact, weights: Mapping[str, np.ndarray], properties: Mapping[str, Any]
) -> tuple[Any, tuple[np.ndarray, ...]]:
    """A compiled model over the mapped weights, and the arrays to keep alive."""
    with guard(LoadError, _NAME):
        model = _core().read_model(artifact.files["model.onnx"])
        held = _fill(model, [weights[name] for name in artifact.weights])
        _part_inputs_from_outputs(model)
        return _core().compile_model(model, "CPU", dict(properties)), held


def _fill(model: Any, weights: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
    """Put constants over the weights' memory in place of the last inputs; returns the arrays to keep alive.

    By position: an input takes another name when the node that reads it vanishes.
    """
    from openvino import op

    held = []
    parameters = model.get_parameters()
    for parameter, array in zip(parameters[len(parameters) - len(weights) :], weights, strict=True):
        shared = writable(array)
        constant = op.Constant(shared, shared_memory=True)
        for reader in parameter.output(0).get_target_inputs():
            reader.replace_source_output(constant.output(0))
        model.remove_parameter(parameter)
        held += [array, shared]
    return tuple(held)


def _part_inputs_from_outputs(model: Any) -> None:
    """Put a copy between an input and an output that shows it, as it is left where a Dropout vanishes.

    Both would be one tensor, and setting the output's memory would take the input's away.
    """
    from openvino import opset16

    for result in model.get_results():
        source = result.input_value(0)
        if source.get_node().get_type_name() == "Parameter":
            result.input(0).replace_source_output(opset16.identity(source).output(0))


def _tensor(array: Any) -> Any:
    return _engine().Tensor(writable(array), shared_memory=True)
