"""Partitions as plan files, reports and the nodes of a graph state them: plain rows, and their text."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from intarsia.config.precision import Precision, Scheme
from intarsia.partitioning.partitioning import BodyPlan, Inside, Partition


def partition_rows(partition: Partition, devices: Mapping[str, str] | None = None) -> dict[str, Any]:
    """A partition as JSON-able rows; ``devices`` has the device of each node by id, where they were planned."""
    inside = partition.inside
    return {
        "target": str(partition.target),
        **({} if devices is None else {"device": devices[partition.nodes[0]]}),
        "nodes": list(partition.nodes),
        **({} if partition.precision is None else {"precision": precision_rows(partition.precision)}),
        **({} if inside is None else {"inside": inside_rows(inside)}),
        **({"bodies": body_rows(partition.bodies)} if partition.bodies else {}),
    }


def inside_rows(inside: Inside) -> dict[str, Any]:
    """How a nested configuration runs a partition as JSON-able rows."""
    return {
        **({} if inside.threads is None else {"threads": inside.threads}),
        **({"parallel": True} if inside.parallel else {}),
        **({} if inside.pipeline is None else {"pipeline": inside.pipeline.facts()}),
        "partitions": [partition_rows(partition) for partition in inside.partitions],
    }


def body_rows(bodies: Iterable[BodyPlan]) -> list[dict[str, Any]]:
    """How bodies run as JSON-able rows."""
    return [
        {
            "node": plan.node,
            "body": plan.body,
            **({"embed": True} if plan.embed else {}),
            **({"parallel": True} if plan.parallel else {}),
            "partitions": [partition_rows(partition) for partition in plan.partitions],
        }
        for plan in bodies
    ]


def bodies_text(bodies: Sequence[BodyPlan]) -> str:
    """The plans of one node's bodies as one line; equal plans have equal text."""
    return json.dumps(body_rows(sorted(bodies, key=lambda plan: plan.body)), sort_keys=True)


def bodies_by_node(bodies: Iterable[BodyPlan]) -> Mapping[str, str]:
    """For each node the text of its plans."""
    found: dict[str, list[BodyPlan]] = {}
    for plan in bodies:
        found.setdefault(plan.node, []).append(plan)
    return {node: bodies_text(plans) for node, plans in found.items()}


def precision_rows(precision: Precision) -> dict[str, Any]:
    """A precision as JSON-able rows: node ids by scheme, and ranges and means by value."""
    schemes = {scheme.value: list(nodes) for scheme in Scheme if (nodes := precision.nodes(scheme))}
    ranges = {name: list(span) for name, span in precision.ranges}
    calibrated = {"ranges": ranges, "means": dict(precision.means)}
    return {**schemes, **{name: values for name, values in calibrated.items() if values}}
