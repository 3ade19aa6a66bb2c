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
from pathlib import Path

from intarsia import errors
from intarsia.errors import ArtifactError, BackendError, BackendUnavailableError, IntarsiaError
from intarsia.extras import compiling
from intarsia.runtime.artifact.artifact import Artifact
from intarsia.runtime.artifact.known import digest_of, known_digest, remember
from intarsia.runtime.artifact.trust import Trust

LIMIT_S = 60.0
"""Seconds that it may take, for a small file."""
BYTES_PER_S = 2**20
"""Each such part of the file may take one second more: to be built anew for this machine, at worst."""
_LAST_WORDS = 400
MARK = "\x00"
"""Before the answer of the process: the digest of what was loaded and run, or `FAILED` and the error as JSON."""
FAILED = "failed "
_PROGRAM = "from intarsia.runtime.rehearsal_process import main; main()"


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
    _check_graph(artifact)
    process = _played(path, artifact.trust, LIMIT_S + len(content) / BYTES_PER_S)
    if process is None:
        raise ArtifactError(f"{path}: engines do not finish loading it; it is damaged, or was made to break them")
    _, mark, answer = process.stdout.decode(errors="replace").rpartition(MARK)
    if not mark or process.returncode:
        raise ArtifactError(f"{path}: {_end(process)} when this is loaded; it is damaged, or was made to break engines")
    if answer.startswith(FAILED):
        raise _error(path, *json.loads(answer.removeprefix(FAILED)))
    digest = digest_of(content)
    if answer != digest:
        raise ArtifactError(f"{path}: it was changed while it was looked at; load it again")
    remember(path, digest)


def _check_graph(artifact: Artifact) -> None:
    """Hold it against its graph, which takes what reads graphs."""
    what = f"{artifact.path}: it was not made here, and looking at it before it is loaded"
    try:
        with compiling(what):
            artifact.check_graph()
    except BackendUnavailableError as error:
        raise ArtifactError(
            f"{error}; or have it signed and say by whom (signed_by), or load it with trusted=True if you trust who "
            "made it"
        ) from None


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
