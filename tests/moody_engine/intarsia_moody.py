"""The reference engine on a machine with moods: while the file that ``MOOD`` names is there, it fails as that says.

What it fails of is the machine's doing: the same engine works as soon as the file is gone.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import tempfile
import time
from pathlib import Path
from typing import ClassVar

from intarsia.backends.contract import EngineArtifact
from intarsia.backends.reference import ReferenceBackend
from intarsia.config import RunSettings
from intarsia.graph import SubModel
from intarsia.target import Target, engine_kind

MOODY = engine_kind("moody", "fails while its machine does")
WRITTEN = 1 << 20
ALLOCATED = 1 << 42
"""More than any address space limit of a test lets through."""


class MoodyBackend(ReferenceBackend):
    """Compiles as the reference does, in a good mood."""

    name: ClassVar[str] = "moody"
    extra: ClassVar[str] = "moody"

    def compile(self, model: SubModel, target: Target, settings: RunSettings) -> EngineArtifact:
        file = Path(os.environ["MOOD"])
        mood = file.read_text(encoding="utf-8") if file.exists() else ""
        if mood.endswith(" once"):
            file.unlink()
        match mood.removesuffix(" once"):
            case "full":
                resource.setrlimit(resource.RLIMIT_FSIZE, (WRITTEN // 2, resource.RLIM_INFINITY))
                with tempfile.TemporaryFile() as place:
                    place.write(b"\0" * WRITTEN)
            case "short of memory":
                bytearray(ALLOCATED)
            case "killed":
                _end_by(signal.SIGKILL)
            case "crashes":
                ctypes.string_at(0)
            case "hangs":
                time.sleep(3600)
        return super().compile(model, target, settings)


def _end_by(number: signal.Signals) -> None:
    """End this process, a worker, as the system does where memory is short."""
    getattr(ctypes.CDLL(None), "raise")(int(number))
