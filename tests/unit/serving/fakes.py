"""Models that answer at once, or when they are told to."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

import numpy as np

from intarsia.serving.loaded import Loaded
from intarsia.serving.metadata import ModelMetadata, TensorMetadata
from intarsia.serving.steady import Model

X = TensorMetadata(name="x", datatype="FP32", shape=(2,))
TEXT = TensorMetadata(name="t", datatype="BYTES", shape=(-1,))
Y = TensorMetadata(name="y", datatype="FP32", shape=(2,))
Z = TensorMetadata(name="z", datatype="BYTES", shape=(-1,))
METADATA = ModelMetadata(name="m", version="1", inputs=(X, TEXT), outputs=(Y, Z))
ONE = ModelMetadata(name="m", version="1", inputs=(X,), outputs=(Y,))


class Gated:
    """Answers once its gate is open, and remembers how many calls were inside at one time."""

    def __init__(self, *, is_open: bool = True) -> None:
        self.gate = threading.Event()
        self.entered = threading.Semaphore(0)
        self.calls = 0
        if is_open:
            self.gate.set()

    def __call__(self, feeds: Mapping[str, np.ndarray], /) -> dict[str, np.ndarray]:
        self.entered.release()
        assert self.gate.wait(120)
        self.calls += 1
        return {"y": feeds["x"] + 1}


def loaded(*instances: Model, version: str = "1", closed: list[str] | None = None, batch: int = 1) -> Loaded:
    """A version whose end is noted in ``closed``."""
    noted: Any = [] if closed is None else closed
    metadata = ModelMetadata(name="m", version=version, inputs=(X,), outputs=(Y,))
    return Loaded(metadata=metadata, instances=instances, facts={}, close=lambda: noted.append(version), batch=batch)
