"""ONNX Runtime with our own Winograd convolution as a custom operator inside its blocked layout, on its thread pool.

ONNX Runtime optimises the model; in what it saves, the convolutions that fit are replaced (`graph.substitute`), and the
native library (`native`) computes them. All else is ONNX Runtime's, and so are the rules of refusal.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from intarsia.backends import onnxruntime as host
from intarsia.backends import onnxruntime_rules
from intarsia.backends.base import (
    Availability,
    Backend,
    EngineArtifact,
    Executable,
    Gap,
    GapReason,
    guard,
    thread_count,
)
from intarsia.backends.native import library
from intarsia.backends.node_facts import is_constant
from intarsia.config.settings import Spin
from intarsia.errors import CompileError, LoadError
from intarsia.partition.capability import Capability

if TYPE_CHECKING:
    import numpy as np

    from intarsia.config.settings import RunSettings
    from intarsia.graph import Graph, Node, SubModel
    from intarsia.graph.substitute import Substituted
    from intarsia.target import Target

_NAME = "winograd"
_NOTHING = "no 3x3 stride-1 convolution to replace"
_MODEL, _WEIGHTS = "model.onnx", "weights.bin"
_LIBRARY = "libintarsia_winograd.so"
_ALIGNMENT = 64
_SAVING = {
    "session.optimized_model_external_initializers_file_name": _WEIGHTS,
    "session.optimized_model_external_initializers_min_size_in_bytes": str(host.SMALL_BYTES),
}


class WinogradBackend(Backend):
    """ONNX Runtime's session over a model that it optimised before, with our operator in it."""

    name = _NAME
    extra = _NAME
    licence = "Apache-2.0; ONNX Runtime: MIT"
    traits = host.OnnxRuntimeBackend.traits
    gaps: ClassVar[tuple[Gap, ...]] = (
        *host.OnnxRuntimeBackend.gaps,
        Gap(
            what="Conv[3x3, stride 1, channels that are no multiple of the block]",
            why=GapReason.NOT_IMPLEMENTED,
            evidence="ONNX Runtime's own kernel computes them, as all other convolutions",
        ),
    )

    def probe(self) -> Availability:
        """ONNX Runtime's answer, then what building the kernel needs; nothing is compiled.

        The version names both parts and the layout, so that an artifact is compiled anew where any of them differs.
        """
        found = host.OnnxRuntimeBackend().probe()
        if not found.usable:
            return replace(found, mend=f"pip install 'intarsia[{self.extra}]'")
        lack = library.lack()
        if lack is not None:
            return Availability(usable=False, reason=lack.reason, mend=lack.mend)
        return replace(found, version=f"{found.version}+{library.fingerprint()}.{library.block()}")

    def capability(self, graph: Graph, target: Target) -> Capability:
        """Nothing of a graph without a convolution to replace: there this engine is ONNX Runtime, timed twice."""
        if not any(_fits(node, graph) for node in graph.nodes):
            return Capability(refusals={node.id: _NOTHING for node in graph.nodes})
        return super().capability(graph, target)

    def refusal(self, node: Node, graph: Graph, target: Target) -> str | None:
        """As ONNX Runtime's."""
        return onnxruntime_rules.refusal(node, graph)

    def compile(self, model: SubModel, target: Target, settings: RunSettings) -> EngineArtifact:
        """Let ONNX Runtime optimise, replace, and keep of the weights what the graph does not hold in the same form.

        A piece of a graph may well have nothing to replace; a whole model must.
        """
        import numpy as np

        with guard(CompileError, _NAME), tempfile.TemporaryDirectory(prefix="intarsia-") as folder:
            plain = host.OnnxRuntimeBackend().compile(model, target, settings)
            done = _optimised(plain, model, Path(folder))
            if not done.replaced and len(model.nodes) == len(model.graph.nodes):
                raise CompileError(_NAME, _NOTHING)
            data = np.memmap(Path(folder) / _WEIGHTS, np.uint8, "r") if done.stored else np.empty(0, np.uint8)
            shared, rows, content = [], [], bytearray()
            for tensor in done.stored:
                raw = data[tensor.offset : tensor.offset + tensor.nbytes]
                if tensor.name in plain.weights and np.array_equal(raw, _bytes(model.weights[tensor.name].array())):
                    shared.append(tensor.name)
                    continue
                content += bytes(-len(content) % _ALIGNMENT)
                rows.append([tensor.name, tensor.dtype, list(tensor.shape), len(content)])
                content += raw.data
            del data
        return EngineArtifact(
            files={_MODEL: done.content, _WEIGHTS: bytes(content)},
            weights=tuple(shared),
            meta={**plain.meta, "block": library.block(), "weights": rows},
        )

    def load(
        self,
        artifact: EngineArtifact,
        weights: Mapping[str, np.ndarray],
        target: Target,
        settings: RunSettings,
    ) -> Executable:
        """A session with the native library, which is built now if it was not before."""
        with guard(LoadError, _NAME):
            if artifact.meta["block"] != library.block():
                raise LoadError(_NAME, f"compiled for blocks of {artifact.meta['block']} channels; compile it here")
            held = {name: weights[name] for name in artifact.weights} | _own_weights(artifact)
            options = host.session_options(_values(target, settings))
            options.register_custom_ops_library(str(library.built()))
            session = host.open_session(artifact.files[_MODEL], held, options)
        return host.Session(session, artifact.meta, tuple(held.values()))

    def export(self, model: SubModel, target: Target, settings: RunSettings, folder: Path) -> tuple[Path, ...]:
        """``model.onnx`` with ``weights.bin``, the library to register, and ``options.json`` with what else to set."""
        folder.mkdir(parents=True, exist_ok=True)
        with guard(CompileError, _NAME):
            plain = host.OnnxRuntimeBackend().compile(model, target, settings)
            done = _optimised(plain, model, folder)
            (folder / _MODEL).write_bytes(done.content)
            shutil.copyfile(library.built(), folder / _LIBRARY)
        values = {"providers": host.PROVIDERS, "custom_ops_library": _LIBRARY, **_values(target, settings)}
        (folder / "options.json").write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")
        written = (folder / name for name in (_MODEL, _WEIGHTS, _LIBRARY, "options.json"))
        return tuple(path for path in written if path.exists())


def _optimised(plain: EngineArtifact, model: SubModel, folder: Path) -> Substituted:
    """What ONNX Runtime makes of its own artifact, ours put in; large weights are in a file in ``folder``."""
    from intarsia.graph.substitute import substitute

    # One thread: the session is opened to be saved, and never runs.
    options = host.session_options(host.option_values("all", threads=1, spin=Spin.NEVER))
    options.optimized_model_filepath = str(folder / _MODEL)
    # Without weights outside there are types among them that only fit inside, or none worth a file.
    for key, value in _SAVING.items() if plain.weights else ():
        options.add_session_config_entry(key, value)
    held = {name: model.weights[name].array() for name in plain.weights}
    host.open_session(plain.files["model.onnx"], held, options)
    return substitute((folder / _MODEL).read_bytes(), library.block())


def _fits(node: Node, graph: Graph) -> bool:
    """Whether ONNX Runtime computes this node in its blocked layout, and we can instead."""
    from intarsia.graph.substitute import fits

    if node.op_type != "Conv" or node.domain not in {"", "ai.onnx"} or node.inputs[1] not in graph.weights:
        return False
    weight = graph.weights[node.inputs[1]]
    return (
        weight.dtype == "float32"
        and is_constant(node, graph, 2)
        and fits(weight.shape, node.attributes, library.block())
    )


def _values(target: Target, settings: RunSettings) -> dict[str, Any]:
    # The model is optimised already; done again, the passes would find nothing but take their time.
    return host.option_values("disable", thread_count(target, settings), settings.spin)


def _own_weights(artifact: EngineArtifact) -> dict[str, np.ndarray]:
    """Views of the weights that the artifact holds itself."""
    import ml_dtypes  # noqa: F401 - teaches numpy the names of the types it lacks
    import numpy as np

    return {
        name: np.frombuffer(artifact.files[_WEIGHTS], dtype, prod(shape), offset).reshape(shape)
        for name, dtype, shape, offset in artifact.meta["weights"]
    }


def _bytes(array: np.ndarray) -> np.ndarray:
    import numpy as np

    return array.reshape(-1).view(np.uint8)
