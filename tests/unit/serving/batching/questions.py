"""Requests that are answered in batches, asked without a protocol."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

import numpy as np

from intarsia.serving.batching.asked import Asked
from intarsia.serving.metadata import ModelMetadata
from intarsia.serving.served import ServedModel
from intarsia.serving.statuses import RequestError

PATIENCE_S = 120.0


class Question(Asked):
    """Asks a model for ``x``, and waits for ``y``."""

    __slots__ = ("_feeds", "done", "refusal")

    def __init__(self, model: ServedModel, *feeds: np.ndarray, refusal: Exception | None = None) -> None:
        """Ask for ``x``, and for ``x1`` if there are two inputs; ``refusal`` is raised as it is decoded."""
        super().__init__(model.admit(), settle)
        self._feeds = {f"x{place or ''}": each for place, each in enumerate(feeds)}
        self.refusal = refusal
        self.done = threading.Event()

    def decode(self, metadata: ModelMetadata) -> tuple[Mapping[str, np.ndarray], Any]:
        if self.refusal is not None:
            raise self.refusal
        return self._feeds, None

    def encode(self, metadata: ModelMetadata, results: Mapping[str, np.ndarray]) -> tuple[str, list[Any]]:
        return metadata.version, results["y"].tolist()

    def answer(self) -> tuple[str, list[Any]]:
        """The version that answered, and what; or what it was refused with."""
        assert self.done.wait(PATIENCE_S)
        if self.error is not None:
            raise self.error
        found: tuple[str, list[Any]] = self.found
        return found

    def refused(self) -> RequestError:
        """What it was refused with."""
        assert self.done.wait(PATIENCE_S)
        assert self.error is not None
        return self.error


def settle(asked: list[Question]) -> None:
    """Let those that wait for these go on."""
    for each in asked:
        each.done.set()


def rows(*values: float) -> np.ndarray:
    """A row of two equal numbers for each value."""
    return np.repeat(np.array(values, np.float32)[:, None], 2, axis=1)
