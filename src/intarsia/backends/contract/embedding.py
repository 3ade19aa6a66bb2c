"""The part of the contract for engines whose session can hold partitions of other engines."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from intarsia.backends.contract.artifact import EngineArtifact, Signature
from intarsia.backends.contract.executable import Executable

if TYPE_CHECKING:
    import numpy as np

    from intarsia.config.settings import RunSettings
    from intarsia.graph import SubModel
    from intarsia.target import Target


Visit = Callable[[int, Sequence[int], Sequence[int], Sequence[int]], None]
"""Runs a partition embedded in another engine: its number, the addresses of its inputs, those of its outputs, and
how many elements lie at each of both."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionBlocks:
    """Which borders of an embedded partition are handed over in blocks of channels.

    Attributes:
        size: Channels in a block.
        inputs: Positions among its inputs.
        outputs: Positions among its outputs.
    """

    size: int
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


class Embedding(ABC):
    """How an engine holds partitions of others inside its own session.

    Its layouts and fusions then reach from one of its parts to the next, and its threads serve the partitions.
    """

    @abstractmethod
    def compile(
        self,
        model: SubModel,
        partitions: Sequence[SubModel],
        able: Collection[int],
        target: Target,
        settings: RunSettings,
    ) -> EngineArtifact:
        """Compile the model with holes where the partitions are; `takes` has accepted each of them.

        ``able`` has the positions of partitions whose engines can read and write blocks (`Backend.follows_blocks`).
        """

    @abstractmethod
    def blocks(self, artifact: EngineArtifact) -> Sequence[PartitionBlocks]:
        """For each partition of what was compiled, which of its borders are handed over in blocks."""

    @abstractmethod
    def load(
        self,
        artifact: EngineArtifact,
        weights: Mapping[str, np.ndarray],
        target: Target,
        settings: RunSettings,
        visit: Visit,
    ) -> Executable:
        """Make it runnable; each run visits every partition once, on the thread that runs, one after the other."""

    @abstractmethod
    def takes(self, inputs: Sequence[Signature], outputs: Sequence[Signature]) -> bool:
        """Whether a partition with these borders can be embedded."""

    @abstractmethod
    def share_openmp(self, artifact: EngineArtifact, library: Path, libgomp: Path) -> None:
        """Have a library that is loaded run its OpenMP regions on the session's threads during a visit.

        ``artifact`` is what will be loaded as that session.
        """
