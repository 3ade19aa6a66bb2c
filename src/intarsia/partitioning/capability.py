"""What an engine accepts of a graph, and why not the rest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from intarsia.wording import counted


@dataclass(frozen=True, slots=True, kw_only=True)
class Capability:
    """The nodes an engine refuses, each with its reason; every other node it takes."""

    refusals: Mapping[str, str]

    def takes(self, node_id: str) -> bool:
        """Whether the engine accepts this node."""
        return node_id not in self.refusals


def refusal_text(refused: Mapping[str, str], asked: int) -> str:
    """Why some nodes are refused, the reason first.

    Args:
        refused: The reason of each, at least one.
        asked: How many nodes there are. A reason that all of them have is one of the whole.
    """
    node, reason = next(iter(refused.items()))
    if len(refused) == asked > 1 and len(set(refused.values())) == 1:
        return reason
    more = len(refused) - 1
    return f"{reason} ({node})" if not more else f"{reason} ({node} and {counted(more, 'more node')})"
