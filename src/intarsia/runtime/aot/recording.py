"""Inputs and outputs that an artifact keeps of its compile, for the test that is exported on request."""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np

from intarsia.codegen.exported.folder import Recorded

RECORDED = "recorded.npz"


def recorded_bytes(recorded: Recorded) -> bytes:
    """As `recorded_of` reads it."""
    arrays: dict[str, Any] = {
        **{f"input.{place}": array for place, array in enumerate(recorded.inputs.values())},
        **{f"output.{place}": array for place, array in enumerate(recorded.outputs.values())},
    }
    names = {
        "inputs": list(recorded.inputs),
        "outputs": list(recorded.outputs),
        "allowed": [recorded.allowed[name] for name in recorded.outputs],
    }
    arrays["names"] = np.frombuffer(json.dumps(names).encode(), np.uint8)
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def recorded_of(content: bytes) -> Recorded:
    """What `recorded_bytes` wrote."""
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        names = json.loads(arrays["names"].tobytes())
        return Recorded(
            inputs={name: arrays[f"input.{place}"] for place, name in enumerate(names["inputs"])},
            outputs={name: arrays[f"output.{place}"] for place, name in enumerate(names["outputs"])},
            allowed=dict(zip(names["outputs"], names["allowed"], strict=True)),
        )
