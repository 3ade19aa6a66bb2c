"""Partitions of other engines inside one ONNX Runtime session, each as a custom operator that calls back.

The session keeps its blocked layout and its fusions from one of its parts to the next, hands blocks over as they are to
partitions that can take them, and lends all its threads (`native/openmp_pool.cpp`), so that nothing sleeps or spins on
the way.
"""

from __future__ import annotations

import ctypes
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from intarsia.backends.contract import (
    Arrays,
    BoundCall,
    Embedding,
    EngineArtifact,
    Executable,
    PartitionBlocks,
    Places,
    Signature,
    Visit,
    guard,
    thread_count,
)
from intarsia.backends.native import bundled_library, library
from intarsia.backends.onnxruntime import offline_optimisation
from intarsia.backends.onnxruntime.session import Session, option_values, serialised, session_options
from intarsia.config.settings import Spin
from intarsia.errors import CompileError, LoadError

if TYPE_CHECKING:
    from intarsia.backends.onnxruntime.substitution import Original
    from intarsia.config.settings import RunSettings
    from intarsia.graph import SubModel
    from intarsia.target import Target

_NAME = "onnxruntime"
_CALLBACK = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.c_int64,
    ctypes.POINTER(ctypes.c_void_p),
    ctypes.POINTER(ctypes.c_void_p),
    ctypes.c_int64,
    ctypes.c_int64,
    ctypes.POINTER(ctypes.c_int64),
)
_SET_CALLBACK = "intarsia_set_sized_callback"


def embedding(*, replaces: bool = False, loading: bool = False) -> Embedding | None:
    """The embedding, where the native library is there, can be built, or comes with what is to be loaded (``loading``).

    With ``replaces`` the session's own convolutions are replaced, as those of the engine `winograd`.
    """
    lack = library.cpu_lack() if loading else library.lack()
    return None if lack else OnnxRuntimeEmbedding(replaces=replaces)


class OnnxRuntimeEmbedding(Embedding):
    """Through the operator ``intarsia::Partition`` of the native library."""

    def __init__(self, *, replaces: bool) -> None:
        self._replaces = replaces

    def takes(self, inputs: Sequence[Signature], outputs: Sequence[Signature]) -> bool:
        """Partitions with float borders of known shapes: all that the operator declares."""
        return bool(inputs) and all(v.dtype == "float32" and v.shape is not None for v in (*inputs, *outputs))

    def compile(
        self,
        model: SubModel,
        partitions: Sequence[SubModel],
        able: Collection[int],
        target: Target,
        settings: RunSettings,
    ) -> EngineArtifact:
        """The model with a node for each partition, optimised now, so that no blocks are unpacked for partitions."""
        from intarsia.backends.onnxruntime.kernels.asked import asked, bits_of
        from intarsia.backends.onnxruntime.substitution import original_of
        from intarsia.graph.placeholder_ops import punched

        with guard(CompileError, _NAME):
            holed = punched(model, partitions)
            plain = serialised(holed)
            # Only this level computes in blocks, and only those convolutions are replaced.
            kernels = asked(target) if self._replaces else {}
            level = "all" if self._replaces else target["optimization-level"]
            options = session_options(option_values(level, threads=1, spin=Spin.NEVER))
            path = library.built()
            options.register_custom_ops_library(str(path))
            with _called_by_new_kernels(path, _CALLBACK(_unexpected)):
                original = (
                    original_of(holed, kernels, bits_of(target)) if self._replaces else original_of(holed, kernels)
                )
                rewrite = partial(self._rewritten, able, original)
                artifact = offline_optimisation.compiled(plain, holed, options, rewrite, holed.weights)
        counts = [[len(partition.inputs), len(partition.outputs)] for partition in partitions]
        return replace(artifact, meta={**artifact.meta, "partitions": counts})

    def blocks(self, artifact: EngineArtifact) -> Sequence[PartitionBlocks]:
        """As they were found when it was compiled."""
        borders = artifact.meta["borders"]
        return [
            PartitionBlocks(size=artifact.meta["block"], inputs=tuple(reads), outputs=tuple(writes))
            for reads, writes in (
                borders.get(str(number), ((), ())) for number in range(len(artifact.meta["partitions"]))
            )
        ]

    def load(
        self, artifact: EngineArtifact, weights: Arrays, target: Target, settings: RunSettings, visit: Visit
    ) -> Executable:
        """A session whose partitions call ``visit``."""
        with guard(LoadError, _NAME):
            calls = _Calls(visit)
            mode = "sequential" if self._replaces else target["execution-mode"]
            values = option_values("disable", thread_count(target, settings), settings.spin, mode)
            with _called_by_new_kernels(bundled_library.opened(artifact), calls.pointer):
                session = offline_optimisation.loaded(artifact, weights, session_options(values))
        return _Host(session, calls)

    def _rewritten(self, able: Collection[int], original: Original, content: bytes) -> tuple[bytes, dict[str, Any]]:
        from intarsia.backends.onnxruntime.nchwc_boundaries import hand_over
        from intarsia.backends.onnxruntime.substitution import substitute

        done = hand_over(content, library.block(), able)
        rewritten = substitute(done.content, library.block(), original).content if self._replaces else done.content
        return rewritten, {"borders": {str(number): border for number, border in done.borders.items()}}

    def share_openmp(self, artifact: EngineArtifact, library: Path, libgomp: Path) -> None:
        """Where that cannot be done the library keeps the threads of its own: slower, as right."""
        with guard(LoadError, _NAME):
            native = _native(bundled_library.opened(artifact))
            native.intarsia_share_openmp(bytes(library.resolve()), bytes(libgomp.resolve()))


class _Calls:
    """The callback of one session. An exception must not pass through C, so it is kept for whoever runs the session."""

    def __init__(self, visit: Visit) -> None:
        self.failure: BaseException | None = None

        def call(partition: int, inputs: Any, outputs: Any, reads: int, writes: int, elements: Any) -> int:
            try:
                visit(partition, inputs[:reads], outputs[:writes], elements[: reads + writes])
            except BaseException as error:
                self.failure = error
                return 1
            return 0

        self.pointer = _CALLBACK(call)


class _Host(Executable):
    """A session, and the callback that must live as long."""

    def __init__(self, session: Session, calls: _Calls) -> None:
        self.inputs, self.outputs = session.inputs, session.outputs
        self._session = session
        self._calls = calls

    def bind(self, inputs: Places, outputs: Places) -> BoundCall:
        """As the session does; what a partition raised is raised again as it was."""
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


@contextmanager
def _called_by_new_kernels(path: Path, pointer: Any) -> Iterator[None]:
    """Kernels keep whom to call when they are made, which is while their session is opened."""
    native = _native(path)
    set_callback = getattr(native, _SET_CALLBACK)
    set_callback(pointer)
    try:
        yield
    finally:
        set_callback(_CALLBACK())


def _unexpected(partition: int, inputs: Any, outputs: Any, reads: int, writes: int, elements: Any) -> int:
    """The callback of a session that is only saved and never runs."""
    return 1


@cache
def _native(path: Path) -> Any:
    native = ctypes.CDLL(str(path))
    if not hasattr(native, _SET_CALLBACK):
        raise LoadError(_NAME, "the library that holds other engines is of an earlier Intarsia; compile the model anew")
    native.intarsia_set_sized_callback.argtypes = [_CALLBACK]
    native.intarsia_set_sized_callback.restype = None
    native.intarsia_share_openmp.argtypes = [ctypes.c_char_p, ctypes.c_char_p]
    return native
