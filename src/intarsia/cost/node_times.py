"""What an engine tells of the time of its kernels, put down to the nodes of the graph."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from intarsia.cost.statistics import median

_JOINT = re.compile(r"[/_:\[]+[^/_:\[]*$")


def node_times(runs: Sequence[Sequence[tuple[str, float]]], ids: Collection[str]) -> Mapping[str, float]:
    """Median milliseconds of each node that a kernel is named after.

    Engines name what they make of nodes after one of them, with something behind (``conv1_nchwc``,
    ``fc1/MatMulAddFusion``), or after all that it is made of (``fc1,fc1.relu``). What is named otherwise, such as a
    change of layout, goes to the kernel before it, or at the beginning to the first one behind it.

    Args:
        runs: Name and milliseconds of each kernel, in running order, for each run.
        ids: The nodes.
    """
    known = frozenset(ids)
    sums = [_of_one_run(run, known) for run in runs]
    return {
        id_: median([each.get(id_, 0.0) for each in sums]) for id_ in sorted({id_ for each in sums for id_ in each})
    }


def _of_one_run(run: Sequence[tuple[str, float]], ids: Collection[str]) -> dict[str, float]:
    found: dict[str, float] = {}
    nodes = [_node(name, ids) for name, _ in run]
    here = next(filter(None, nodes), None)
    for node, (_, ms) in zip(nodes, run, strict=True):
        here = node or here
        if here is not None:
            found[here] = found.get(here, 0.0) + ms
    return found


def _node(name: str, ids: Collection[str]) -> str | None:
    """The first node that a kernel is named after."""
    return next((node for node in (_longest(each, ids) for each in name.split(",")) if node is not None), None)


def _longest(name: str, ids: Collection[str]) -> str | None:
    """The longest id that a name begins with, up to a joint."""
    while name and name not in ids:
        shorter = _JOINT.sub("", name)
        if shorter == name:
            return None
        name = shorter
    return name or None
