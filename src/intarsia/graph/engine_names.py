"""Which node of a graph an engine means by the name that it gives to what it made of it.

Engines name what they make of nodes after one of them, with something behind (``fc1/MatMulAddFusion``), or after all
that it is made of (``fc1,fc1.relu``), or after the value that it yields (``conv1_output_0_nchwc``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from intarsia.graph.parts import Node

_JOINT = re.compile(r"[/_:\[]+[^/_:\[]*$")


def engine_names(nodes: Iterable[Node]) -> dict[str, str]:
    """The id of the node for each name that engines may use. A name that is a node's and a value's is the node's."""
    listed = tuple(nodes)
    return {name: node.id for node in listed for name in node.outputs if name} | {node.id: node.id for node in listed}


def node_of(name: str, known: Mapping[str, str]) -> str | None:
    """The first node that something is named after, as `engine_names` knows them; ``None`` if it is named otherwise."""
    return next((node for node in (_of_longest(each, known) for each in name.split(",")) if node is not None), None)


def _of_longest(name: str, known: Mapping[str, str]) -> str | None:
    """The node of the longest known name that a name begins with, up to a joint."""
    while name and name not in known:
        shorter = _JOINT.sub("", name)
        if shorter == name:
            return None
        name = shorter
    return known.get(name)
