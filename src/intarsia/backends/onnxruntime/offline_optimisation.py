"""Models that ONNX Runtime optimises when they are compiled, so that we can change what it made of them.

What it saves is rewritten, and of its weights the artifact keeps those that the graph does not hold in the same form.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from intarsia.backends.contract import Arrays, EngineArtifact
from intarsia.backends.native import bundled_library, library
from intarsia.backends.onnxruntime.session import SMALL_BYTES, Session, open_session
from intarsia.errors import LoadError

if TYPE_CHECKING:
    import numpy as np

    from intarsia.graph import SubModel

MODEL, WEIGHTS = "model.onnx", "weights.bin"
_ALIGNMENT = 64
_SAVING = {
    "session.optimized_model_external_initializers_file_name": WEIGHTS,
    "session.optimized_model_external_initializers_min_size_in_bytes": str(SMALL_BYTES),
}


def optimise(plain: EngineArtifact, model: SubModel, options: Any, folder: Path) -> bytes:
    """What ONNX Runtime makes of its own artifact of a model; large weights are in a file in ``folder``.

    Args:
        plain: From `OnnxRuntimeBackend.compile`.
        model: What it was compiled from.
        options: ``SessionOptions``, which this changes. The session is opened to be saved, and never runs.
        folder: Where `MODEL` and, unless all is in it, `WEIGHTS` are written.
    """
    options.optimized_model_filepath = str(folder / MODEL)
    # Without weights outside there are types among them that only fit inside, or none worth a file.
    for key, value in _SAVING.items() if plain.weights else ():
        options.add_session_config_entry(key, value)
    open_session(plain.files["model.onnx"], {name: model.weights[name].array() for name in plain.weights}, options)
    return (folder / MODEL).read_bytes()


def compiled(
    plain: EngineArtifact,
    model: SubModel,
    options: Any,
    rewrite: Callable[[bytes], tuple[bytes, Mapping[str, Any]]],
    given: Collection[str],
) -> EngineArtifact:
    """The optimised model as an artifact; the first three arguments as `optimise` takes them.

    Args:
        rewrite: Takes the optimised model, and answers with what is to be kept and facts for the artifact's ``meta``.
        given: Names of the weights that whoever loads the artifact has.
    """
    import numpy as np

    from intarsia.backends.onnxruntime.saved_model import stored_tensors
    from intarsia.files import scratch

    with scratch() as folder:
        content, facts = rewrite(optimise(plain, model, options, folder))
        stored = stored_tensors(content)
        data = np.memmap(folder / WEIGHTS, np.uint8, "r") if stored else np.empty(0, np.uint8)
        shared, rows, own = [], [], bytearray()
        for tensor in stored:
            raw = data[tensor.offset : tensor.offset + tensor.nbytes]
            is_given = tensor.name in plain.weights and tensor.name in given
            if is_given and np.array_equal(raw, _bytes(model.weights[tensor.name].array())):
                shared.append(tensor.name)
                continue
            own += bytes(-len(own) % _ALIGNMENT)
            rows.append([tensor.name, tensor.dtype, list(tensor.shape), len(own)])
            own += raw.data
        del data
    kernels, served = bundled_library.packed()
    return EngineArtifact(
        files={MODEL: content, WEIGHTS: bytes(own), bundled_library.FILE: kernels},
        weights=tuple(shared),
        meta={**plain.meta, **facts, "block": library.block(), "weights": rows, bundled_library.FACTS: served},
    )


def loaded(artifact: EngineArtifact, weights: Arrays, options: Any) -> Session:
    """A session over what `compiled` made, with the native library that came with it registered.

    Raises:
        LoadError: It was compiled on a machine with another layout, or with a library that does not serve this one.
    """
    session, held = opened(artifact, weights, options)
    return Session(session, artifact.meta, held)


def opened(artifact: EngineArtifact, weights: Arrays, options: Any) -> tuple[Any, tuple[np.ndarray, ...]]:
    """The bare session of `loaded`, and the arrays that must outlive it; raises the same."""
    if artifact.meta["block"] != library.block():
        raise LoadError("onnxruntime", f"compiled for blocks of {artifact.meta['block']} channels; compile it here")
    held = {name: weights[name] for name in artifact.weights} | _own_weights(artifact)
    options.register_custom_ops_library(str(bundled_library.opened(artifact)))
    return open_session(artifact.files[MODEL], held, options), tuple(held.values())


def _own_weights(artifact: EngineArtifact) -> dict[str, np.ndarray]:
    """Views of the weights that the artifact holds itself."""
    import numpy as np

    rows = artifact.meta["weights"]
    if any(not hasattr(np, dtype) for _, dtype, _, _ in rows):
        import ml_dtypes  # noqa: F401 - teaches numpy the names of the types it lacks
    return {name: artifact.array(WEIGHTS, dtype, shape, offset) for name, dtype, shape, offset in rows}


def _bytes(array: np.ndarray) -> np.ndarray:
    import numpy as np

    return array.reshape(-1).view(np.uint8)
