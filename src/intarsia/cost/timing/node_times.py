"""What an engine tells of the time of its kernels, normalised to the nodes of the graph."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from intarsia.cost.timing.statistics import median
from intarsia.graph.engine_names import engine_names, node_of

if TYPE_CHECKING:
    from intarsia.graph import Node


def node_times(runs: Sequence[Sequence[tuple[str, float]]], nodes: Iterable[Node]) -> Mapping[str, float]:
    """Median milliseconds of each node that a kernel is named after, by its id.

    What is named after no node (`intarsia.graph.engine_names`), such as a change of layout, goes to the kernel before
    it, or at the beginning to the first one behind it.

    Args:
        runs: Name and milliseconds of each kernel, in running order, for each run.
        nodes: Those of the graph.
    """
    known = engine_names(nodes)
    sums = [_of_one_run(run, known) for run in runs]
    return {id_: median([each.get(id_, 0.0) for each in sums]) for id_ in sorted(set().union(*sums))}


def nodes_named(names: Iterable[str], nodes: Iterable[Node]) -> Mapping[str, str]:
    """By the id of a node the name that an engine gave to what it made of it; the other names are left out."""
    known = engine_names(nodes)
    return {node: name for name in names if (node := node_of(name, known)) is not None}


def _of_one_run(run: Sequence[tuple[str, float]], known: Mapping[str, str]) -> dict[str, float]:
    found: dict[str, float] = {}
    nodes = [node_of(name, known) for name, _ in run]
    here = next(filter(None, nodes), None)
    for node, (_, ms) in zip(nodes, run, strict=True):
        here = node or here
        if here is not None:
            found[here] = found.get(here, 0.0) + ms
    return found
