"""A model compiled once and found again: artifacts in a folder, by everything that a compile depends on.

The interfaces of other libraries compile where their user only constructs something, so a second time must be fast.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import xxhash

from intarsia import __version__
from intarsia.backends import registry
from intarsia.config import CompilationConfig
from intarsia.driver import Strategy, compile
from intarsia.errors import ArtifactError, ConfigError
from intarsia.files import cache_folder
from intarsia.graph.bind import Shapes
from intarsia.graph.reading.interface import digest_of
from intarsia.runtime import Artifact, CompiledModel, this_machine, thread_budget
from intarsia.runtime.artifact.manifest import VERSION
from intarsia.runtime.artifact.trust import OWN, Trust

log = logging.getLogger(__name__)

BUDGET_S: Final = 20.0
"""Seconds that compiling may take where nobody says otherwise: a third of what `compile` takes."""
KEPT_BYTES: Final = 8 << 30
"""Together the artifacts in a folder are no larger; those that were not used for longest go first."""
_SUFFIX = ".intarsia"


def default_cache() -> Path:
    """The folder of artifacts in the user's cache folder, or in a temporary one where that cannot be written to."""
    return cache_folder() / "compiled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How a model is compiled. The names and meanings are those of `intarsia.compile`, but for the cache.

    Attributes:
        target: Any form of a configuration; every usable engine if left out.
        budget: Seconds that compiling may take.
        partition: How the model is divided.
        threads: Threads that compute at one time; what affinity and CPU quota allow if left out.
        shapes: Values or ranges of symbolic dimensions, and whole shapes by input.
        store: The record store; one in the user's cache folder if left out.
        seed: Of the inputs that are measured and checked with.
        custom_ops: Libraries of operators for ONNX Runtime.
        strict: Whether a model is refused that no engine could be shown to answer rightly.
        cache: The folder of artifacts; one in the user's cache folder if left out, none for ``False``.
    """

    target: Any = None
    budget: float = BUDGET_S
    partition: Strategy = "collage"
    threads: int | None = None
    shapes: Shapes | None = None
    store: str | os.PathLike[str] | None = None
    seed: int = 0
    custom_ops: tuple[str, ...] = ()
    strict: bool = False
    cache: str | os.PathLike[str] | bool | None = None

    @property
    def folder(self) -> Path | None:
        """Where artifacts are kept, if they are."""
        if self.cache is False:
            return None
        return default_cache() if self.cache is None or self.cache is True else Path(self.cache)


def compiled(source: str | os.PathLike[str] | bytes, settings: Settings) -> CompiledModel:
    """The model compiled, now or earlier: what was kept of the same model, settings, engines and machine is taken.

    Args:
        source: The path of an ONNX file, or its bytes.
        settings: Everything else that the result depends on.

    Raises:
        IntarsiaError: As `intarsia.compile`.
    """
    folder = settings.folder
    if folder is None:
        return _compile(source, settings)
    path = folder / f"{_key(source, settings)}{_SUFFIX}"
    found = _found(path, settings)
    if found is not None:
        return found
    with ExitStack() as held:
        model = held.enter_context(_compile(source, settings))
        if model.report.get("left_out"):  # what the machine kept from it, the next one may have
            held.pop_all()
            return model
        try:
            model.save(path)
        except OSError as error:
            told = f"{path}: a compiled model cannot be kept there ({error}); say cache=FOLDER, or cache=False for none"
            if settings.cache not in (None, True):
                raise ConfigError(told) from error
            log.warning("%s", told)
            held.pop_all()
            return model
    _remove_old(folder, path)
    return CompiledModel(Artifact(path, OWN))


def _compile(source: str | os.PathLike[str] | bytes, settings: Settings) -> CompiledModel:
    return compile(
        source,
        settings.target,
        partition=settings.partition,
        threads=settings.threads,
        budget=settings.budget,
        store=settings.store,
        shapes=settings.shapes,
        seed=settings.seed,
        custom_ops=settings.custom_ops,
        strict=settings.strict,
    )


def _key(source: str | os.PathLike[str] | bytes, settings: Settings) -> str:
    shapes: Mapping[str, Any] = settings.shapes or {}
    facts = {
        "format": VERSION,
        "intarsia": __version__,
        "model": digest_of(source),
        "target": None if settings.target is None else CompilationConfig.of(settings.target).json(),
        "engines": {name: registry.probe(name).version for name in registry.usable()},
        "machine": this_machine().fingerprint,
        "threads": thread_budget() if settings.threads is None else settings.threads,
        "budget": settings.budget,
        "partition": settings.partition,
        "shapes": {name: size if isinstance(size, int) else str(size) for name, size in shapes.items()},
        "seed": settings.seed,
        **({"strict": True} if settings.strict else {}),
        "custom_ops": [_file_digest(library) for library in settings.custom_ops],
    }
    return xxhash.xxh3_128_hexdigest(json.dumps(facts, sort_keys=True).encode())


def _file_digest(path: str) -> str:
    try:
        return xxhash.xxh3_128_hexdigest(Path(path).read_bytes())
    except OSError as error:
        raise ConfigError(f"the library of custom operators {path} cannot be read: {error.strerror}") from error


def _found(path: Path, settings: Settings) -> CompiledModel | None:
    """What was kept. It may run what this call names too; where signatures are asked for, it has none."""
    if not path.is_file():
        return None
    named = [] if settings.target is None else [each for _, each in CompilationConfig.of(settings.target).executed()]
    trust = Trust.of([*named, *(Path(library).resolve() for library in settings.custom_ops)])
    try:
        model = CompiledModel(Artifact(path, trust))
    except ArtifactError as error:
        log.warning("%s; compiled anew", error)
        return None
    os.utime(path)  # it was used just now
    return model


def _remove_old(folder: Path, newest: Path) -> None:
    """Remove what was not used for longest while there is too much."""
    kept = {path: path.stat() for path in folder.glob(f"*{_SUFFIX}")}
    total = sum(facts.st_size for facts in kept.values())
    for path in sorted(kept, key=lambda each: kept[each].st_mtime_ns):
        if total <= KEPT_BYTES or path == newest:
            return
        path.unlink(missing_ok=True)
        total -= kept[path].st_size
