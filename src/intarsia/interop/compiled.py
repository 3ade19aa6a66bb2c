"""A folder of artifacts, each found again by everything that its compile depends on.

The interfaces of other libraries compile where their user only constructs something, so a second time must be fast.
"""

from __future__ import annotations

import json
import logging
import os
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import xxhash

from intarsia.backends import registry
from intarsia.config import CompilationConfig
from intarsia.devices import dump_constraints
from intarsia.driver.settings import CompileSettings
from intarsia.driver.verbs import compile
from intarsia.errors import ArtifactError, ConfigError
from intarsia.files import cache_folder
from intarsia.graph.reading.interface import digest_of
from intarsia.runtime import Artifact, CompiledModel, this_machine, thread_budget
from intarsia.runtime.artifact.manifest import VERSION
from intarsia.runtime.artifact.trust import OWN, Trust
from intarsia.version import __version__

log = logging.getLogger(__name__)

BUDGET_S: Final = 20.0
"""Seconds that compiling may take where nobody says otherwise: a third of what `compile` takes."""
KEPT_BYTES: Final = 8 << 30
"""Together the artifacts in a folder are no larger; those that were not used for longest go first."""
_SUFFIX = ".intarsia"


Cache = str | os.PathLike[str] | bool | None
"""The folder of artifacts; the one in the user's cache folder for ``None`` and ``True``, none for ``False``."""
DEFAULTS: Final = CompileSettings(budget=BUDGET_S)


def compiled(
    source: str | os.PathLike[str] | bytes, target: Any, settings: CompileSettings, cache: Cache = None
) -> CompiledModel:
    """Compile the model, or load what an earlier call kept for the same model, settings, engines and machine.

    The target and the errors are those of `intarsia.compile`.
    """
    if cache is False:
        return compile(source, target, settings=settings)
    folder = cache_folder() / "compiled" if cache in (None, True) else Path(str(cache))
    config = None if target is None else CompilationConfig.of(target)
    path = folder / f"{_key(source, config, settings)}{_SUFFIX}"
    found = _found(path, config, settings)
    if found is not None:
        return found
    with ExitStack() as held:
        model = held.enter_context(compile(source, config, settings=settings))
        if model.report.get("left_out"):  # an engine that failed for the machine's sake may work the next time
            held.pop_all()
            return model
        try:
            model.save(path)
        except OSError as error:
            why = f"{path}: a compiled model cannot be kept there ({error}); say cache=FOLDER, or cache=False for none"
            if cache not in (None, True):
                raise ConfigError(why) from error
            log.warning("%s", why)
            held.pop_all()
            return model
    _remove_old(folder, path)
    return CompiledModel(Artifact(path, OWN))


def _key(source: str | os.PathLike[str] | bytes, config: CompilationConfig | None, settings: CompileSettings) -> str:
    request = settings.request(source, config)
    facts = {
        "format": VERSION,
        "intarsia": __version__,
        "model": digest_of(source),
        "target": None if config is None else config.json(),
        "engines": {name: registry.probe(name).version for name in registry.usable()},
        "machine": this_machine().fingerprint,
        "threads": thread_budget() if settings.threads is None else settings.threads,
        "search": asdict(request.search),
        "shapes": {name: size if isinstance(size, int) else str(size) for name, size in (request.shapes or {}).items()},
        "constraints": dump_constraints(request.constraints),
        "plan": repr(request.plan),
        "strict_machine": request.strict_machine,
        "custom_ops": [_file_digest(library) for library in request.custom_ops],
    }
    return xxhash.xxh3_128_hexdigest(json.dumps(facts, sort_keys=True).encode())


def _file_digest(path: str) -> str:
    try:
        return xxhash.xxh3_128_hexdigest(Path(path).read_bytes())
    except OSError as error:
        raise ConfigError(f"the library of custom operators {path} cannot be read: {error.strerror}") from error


def _found(path: Path, config: CompilationConfig | None, settings: CompileSettings) -> CompiledModel | None:
    """What was kept. It may run what this call names too; where signatures are asked for, it has none."""
    if not path.is_file():
        return None
    named = [] if config is None else [each for _, each in config.executed()]
    trust = Trust.of([*named, *settings.custom_ops])
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
