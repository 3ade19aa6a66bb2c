"""Seeded random tensors, each one a function of (network, seed, tensor name) alone, in any order of asking."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Draw:
    """The source of every number in one network."""

    network: str
    seed: int = 0

    def normal(self, tensor: str, shape: Sequence[int], *, mean: float = 0.0, std: float = 1.0) -> Floats:
        """Normally distributed numbers."""
        numbers = self._generator(tensor).standard_normal(tuple(shape), dtype=np.float32)
        numbers *= np.float32(std)
        numbers += np.float32(mean)
        return numbers

    def he(self, tensor: str, shape: Sequence[int], fan_in: int, *, gain: float = 1.0) -> Floats:
        """Weights that keep E[x²] through a layer behind a Relu (He et al., 2015)."""
        return self.normal(tensor, shape, std=gain * float(np.sqrt(2.0 / fan_in)))

    def uniform(self, tensor: str, shape: Sequence[int], low: float, high: float) -> Floats:
        """Evenly distributed numbers in [low, high)."""
        return self._generator(tensor).uniform(low, high, tuple(shape)).astype(np.float32)

    def _generator(self, tensor: str) -> np.random.Generator:
        return np.random.default_rng([self.seed, crc32(f"{self.network}/{tensor}".encode())])
