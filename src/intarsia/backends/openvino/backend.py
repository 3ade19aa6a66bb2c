"""OpenVINO's CPU plug-in. Which nodes it takes is data, in `rules`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from intarsia.backends.contract import (
    Arrays,
    Availability,
    Backend,
    EngineArtifact,
    Executable,
    ForkFault,
    Gap,
    NativeRequest,
    NativeStep,
    ProfileRequest,
    Traits,
    border_rows,
    guard,
    reading,
    stated,
    thread_count,
)
from intarsia.backends.contract.node_facts import words
from intarsia.backends.contract.processor import onednn_limit
from intarsia.backends.contract.shared_memory import writable
from intarsia.backends.openvino.executable import CompiledModel
from intarsia.backends.openvino.model import (
    TYPES,
    compiled_model,
    core,
    engine,
    fill,
    inputs_left,
    read_model,
    specialised,
)
from intarsia.backends.openvino.open_sizes import ENVIRONMENT, PROPERTIES, Open, SizeGuide, check_ranks, settle
from intarsia.backends.package_probe import installed, package_folder
from intarsia.errors import CompileError, LoadError
from intarsia.target.cores import thread_budget

if TYPE_CHECKING:
    from intarsia.config.emulated import InstructionSet
    from intarsia.config.settings import RunSettings
    from intarsia.graph import Graph, Node, SubModel
    from intarsia.target import Target

_NAME = "openvino"
_FAST_MATH = "fast-math"
_SMALL_BYTES = 1024
_SHAREABLE = words("float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool")
"""Weights of these types are handed over as arrays; others stay inside the model."""


class OpenVinoBackend(Backend):
    """Weights become constants over the arrays they lie in; tensors are set once, over the plan's buffers.

    After a call its worker looks for more work for about a millisecond (a constant of oneTBB, which no property or
    variable changes), then sleeps; so the spin policy has nothing to set.
    """

    name = _NAME
    extra = _NAME
    licence = "Apache-2.0"
    machine_code = ()
    reads = reading({_NAME: "performance-hint inference-precision threads", "llvm": _FAST_MATH})
    native_unread = frozenset({_FAST_MATH})
    meta_name = "OPENVINO"
    native_lack = None
    traits = Traits(
        writes_in_place=True,
        compiles_once=True,
        any_shape=True,
        follows_ports=True,
        dtypes=words("float16 float32 int8 int16 int32 int64 uint8 uint16 bool", *TYPES),
    )
    fork_fault: ClassVar[ForkFault | None] = ForkFault(
        library="OpenVINO",
        evidence="loading a model there waits for ever where OpenVINO's threads still looked for work, as they do for "
        "a while after a call (1 of 40 forks)",
    )
    gaps: ClassVar[tuple[Gap, ...]] = (
        Gap.upstream("int64 beyond 32 bits", "Identity of 2**40 gives 0: the CPU plug-in holds 64-bit integers in 32"),
        Gap.upstream(
            "integer power, reduction, product of matrices, Relu; 32- and 64-bit division and modulo",
            "ReduceMax of int32 1058034504 gives 1058034496: computed in float32",
        ),
        Gap.upstream(
            "comparing integers beyond 24 bits",
            "int32 1234567892 == 1234567891 gives true: compared in float32; taken, since ids are smaller",
        ),
        Gap.upstream("uint32, uint64", "uint32 4000000000 > 1 gives false: held in a signed integer of 32 bits"),
        Gap.upstream("float64", "1e300 squared gives 3.4e38: computed in float32"),
        Gap.upstream(
            "float8_e4m3fnuz, float8_e5m2fnuz, Cast[float8 without saturation]", "Unsupported data type FLOAT8E4M3FNUZ"
        ),
        Gap.upstream(
            "DequantizeLinear[of a product's weights, several scales along the axis that is summed over]",
            "16x16 int8, axis 0, into MatMul: error 13; right along the other axis, and in blocks along this",
        ),
        Gap.upstream(
            "DequantizeLinear[in blocks, the last of them shorter]", "45 rows in blocks of 32: OpConversionFailure"
        ),
        Gap.not_implemented("strings, elements of less than 8 bits at the borders", "Unsupported data type: int4"),
        Gap.not_implemented(
            "values whose shape changes with what other values hold",
            "it refuses dynamic ranks; sizes of inputs may be open, and onnxruntime takes these nodes",
        ),
        Gap.upstream(
            "fusing attention and chains of small operators where sizes are open",
            "SNIPPETS_MODE in 2026.4.1: a softmax between two products that first ran at length 1 is wrong at "
            "every length from 16 on; switched off there",
        ),
        Gap.upstream(
            "DFT, STFT, Col2Im[more than two dimensions], DynamicQuantizeLinear",
            "ONNX node tests dft_axis, dft_rfft, col2im_5d, dynamicquantizelinear fail",
        ),
        Gap.upstream(
            "Attention[causal, past, other numbers of queries than of keys]",
            "4 queries and 6 keys behind a past of 12: the mask ends at the last key, not at the past and 4",
        ),
        Gap.upstream(
            "Conv[kernel of one element, dilated]",
            "SIGSEGV in 2026.4.1 on the models that NNSmith draws from the seeds 83 and 133",
        ),
        Gap.upstream(
            "QuantizeLinear half way between two steps, QuantizeLinear[scale made from the data]",
            "ONNX node test quantizelinear_uint16: one step off, since it multiplies by 1 / scale",
        ),
        Gap.upstream(
            "GRU, LSTM, RNN[layout=1], LSTM[peepholes]",
            "ONNX node tests gru_batchwise, lstm_batchwise, lstm_with_peepholes come out wrong",
        ),
        Gap.upstream(
            "Resize[antialias, exclude_outside, keep_aspect_ratio_policy, tf_crop_and_resize]",
            "ONNX node tests resize_*_antialias, resize_*_not_larger come out wrong",
        ),
    )

    def probe(self) -> Availability:
        """Version and presence of the wheel; the engine itself is not loaded."""
        return installed("openvino", self.extra)

    def environment(self, settings: RunSettings) -> Mapping[str, str | None]:
        """The limit of what oneDNN keeps for sizes that it has seen."""
        return ENVIRONMENT

    def masking(self, most: InstructionSet) -> Mapping[str, str]:
        """The limit of oneDNN, by which its CPU plug-in chooses kernels of its own too."""
        return onednn_limit(most)

    def refusal(self, node: Node, graph: Graph, target: Target) -> str | None:
        """By operator, and by the cases known to fail or to come out wrong."""
        from intarsia.backends.openvino import rules

        return rules.refusal(node, graph)

    def compile(self, model: SubModel, target: Target, settings: RunSettings) -> EngineArtifact:
        """Convert once, to see that it can be done; the plug-in compiles while it loads, faster than it imports."""
        from intarsia.backends.openvino import shape_rules

        inside = frozenset(weight.name for weight in model.weights.values() if weight.dtype not in _SHAREABLE)
        weights = tuple(w.name for w in model.weights.values() if w.name not in inside and w.nbytes > _SMALL_BYTES)
        is_open = bool(model.graph.sizes)
        deciding = () if is_open else shape_rules.deciding_inputs(model)
        with guard(CompileError, _NAME):
            content = model.to_bytes(weights="inputs", inside=inside, small_bytes=_SMALL_BYTES)
            converted = core().read_model(content)
            left = inputs_left([value.name for value in model.inputs], converted, len(weights))
            is_open = is_open and (converted.is_dynamic() or _has_open(model))
            if is_open:
                check_ranks(converted)
        return EngineArtifact(
            files={"model.onnx": content},
            weights=weights,
            meta={
                **border_rows(model),
                "deciding": list(deciding),
                "left": left,
                "late": not model.graph.sizes and (bool(deciding) or _has_open(model)),
                "open": is_open,
            },
        )

    def load(self, artifact: EngineArtifact, weights: Arrays, target: Target, settings: RunSettings) -> Executable:
        """Read the model, put constants over the mapped weights, compile for this machine."""
        meta = artifact.meta
        properties = _properties(target, settings, meta)
        if meta["late"]:
            from intarsia.backends.openvino.dynamic import DynamicExecutable

            own = {name: weights[name] for name in artifact.weights}
            return DynamicExecutable(meta, partial(specialised, artifact, own, properties))
        if not _is_open(meta):
            compiled, held = compiled_model(artifact, weights, properties)
            return CompiledModel(compiled, meta, held)
        settle()
        compiled, held = compiled_model(artifact, weights, properties)
        with guard(LoadError, _NAME):
            model, more = read_model(artifact, weights) if thread_count(target, settings) == 1 else (None, ())
        return Open(compiled, meta, (*held, *more), None if model is None else SizeGuide(model))

    def native(self, request: NativeRequest) -> NativeStep:
        """The model in OpenVINO's own format over the artifact's weights, with the properties to compile it with."""
        from intarsia.backends.openvino.native import native_model

        meta = request.artifact.meta
        if meta["late"] or _is_open(meta):
            raise LoadError(_NAME, "the runtime cpp takes models of fixed sizes")
        properties = _properties(request.target, request.settings, meta)
        return {
            "loader": _NAME,
            "model": native_model(request),
            "inputs": list(meta["left"]),
            "threads": properties["INFERENCE_NUM_THREADS"],
            "performance_hint": properties["PERFORMANCE_HINT"],
            "inference_precision": str(properties["INFERENCE_PRECISION_HINT"]),
        }

    def library_folder(self) -> Path | None:
        """In the package, which holds the C interface too."""
        return package_folder("openvino", "libs")

    def kernel_times(self, request: ProfileRequest) -> Sequence[Sequence[tuple[str, float]]] | None:
        """By its performance counters; none of a model that is compiled anew for what its inputs hold."""
        from intarsia.backends.openvino.profiler import COUNTERS, primitive_times

        meta = request.artifact.meta
        if meta["late"]:
            return None
        properties = {**_properties(request.target, request.settings, meta), **COUNTERS}
        compiled, held = compiled_model(request.artifact, request.weights, properties)
        times = primitive_times(compiled, [writable(request.feeds[name]) for name in meta["left"]], request.runs)
        del held
        return times

    def at_defaults(self, target: Target, isa: Collection[str]) -> Target:
        """In bf16 on x86 processors that compute in it, in f16 on Arm's that do.

        Source: OpenVINO 2026, "Precision Control": the plugin takes the fastest element type of the processor.
        """
        if "inference-precision" in target.options:
            return target
        fast = ((frozenset({"avx512_bf16", "amx_bf16"}), "bf16"), (frozenset({"asimdhp"}), "f16"))
        own = next((name for features, name in fast if not features.isdisjoint(isa)), None)
        return target if own is None else target.with_options({"inference-precision": own})

    def export(self, model: SubModel, target: Target, settings: RunSettings, folder: Path) -> tuple[Path, ...]:
        """OpenVINO's IR in full precision, and ``options.json`` with the properties to compile it with."""
        import json

        from intarsia.backends.openvino.rewrites import fixed

        folder.mkdir(parents=True, exist_ok=True)
        artifact = self.compile(model, target, settings)
        with guard(CompileError, _NAME):
            converted = core().read_model(artifact.files["model.onnx"])
            held = fill(converted, [model.weights[name].array() for name in artifact.weights])
            path = folder / "model.xml"
            engine().save_model(fixed(converted), path, compress_to_fp16=False)
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


def _is_open(meta: Mapping[str, Any]) -> bool:
    return bool(meta.get("open", False))  # artifacts from before OpenVINO took open sizes do not say


def _has_open(model: SubModel) -> bool:
    return any(value.shape is None for value in (*model.inputs, *model.outputs))


def _properties(target: Target, settings: RunSettings, meta: Mapping[str, Any]) -> dict[str, Any]:
    threads = thread_count(target, settings)
    return {
        "INFERENCE_NUM_THREADS": threads,
        # Each model pins its threads from the first core on, so two at work on some of the cores would share those.
        "ENABLE_CPU_PINNING": threads >= thread_budget() and not (settings.pipeline and settings.pipeline.processors),
        "NUM_STREAMS": 1,
        "PERFORMANCE_HINT": target["performance-hint"].upper(),
        "INFERENCE_PRECISION_HINT": target["inference-precision"],
        # Quantising activations behind our back is for the user to ask for.
        "DYNAMIC_QUANTIZATION_GROUP_SIZE": 0,
        **({"CPU_DENORMALS_OPTIMIZATION": True} if stated(target.base, (_FAST_MATH,)).get(_FAST_MATH) else {}),
        **(PROPERTIES if _is_open(meta) else {}),
    }
