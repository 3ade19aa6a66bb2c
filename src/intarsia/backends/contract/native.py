"""What an engine tells the runtime `cpp`, which has no Python: how a step is loaded, and what is stored for it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from intarsia.backends.contract.artifact import EngineArtifact
from intarsia.backends.contract.slots import Arrays
from intarsia.light_dataclass import dataclass

if TYPE_CHECKING:
    from intarsia.config.settings import RunSettings
    from intarsia.target import Target


class NativeFiles(ABC):
    """Where a step's files for the runtime `cpp` are put: into the artifact, next to what Python reads."""

    @abstractmethod
    def add(self, name: str, content: bytes) -> int:
        """Store a file under a name that is unlike the step's others; the offset in the artifact at which it starts."""

    @abstractmethod
    def entry(self, name: str) -> str:
        """The entry of the artifact that a file of this name is."""

    @abstractmethod
    def weight(self, name: str) -> int | None:
        """The offset in the artifact at which a weight starts that the step reads.

        ``None`` of one that starts at no multiple of 64 bytes, so that no array can lie over it.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class NativeRequest:
    """A step that is to be loaded without Python: what its engine compiled, and with which weights and settings.

    ``weights`` holds at least those that the artifact names.
    """

    artifact: EngineArtifact
    weights: Arrays
    target: Target
    settings: RunSettings
    files: NativeFiles


NativeStep = Mapping[str, Any]
"""JSON-able facts for the loader in C++: which one it is (``loader``), and the options that it sets."""
