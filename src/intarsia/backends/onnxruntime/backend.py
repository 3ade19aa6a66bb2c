"""ONNX Runtime on its CPU provider. Which operators it has kernels for is data, in `onnxruntime_rules`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, partial
from importlib import util
from typing import TYPE_CHECKING, Any, ClassVar

from intarsia.backends.contract import (
    Arrays,
    Availability,
    Backend,
    Embedding,
    EngineArtifact,
    Executable,
    Gap,
    NativeRequest,
    NativeStep,
    ProfileRequest,
    Traits,
    guard,
    reading,
)
from intarsia.backends.contract.node_facts import words
from intarsia.backends.native import KERNELS
from intarsia.backends.onnxruntime.session import (
    ELEMENT_TYPES,
    FAST_MATH,
    MAX_IR,
    MAX_OPSET,
    PROVIDERS,
    Session,
    native_session,
    open_session,
    options_of,
    serialised,
    session_options,
)
from intarsia.backends.package_probe import installed, package_folder, version_beside
from intarsia.errors import ExecutionError, LoadError

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np

    from intarsia.config.settings import RunSettings
    from intarsia.graph import Graph, Node, SubModel
    from intarsia.json_types import JsonType
    from intarsia.target import Target

_NAME = "onnxruntime"
_NUMPY_TYPES = "float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool string"


class OnnxRuntimeBackend(Backend):
    """Sessions with named providers; weights are handed over as arrays, inputs and outputs bound by pointer."""

    name = _NAME
    extra = _NAME
    licence = "MIT"
    machine_code = (KERNELS,)  # of a session that holds other engines
    reads = reading({_NAME: "optimization-level execution-mode custom-ops threads", "llvm": FAST_MATH})
    native_unread = frozenset({FAST_MATH})
    native_lack = None
    traits = Traits(
        writes_in_place=True,
        compiles_once=True,
        any_shape=True,
        follows_ports=True,
        spins=True,
        dtypes=frozenset({*words(_NUMPY_TYPES), *ELEMENT_TYPES}),
        max_opset=MAX_OPSET,
        max_ir=MAX_IR,
    )
    gaps: ClassVar[tuple[Gap, ...]] = (
        Gap.upstream("GRU, LSTM, RNN[layout=1]", "Batchwise recurrent operations (layout == 1) are not supported"),
        Gap.upstream(
            "Resize[align_corners, scale * size not whole]",
            "onnx node test resize_downsample_scales_linear_align_corners: 4 instead of 3.142857",
        ),
        Gap.upstream(
            "Attention[qk_matmul_output of a causal one with a mask, window sizes]",
            "onnx node tests attention_4d_with_past_and_present_qk_matmul_bias_*_causal: wrong fourth output",
        ),
        Gap.upstream(
            "MaxUnpool[output_shape]", "onnx node test maxunpool_export_with_output_shape: values at other places"
        ),
        Gap.upstream("ConvInteger[zero point per channel]", "Non per-tensor quantization is not supported now"),
        Gap.upstream(
            "DequantizeLinear[of a MatMul's weights, several scales along the axis that is summed over]",
            "MatMulIntegerToFloat: Attempting to broadcast an axis by a dimension other than 1. 8 by 16",
        ),
        Gap.upstream("STFT", "ONNX node test stft: another number of frames than ONNX's shape inference counts"),
        Gap.upstream("StringNormalizer", "Failed to construct locale with name:en_US.UTF-8, which containers lack"),
        Gap.upstream("float4_e2m1fn, float8_e8m0fnu", "Could not find an implementation for Cast(25)"),
    )

    def probe(self) -> Availability:
        """Version and presence of the wheel; the engine itself is not loaded."""
        return installed("onnxruntime", self.extra, version=_version)

    def refusal(self, node: Node, graph: Graph, target: Target) -> str | None:
        """By domain, kernel table and the cases known to come out wrong."""
        from intarsia.backends.onnxruntime import rules

        return rules.refusal(node, graph, has_custom_ops=bool(target["custom-ops"]))

    def with_few_bits(self, model: SubModel) -> SubModel:
        """With products by weights in blocks as its own operator, which rounds the other factor to 8 bits in blocks."""
        from intarsia.backends.onnxruntime.block_products import with_block_products

        return with_block_products(model)

    def compile(self, model: SubModel, target: Target, settings: RunSettings) -> EngineArtifact:
        """Serialise; ORT optimises while it loads, which is fast and depends on the machine it runs on."""
        return serialised(model)

    def meta_type(self, meta: Mapping[str, Any]) -> JsonType:
        """Its borders, and more of a session with partitions of others."""
        from intarsia.backends.contract.metadata import BORDERS, EMBEDDING

        return EMBEDDING if "partitions" in meta else BORDERS

    def load(self, artifact: EngineArtifact, weights: Arrays, target: Target, settings: RunSettings) -> Executable:
        """A session over the given weights. ORT copies each once, keeps what it packs from it, and frees the copy."""
        with guard(LoadError, _NAME):
            held = {name: weights[name] for name in artifact.weights}
            session = open_session(artifact.files["model.onnx"], held, session_options(options_of(target, settings)))
        return Session(session, artifact.meta, tuple(held.values()))

    def export(self, model: SubModel, target: Target, settings: RunSettings, folder: Path) -> tuple[Path, ...]:
        """``model.onnx``, and ``options.json`` with what to set on ``SessionOptions``."""
        import json

        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "model.onnx"
        model.save(path, max_opset=MAX_OPSET, max_ir=MAX_IR)
        options = folder / "options.json"
        content = {"providers": PROVIDERS, **options_of(target, settings)}
        options.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
        return (path, options)

    def native(self, request: NativeRequest) -> NativeStep:
        """The options of its session; one that holds other engines was optimised when it was compiled."""
        values = options_of(request.target, request.settings)
        holds_others = "partitions" in request.artifact.meta
        level = "disable" if holds_others else request.target["optimization-level"]
        libraries = () if holds_others else values["custom_ops_libraries"]
        return native_session({**values, "custom_ops_libraries": libraries}, level, is_saved=holds_others)

    def library_folder(self) -> Path | None:
        """Beside its Python module."""
        return package_folder("onnxruntime", "capi")

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
        self, model: SubModel, names: Sequence[str], feeds: Arrays, target: Target, settings: RunSettings
    ) -> Sequence[np.ndarray]:
        """With all rewrites off, so that the values are there to be told. Integer products are exact."""
        from intarsia.backends.onnxruntime.unsigned_weights import with_unsigned_weights

        level = target.with_options({"optimization-level": "disable"})
        with guard(ExecutionError, _NAME):
            options = session_options(options_of(level, settings))
            artifact = self.compile(model.with_outputs(names), target, settings)
            held = {name: model.weights[name].array() for name in artifact.weights}
            content = with_unsigned_weights(artifact.files["model.onnx"], held)
            return list(open_session(content, held, options).run(list(names), dict(feeds)))

    def variants(self, target: Target) -> tuple[Target, ...]:
        """Two levels: the blocked layout that ``all`` adds can cost more than it gives (onnxruntime#26992)."""
        if "optimization-level" in target.options:
            return (target,)
        return tuple(target.with_options({"optimization-level": level}) for level in ("all", "extended"))


@cache
def _version() -> str:
    """Of the module, whichever of its wheels (onnxruntime, onnxruntime-gpu, ...) brought it.

    Cached: it looks through every installed distribution, and each measurement's key asks.
    """
    spec = util.find_spec(_NAME)
    beside = version_beside(spec.origin, _NAME) if spec else None
    if beside is not None:
        return beside
    from importlib import metadata

    owners = metadata.packages_distributions().get("onnxruntime", ["onnxruntime"])
    return metadata.version(owners[0])
