"""ONNX Runtime with convolutions of our own as custom operators inside its blocked layout, on its thread pool.

ONNX Runtime optimises the model. In what it saves, `backends.onnxruntime.substitution` replaces the convolutions that a
kernel takes (`backends.onnxruntime.kernels`), and the native library (`native`) computes them. Before, products of few
rows are joined, and attention over a cache becomes one operator. All else is ONNX Runtime's, and so are the rules of
refusal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from intarsia.backends.contract import (
    EVERY_NODE,
    Arrays,
    Availability,
    Backend,
    Embedding,
    EngineArtifact,
    Executable,
    Gap,
    KernelChoice,
    NativeRequest,
    NativeStep,
    ProfileRequest,
    guard,
    reading,
    thread_count,
)
from intarsia.backends.native import KERNELS as LIBRARY
from intarsia.backends.native import library, recipe
from intarsia.backends.onnxruntime import offline_optimisation
from intarsia.backends.onnxruntime.backend import OnnxRuntimeBackend
from intarsia.backends.onnxruntime.session import (
    FAST_MATH,
    PROVIDERS,
    fast_math,
    native_session,
    option_values,
    serialised,
    session_options,
)
from intarsia.config.settings import Spin
from intarsia.errors import CompileError, LoadError

if TYPE_CHECKING:
    from intarsia.config.settings import RunSettings
    from intarsia.graph import Graph, Node, SubModel
    from intarsia.json_types import JsonType
    from intarsia.partitioning import Capability
    from intarsia.target import Target

_NAME = "winograd"
_LIBRARY = "libintarsia_winograd.so"
_LOADER = "loader.py"
_SAVED = (offline_optimisation.MODEL, offline_optimisation.WEIGHTS)


class WinogradBackend(Backend):
    """ONNX Runtime's session over a model that it optimised before, with our operator in it."""

    name = _NAME
    extra = _NAME
    licence = "Apache-2.0; ONNX Runtime: MIT"
    machine_code = (LIBRARY,)
    reads = reading({_NAME: "threads kernels inference-precision", "llvm": FAST_MATH})
    native_unread = OnnxRuntimeBackend.native_unread
    native_lack = None
    traits = replace(OnnxRuntimeBackend.traits, compiled_by=("inference-precision", "kernels"))
    needs_features = ("avx2", "fma")
    packs_12_bits = True
    extends = OnnxRuntimeBackend.name
    gaps: ClassVar[tuple[Gap, ...]] = (
        *OnnxRuntimeBackend.gaps,
        Gap.not_implemented(
            "Conv[stride 1, channels that are no multiple of the block]",
            "ONNX Runtime's own kernel computes them, as all other convolutions",
        ),
    )

    def probe(self) -> Availability:
        """ONNX Runtime's answer, then what building the kernel needs; nothing is compiled.

        The version names both parts and the layout, so that an artifact is compiled anew where any of them differs.
        """
        return self._probe(library.lack)

    def probe_loading(self) -> Availability:
        """As `probe`, but an artifact brings the kernel with it."""
        return self._probe(library.cpu_lack)

    def is_prepared(self) -> bool:
        """Whether the native library is there."""
        return library.built_before() is not None

    def prepare(self, within_s: float) -> None:
        """Build the native library, if it is not there."""
        with suppress(CompileError):  # who compiles for the engine is told
            library.built(within_s)

    def capability(self, graph: Graph, target: Target) -> Capability:
        """Nothing of a graph without anything to replace: there this engine is ONNX Runtime, timed twice.

        And nothing at all where the target asks for kernels that are not there.
        """
        from intarsia.backends.onnxruntime.kernels import graph_rules
        from intarsia.backends.onnxruntime.kernels.asked import OPTION, misnamed
        from intarsia.partitioning import Capability

        block = library.block()
        lack = graph_rules.lack(graph, block)
        if lack is None and target[OPTION]:
            lack = misnamed(target, graph_rules.named_kernels(graph, block))
        if lack is not None:
            return Capability(refusals={node.id: lack for node in graph.nodes})
        return super().capability(graph, target)

    def refusal(self, node: Node, graph: Graph, target: Target) -> str | None:
        """As ONNX Runtime's."""
        from intarsia.backends.onnxruntime import rules

        return rules.refusal(node, graph)

    def with_few_bits(self, model: SubModel) -> SubModel:
        """With products by weights in blocks as our own operator; what it cannot pack is ONNX Runtime's."""
        from intarsia.backends.onnxruntime.block_products import with_block_products
        from intarsia.backends.onnxruntime.packed_products import with_packed_products

        return with_block_products(with_packed_products(model, library.block()))

    def in_less(self, target: Target, graph: Graph) -> Target | None:
        """With our own kernels wherever they multiply numbers of 16 bits: which are faster was found out in floats."""
        from intarsia.backends.onnxruntime.kernels import HOST, graph_rules
        from intarsia.backends.onnxruntime.kernels.asked import asked, asking

        short = graph_rules.short_nodes(graph, library.block())
        kept = {node: kernel for node, kernel in asked(target).items() if kernel != HOST or node not in short}
        return asking(target, kept) if short else None

    def compile(self, model: SubModel, target: Target, settings: RunSettings) -> EngineArtifact:
        """Let ONNX Runtime optimise, replace, and keep of the weights what the graph does not hold in the same form.

        A graph may well have nothing to replace: then kernels may be asked for that are not the usual ones.
        """
        from intarsia.backends.onnxruntime.kernels.asked import asked, bits_of

        with guard(CompileError, _NAME):
            kernels, given = asked(target), model.weights
            model = _rewritten(model, kernels)
            plain = serialised(model)
            replaced = partial(_replaced, model, kernels, bits_of(target))
            return offline_optimisation.compiled(plain, model, _saving_options(), replaced, given)

    def meta_type(self, meta: Mapping[str, Any]) -> JsonType:
        """What ONNX Runtime saved, and its borders with partitions of others."""
        from intarsia.backends.contract.metadata import EMBEDDING, SAVED

        return EMBEDDING if "partitions" in meta else SAVED

    def load(self, artifact: EngineArtifact, weights: Arrays, target: Target, settings: RunSettings) -> Executable:
        """A session with the native library that the artifact brings; it is built here if that one does not fit."""
        with guard(LoadError, _NAME):
            return offline_optimisation.loaded(artifact, weights, session_options(_values(target, settings)))

    def kernel_choices(self, graph: Graph, target: Target) -> Mapping[str, tuple[KernelChoice, ...]]:
        """Ours in tiles of each size, and ONNX Runtime's."""
        from intarsia.backends.onnxruntime.kernels import graph_rules
        from intarsia.backends.onnxruntime.kernels.asked import OPTION

        return {} if target[OPTION] else graph_rules.kernels(graph, library.block())

    def with_kernels(self, target: Target, kernels: Mapping[str, str]) -> Target:
        """By the option ``kernels``."""
        from intarsia.backends.onnxruntime.kernels.asked import asking

        return asking(target, kernels)

    def kernel_times(self, request: ProfileRequest) -> Sequence[Sequence[tuple[str, float]]]:
        """By ONNX Runtime's profiler."""
        from intarsia.backends.onnxruntime.profiler import kernel_times

        def opened(options: Any) -> Any:
            return offline_optimisation.opened(request.artifact, request.weights, options)[0]

        options = session_options(_values(request.target, request.settings))
        return kernel_times(opened, options, request.feeds, request.runs)

    def native(self, request: NativeRequest) -> NativeStep:
        """ONNX Runtime's session, with our operators registered."""
        return native_session(_values(request.target, request.settings), "disable", is_saved=True)

    def library_folder(self) -> Path | None:
        """ONNX Runtime's."""
        return OnnxRuntimeBackend().library_folder()

    def embedding(self, *, loading: bool = False) -> Embedding | None:
        """ONNX Runtime's, with ours put in where it computes itself."""
        from intarsia.backends.onnxruntime.embedding import embedding

        return embedding(replaces=True, loading=loading)

    def export(self, model: SubModel, target: Target, settings: RunSettings, folder: Path) -> tuple[Path, ...]:
        """``model.onnx`` with ``weights.bin``, the library to register, ``options.json``, and what loads them."""
        import json
        import shutil

        from intarsia.backends.onnxruntime.kernels.asked import asked, bits_of

        folder.mkdir(parents=True, exist_ok=True)
        with guard(CompileError, _NAME):
            kernels = asked(target)
            model = _rewritten(model, kernels)
            plain = serialised(model)
            content, _ = _replaced(
                model, kernels, bits_of(target), offline_optimisation.optimise(plain, model, _saving_options(), folder)
            )
            (folder / offline_optimisation.MODEL).write_bytes(content)
            shutil.copyfile(library.built(), folder / _LIBRARY)
        values = {"providers": PROVIDERS, "custom_ops_libraries": [_LIBRARY], **_values(target, settings)}
        (folder / "options.json").write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")
        loader = Path(offline_optimisation.__file__).with_name("loader.py")
        shutil.copyfile(loader, folder / _LOADER)
        written = (folder / name for name in (*_SAVED, _LIBRARY, "options.json", _LOADER))
        return tuple(path for path in written if path.exists())

    def _probe(self, lacking: Callable[[], library.Lack | None]) -> Availability:
        found = OnnxRuntimeBackend().probe()
        if not found.usable:
            return replace(found, fix=f"pip install 'intarsia[{self.extra}]'")
        lack = lacking()
        if lack is not None:
            return Availability(usable=False, reason=lack.reason, fix=lack.fix)
        return replace(found, version=f"{found.version}+{recipe.fingerprint()}.{library.block()}")


def _saving_options() -> Any:
    options = session_options(option_values("all", threads=1, spin=Spin.NEVER))
    options.register_custom_ops_library(str(library.built()))
    return options


def _rewritten(model: SubModel, kernels: Mapping[str, str]) -> SubModel:
    """The sub-graph with products merged and attention as our own operator, unless the host's kernels are asked for."""
    from intarsia.backends.onnxruntime.few_rows.cached_attention import with_cached_attention
    from intarsia.backends.onnxruntime.few_rows.merged_products import with_merged_products
    from intarsia.backends.onnxruntime.kernels import HOST

    usual = kernels.get(EVERY_NODE, "")
    merged = model if usual == HOST else with_merged_products(model)
    return with_cached_attention(merged, library.block(), lambda node: kernels.get(node, usual) != HOST)


def _replaced(model: SubModel, kernels: Mapping[str, str], bits: int, content: bytes) -> tuple[bytes, dict[str, Any]]:
    """The model with ours put in, and which layers these are."""
    from intarsia.backends.onnxruntime.substitution import original_of, substitute

    done = substitute(content, library.block(), original_of(model, kernels, bits))
    return done.content, {"kernels": [list(pair) for pair in done.kernels]}


def _values(target: Target, settings: RunSettings) -> dict[str, Any]:
    # The model is optimised already; done again, the passes would find nothing but take their time.
    values = option_values("disable", thread_count(target, settings), settings.spin)
    values["session_config"] |= fast_math(target)
    return values
