"""The first load of an artifact from elsewhere: in a process of its own, which may die.

What an engine compiled is read by the engine's own parser, in C++, and some of them cannot survive a file that was made
to break them. So a file that is not known (`intarsia.runtime.artifact.known`) is loaded there and run once; if that
process ends well the file is known from then on, and is loaded here.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from intarsia import errors
from intarsia.errors import ArtifactError, BackendError, IntarsiaError
from intarsia.runtime.artifact.known import digest_of, known_digest, remember

if TYPE_CHECKING:
    from intarsia.runtime.artifact.artifact import Artifact
    from intarsia.runtime.artifact.trust import Trust

LIMIT_S = 60.0
"""Seconds that it may take, for a small file."""
BYTES_PER_S = 2**20
"""Each such part of the file may take one second more: to be built anew for this machine, at worst."""
_LAST_WORDS = 400
_MARK = "\x00"
"""Before what is told to the parent: the digest of what was loaded and run, or that it failed."""
_FAILED = "failed "
_RUNS = 3
_PROGRAM = "from intarsia.runtime.rehearsal import main; main()"


def rehearse(artifact: Artifact) -> None:
    """Make sure that an artifact can be loaded in this process, unless it is known.

    Raises:
        ArtifactError: It may not be loaded, ends the process that loads it, or its manifest and its graph do not agree.
        IntarsiaError: What the other process met: a file that an engine refuses there may end this process.
    """
    artifact.check_code()
    path, content = artifact.path, artifact.content
    if known_digest(path, content) is not None:
        return
    artifact.check_graph()
    process = _played(path, artifact.trust, LIMIT_S + len(content) / BYTES_PER_S)
    if process is None:
        raise ArtifactError(f"{path}: engines do not finish loading it; it is damaged, or was made to break them")
    _, mark, told = process.stdout.decode(errors="replace").rpartition(_MARK)
    if not mark or process.returncode:
        raise ArtifactError(f"{path}: {_end(process)} when this is loaded; it is damaged, or was made to break engines")
    if told.startswith(_FAILED):
        raise _error(path, *json.loads(told.removeprefix(_FAILED)))
    digest = digest_of(content)
    if told != digest:
        raise ArtifactError(f"{path}: it was changed while it was looked at; load it again")
    remember(path, digest)


def _error(path: Path, kind: str, engine: str | None, detail: str) -> IntarsiaError:
    """An error that the other process met, as it was there."""
    found: type[IntarsiaError] | None = getattr(errors, kind, None)
    if found is None:  # what no guard caught
        return ArtifactError(f"{path}: it cannot be loaded: {kind}: {detail}")
    return found(engine or "", detail) if issubclass(found, BackendError) else found(detail)


def _played(path: Path, trust: Trust, limit_s: float) -> subprocess.CompletedProcess[bytes] | None:
    """How the process ended; ``None`` if it did not."""
    if not sys.executable:
        raise ArtifactError(f"{path}: it is not from here, and there is no Python to load it in another process first")
    paths = [str(Path(__file__).parents[2]), *filter(None, sys.path)]
    try:
        return subprocess.run(
            [sys.executable, "-P", "-c", _PROGRAM, str(path.absolute()), *trust.allow],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
            timeout=limit_s,
        )
    except subprocess.TimeoutExpired:
        return None
    except OSError as error:
        raise ArtifactError(f"{path}: it is not from here, and no process starts to load it first: {error}") from error


def _end(process: subprocess.CompletedProcess[bytes]) -> str:
    if process.returncode < 0:
        return f"an engine ends with {signal.Signals(-process.returncode).name}"
    words = process.stderr[-_LAST_WORDS:].decode(errors="replace").strip()
    return f"an engine ends its process with status {process.returncode}" + (f" ({words})" if words else "")


def main() -> None:
    """Load the artifact that is named and run it, for the parent."""
    answer = os.dup(1)  # engines print to the descriptor
    os.dup2(2, 1)
    told = _acted(Path(sys.argv[1]), allow=sys.argv[2:])
    os.write(answer, f"{_MARK}{told}".encode())


def _acted(path: Path, allow: Sequence[str]) -> str:
    import numpy as np

    from intarsia.runtime.artifact.artifact import Artifact
    from intarsia.runtime.artifact.trust import Trust
    from intarsia.runtime.executors.feeds import random_feeds
    from intarsia.runtime.model import CompiledModel

    try:
        artifact = Artifact(path, Trust.of(allow, trusted=True))
        model = CompiledModel(artifact)
        model.load()
        # Whole numbers of one: some engines end their process when they divide by zero. Its answer is not asked for.
        random = random_feeds(model.sample_inputs, 0)
        feeds = {name: np.ones_like(array) if array.dtype.kind in "iu" else array for name, array in random.items()}
        for _ in range(_RUNS):
            with suppress(Exception):
                model(feeds)
        with suppress(Exception):
            list(model.stream([feeds]) if model.plan.settings.pipeline else ())
        model.close()  # memory that was spoilt is often noticed when it is given back
    except BackendError as error:
        return _failure(error, error.backend, error.detail)
    except Exception as error:
        return _failure(error, None, str(error))
    return digest_of(artifact.content)


def _failure(error: Exception, engine: str | None, detail: str) -> str:
    return _FAILED + json.dumps([type(error).__name__, engine, detail])
