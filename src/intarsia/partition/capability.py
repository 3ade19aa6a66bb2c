"""What an engine accepts of a graph, and why not the rest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Capability:
    """The nodes an engine refuses, each with its reason; every other node it takes."""

    refusals: Mapping[str, str]

    def takes(self, node_id: str) -> bool:
        """Whether the engine accepts this node."""
        return node_id not in self.refusals
