"""Pieces of other engines inside one ONNX Runtime session, each as a custom operator that calls back.

The session keeps its blocked layout and its fusions from one of its parts to the next, converts only at the borders of
pieces, and lends them its threads (`native/openmp_pool.cpp`), so that nothing sleeps or spins on the way.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from intarsia.backends import onnxruntime as host
from intarsia.backends.base import (
    BoundCall,
    Embedding,
    EngineArtifact,
    Executable,
    Signature,
    Slot,
    Visit,
    guard,
)
from intarsia.backends.native import library
from intarsia.errors import LoadError

if TYPE_CHECKING:
    import numpy as np

    from intarsia.config.settings import RunSettings
    from intarsia.graph import SubModel
    from intarsia.target import Target

_NAME = "onnxruntime"
_CALLBACK = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_int64, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_void_p)
)


def embedding() -> Embedding | None:
    """The embedding, where the native library is there or can be built."""
    return None if library.lack() else OnnxRuntimeEmbedding()


class OnnxRuntimeEmbedding(Embedding):
    """Through the operator ``intarsia::Piece`` of the native library."""

    def takes(self, inputs: Sequence[Signature], outputs: Sequence[Signature]) -> bool:
        """Pieces with float borders of known shapes: all that the operator declares."""
        return bool(inputs) and all(v.dtype == "float32" and v.shape is not None for v in (*inputs, *outputs))

    def compile(
        self, model: SubModel, pieces: Sequence[SubModel], target: Target, settings: RunSettings
    ) -> EngineArtifact:
        """The model with a node for each piece, compiled as any other."""
        from intarsia.graph.holes import punched

        artifact = host.OnnxRuntimeBackend().compile(punched(model, pieces), target, settings)
        counts = [[len(piece.inputs), len(piece.outputs)] for piece in pieces]
        return EngineArtifact(files=artifact.files, weights=artifact.weights, meta={**artifact.meta, "pieces": counts})

    def load(
        self,
        artifact: EngineArtifact,
        weights: Mapping[str, np.ndarray],
        target: Target,
        settings: RunSettings,
        visit: Visit,
    ) -> Executable:
        """A session whose pieces call ``visit``."""
        with guard(LoadError, _NAME):
            calls = _Calls(visit, artifact.meta["pieces"])
            held = {name: weights[name] for name in artifact.weights}
            options = host.session_options(host.options_of(target, settings))
            options.register_custom_ops_library(str(library.built()))
            native = _native()
            native.intarsia_set_callback(calls.pointer)
            try:
                session = host.open_session(artifact.files["model.onnx"], held, options)
            finally:
                native.intarsia_set_callback(_CALLBACK())
        return _Host(host.Session(session, artifact.meta, tuple(held.values())), calls)

    def share_openmp(self, library: Path, libgomp: Path) -> None:
        """Where that cannot be done the library keeps the threads of its own: slower, as right."""
        _native().intarsia_share_openmp(bytes(library.resolve()), bytes(libgomp.resolve()))


class _Calls:
    """The callback of one session. An exception must not pass through C, so it is kept for whoever runs the session."""

    def __init__(self, visit: Visit, counts: Sequence[Sequence[int]]) -> None:
        self.failure: BaseException | None = None

        def call(piece: int, inputs: Any, outputs: Any) -> int:
            try:
                reads, writes = counts[piece]
                visit(piece, inputs[:reads], outputs[:writes])
            except BaseException as error:
                self.failure = error
                return 1
            return 0

        self.pointer = _CALLBACK(call)


class _Host(Executable):
    """A session, and the callback that must live as long."""

    def __init__(self, session: host.Session, calls: _Calls) -> None:
        self.inputs, self.outputs = session.inputs, session.outputs
        self._session = session
        self._calls = calls

    def bind(self, inputs: Mapping[str, np.ndarray | Slot], outputs: Mapping[str, np.ndarray | Slot]) -> BoundCall:
        """As the session does; what a piece raised is raised again as it was."""
        run, calls = self._session.bind(inputs, outputs), self._calls

        def call() -> None:
            try:
                run()
            except Exception:
                failure, calls.failure = calls.failure, None
                if failure is not None:
                    raise failure from None
                raise

        return call

    def close(self) -> None:
        """Drop the session."""
        self._session.close()


@cache
def _native() -> Any:
    native = ctypes.CDLL(str(library.built()))
    native.intarsia_set_callback.argtypes = [_CALLBACK]
    native.intarsia_set_callback.restype = None
    native.intarsia_share_openmp.argtypes = [ctypes.c_char_p, ctypes.c_char_p]
    return native
