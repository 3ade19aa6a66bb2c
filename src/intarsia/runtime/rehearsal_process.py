"""The process in which `rehearse` loads and runs an artifact that may end it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from intarsia.errors import BackendError
from intarsia.runtime.artifact.artifact import Artifact
from intarsia.runtime.artifact.known import digest_of
from intarsia.runtime.artifact.trust import Trust
from intarsia.runtime.executors.drawn_feeds import random_feeds
from intarsia.runtime.model import CompiledModel
from intarsia.runtime.rehearsal import FAILED, MARK

_RUNS = 3


def main() -> None:
    """Load the artifact that is named and run it, for the parent."""
    answer = os.dup(1)  # engines print to the descriptor
    os.dup2(2, 1)
    os.write(answer, f"{MARK}{_run(Path(sys.argv[1]), allow=sys.argv[2:])}".encode())


def _run(path: Path, allow: Sequence[str]) -> str:
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
            list(model.stream([feeds]) if model.plan.has_pipeline else ())
        model.close()  # memory that was spoilt is often noticed when it is given back
    except Exception as error:
        engine, detail = (error.backend, error.detail) if isinstance(error, BackendError) else (None, str(error))
        return FAILED + json.dumps([type(error).__name__, engine, detail])
    return digest_of(artifact.content)
