"""The part of the contract for engines whose session can hold partitions of other engines."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

from intarsia.backends.contract.artifact import EngineArtifact, Signature
from intarsia.backends.contract.executable import Executable
from intarsia.backends.contract.slots import Arrays
from intarsia.light_dataclass import dataclass

if TYPE_CHECKING:
    from pathlib import Path

    from intarsia.config.settings import RunSettings
    from intarsia.graph import SubModel
    from intarsia.target import Target


Visit = Callable[[int, Sequence[int], Sequence[int], Sequence[int]], None]
"""Runs a partition embedded in another engine: its number, the addresses of its inputs, those of its outputs, and
how many elements lie at each of both."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionBlocks:
    """The positions of an embedded partition's inputs and outputs that are in blocks of ``size`` channels."""

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
        """Compiles the model with a placeholder for each partition; `takes` has accepted each of them.

        ``able`` has the positions of partitions whose engines can read and write blocks (`Backend.follows_blocks`).
        """

    @abstractmethod
    def blocks(self, artifact: EngineArtifact) -> Sequence[PartitionBlocks]:
        """For each partition, in order, which of its inputs and outputs are in blocks."""

    @abstractmethod
    def load(
        self, artifact: EngineArtifact, weights: Arrays, target: Target, settings: RunSettings, visit: Visit
    ) -> Executable:
        """Makes it runnable. Each run calls ``visit`` once for every partition, in order, on the thread that runs."""

    @abstractmethod
    def takes(self, inputs: Sequence[Signature], outputs: Sequence[Signature]) -> bool:
        """Whether a partition with these borders can be embedded."""

    @abstractmethod
    def share_openmp(self, artifact: EngineArtifact, library: Path, libgomp: Path) -> None:
        """Lets a loaded library run its OpenMP loops on the session's threads while a partition is visited.

        ``artifact`` is what will be loaded as that session.
        """
