"""What an engine tells of the time of its kernels, normalised to the nodes of the graph."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from intarsia.cost.timing.statistics import median
from intarsia.graph import Node

_JOINT = re.compile(r"[/_:\[]+[^/_:\[]*$")


def node_times(runs: Sequence[Sequence[tuple[str, float]]], nodes: Iterable[Node]) -> Mapping[str, float]:
    """Median milliseconds of each node that a kernel is named after, by its id.

    Engines name what they make of nodes after one of them, with something behind (``fc1/MatMulAddFusion``), or after
    all that it is made of (``fc1,fc1.relu``), or after the value that it yields (``conv1_output_0_nchwc``). What is
    named otherwise, such as a change of layout, goes to the kernel before it, or at the beginning to the first one
    behind it.

    Args:
        runs: Name and milliseconds of each kernel, in running order, for each run.
        nodes: Those of the graph. A name that is both a node's and a value's is the node's.
    """
    known = _names(nodes)
    sums = [_of_one_run(run, known) for run in runs]
    return {id_: median([each.get(id_, 0.0) for each in sums]) for id_ in sorted(set().union(*sums))}


def nodes_named(names: Iterable[str], nodes: Iterable[Node]) -> Mapping[str, str]:
    """By the id of a node the name that an engine gave to what it made of it; the other names are left out."""
    known = _names(nodes)
    return {node: name for name in names if (node := _node(name, known)) is not None}


def _names(nodes: Iterable[Node]) -> dict[str, str]:
    """The node of each name that engines may use."""
    listed = tuple(nodes)
    return {name: node.id for node in listed for name in node.outputs if name} | {node.id: node.id for node in listed}


def _of_one_run(run: Sequence[tuple[str, float]], known: Mapping[str, str]) -> dict[str, float]:
    found: dict[str, float] = {}
    nodes = [_node(name, known) for name, _ in run]
    here = next(filter(None, nodes), None)
    for node, (_, ms) in zip(nodes, run, strict=True):
        here = node or here
        if here is not None:
            found[here] = found.get(here, 0.0) + ms
    return found


def _node(name: str, known: Mapping[str, str]) -> str | None:
    """The first node that a kernel is named after."""
    return next((node for node in (_longest(each, known) for each in name.split(",")) if node is not None), None)


def _longest(name: str, known: Mapping[str, str]) -> str | None:
    """The node of the longest known name that a name begins with, up to a joint."""
    while name and name not in known:
        shorter = _JOINT.sub("", name)
        if shorter == name:
            return None
        name = shorter
    return known.get(name)
