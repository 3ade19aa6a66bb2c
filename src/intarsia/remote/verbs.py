"""`compile` for any machine: here, or on one that the configuration names."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any, Unpack

from intarsia import driver
from intarsia.config import CompilationConfig
from intarsia.config.drives import is_elsewhere
from intarsia.cost.worker.progress import Progress, Watcher, unwatched
from intarsia.driver.interruption import as_interrupted
from intarsia.driver.settings import CompileOptions, CompileSettings, settings_of
from intarsia.errors import Interrupted, SpecError
from intarsia.files import Scratch
from intarsia.graph.reading.interface import files_of
from intarsia.remote.model import RemoteModel
from intarsia.remote.reach import Place, place_of, reached
from intarsia.remote.settings_text import NOT_SENT, settings_text
from intarsia.runtime import Artifact, CompiledModel
from intarsia.runtime.artifact.trust import OWN


def compile(
    model: Any,
    target: Any = None,
    *,
    settings: CompileSettings | None = None,
    progress: Watcher = unwatched,
    began: float | None = None,
    **options: Unpack[CompileOptions],
) -> CompiledModel:
    """Find, by measuring, which engine should run which part of the model, and build it.

    Args:
        model: Path of an ONNX file, its bytes, or a loaded model.
        target: Anything `CompilationConfig.of` takes; the configuration that the model carries, else every usable
            engine, if left out. With the runtime ``rpc -address=HOST:PORT`` all of it happens on the machine of that
            worker, with ``ray -label=KEY=VALUE`` on that node of a cluster, and so does each call of the model.
        settings: How it is compiled.
        progress: Told of every step.
        began: When the budget began, by ``time.monotonic``; with the call if left out.
        **options: Settings as keywords, as ``budget=20, max_error=1e-2``; see `CompileSettings` for each. They take
            the place of the same ones in ``settings``.

    Returns:
        The model, verified against the reference; ``.report`` holds what was measured. Its graph carries the
        configuration and the constraints.

    Raises:
        InputError: The model, target, constraints, plan or a setting is wrong.
        MissingStageError: The machine was planned for, but nothing here compiles for it; the error holds the plan.
        BackendError: The plan that was asked for failed, or no engine can run the model.
        MismatchError: The plan that was asked for answers wrongly; with ``strict`` also if nothing could be shown to
            be right.
        DiskError: The disk of the record store, of temporary files or of the cache is full.
        MemoryLimitError: Every plan needs more than ``max_memory``; the error names the one that needs least.
        RemoteError: A worker on another machine cannot be reached, or does not do what it is asked.
        Interrupted: By Ctrl-C: a ``KeyboardInterrupt`` that holds the best plan so far, if there is one. A second one
            while that is built ends at once.
    """
    config = _stated(target)
    if config is None or not is_elsewhere(config.runtime):
        return driver.compile(model, target, settings=settings, progress=progress, began=began, **options)
    place = place_of(config.runtime)
    there = CompilationConfig.of({name: value for name, value in config.export().items() if name != "runtime"})
    return compile_on(place, model, there, settings=settings, progress=progress, **options)


def compile_on(
    place: Place,
    model: Any,
    target: Any = None,
    *,
    settings: CompileSettings | None = None,
    progress: Watcher = unwatched,
    **options: Unpack[CompileOptions],
) -> RemoteModel:
    """Compile a model elsewhere, as `compile` does here: the search runs there, with that machine's record store.

    The other arguments are those of `compile`; the settings ``store`` and ``custom_ops`` are refused.

    Returns:
        The model, which runs there; its artifact is here, and `save` keeps it.

    Raises:
        RemoteError: The machine cannot be reached, refuses, or does not come to an end.
        IntarsiaError: As `compile`, told from there.
    """
    for name in NOT_SENT:  # as the command line hands them on where they are not stated
        if not options.get(name, True):
            del options[name]  # type: ignore[misc]
    stated = settings_of("compile on a worker", settings, options, refused=NOT_SENT)
    text, form = settings_text(stated), "" if target is None else CompilationConfig.of(target).json()
    with ExitStack() as undo, as_interrupted():
        progress(Progress(stage="load"))
        files = files_of(model)
        worker = reached(place)
        undo.callback(worker.close)
        made = worker.compile(files, form, text, progress)
        scratch = Scratch()
        undo.callback(scratch.close)
        path = scratch.path / "there.intarsia"
        worker.fetch(made.digest, path)
        compiled = RemoteModel(Artifact(path, OWN), worker, made.digest, scratch.close)
        undo.pop_all()
        if made.is_interrupted:
            raise Interrupted(best=compiled)
        return compiled


def load_on(place: Place, path: Path) -> RemoteModel:
    """An artifact of this machine, loaded elsewhere; closing it leaves the file.

    Raises:
        ArtifactError: It is damaged, or was built for another machine than that one.
        RemoteError: The machine cannot be reached, or refuses.
    """
    artifact = Artifact(path, OWN)
    worker = reached(place)
    try:
        (digest,) = worker.upload([path])
        model = RemoteModel(artifact, worker, digest, lambda: None)
        model.load()
    except BaseException:
        worker.close()
        raise
    return model


def _stated(target: Any) -> CompilationConfig | None:
    """The configuration of a target; ``None`` where there is none, or where `driver.compile` says what is wrong."""
    if target is None:
        return None
    try:
        return CompilationConfig.of(target)
    except SpecError:
        return None
