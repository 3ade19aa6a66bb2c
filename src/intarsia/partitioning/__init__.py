"""Partitioning: which nodes may go together, who takes which, and whether the result covers the graph in order.

Pure graph algebra: no engine, no clock and no ONNX library is needed here. Most names load what they need.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from intarsia.lazy import attributes_of
from intarsia.partitioning.greedy import greedy  # at once, as `segments`: else the name would be the module's
from intarsia.partitioning.segments import coarser, kernel_groups, segments

if TYPE_CHECKING:
    from intarsia.partitioning.capability import Capability, restrict, split_at_places
    from intarsia.partitioning.groups import fused_groups
    from intarsia.partitioning.intervals import Intervals
    from intarsia.partitioning.linear import cuts, linear_order
    from intarsia.partitioning.nested import divide, divided_inside, flattened, nested_capability
    from intarsia.partitioning.partitioning import BodyPlan, Inside, Partition, Partitioning, with_precision
    from intarsia.partitioning.plan_file import PlanFile, dump_plan, parse_bodies, parse_plan
    from intarsia.partitioning.plan_rows import bodies_by_node, bodies_text
    from intarsia.partitioning.region import boundaries

__all__ = [
    "BodyPlan",
    "Capability",
    "Inside",
    "Intervals",
    "Partition",
    "Partitioning",
    "PlanFile",
    "bodies_by_node",
    "bodies_text",
    "boundaries",
    "coarser",
    "cuts",
    "divide",
    "divided_inside",
    "dump_plan",
    "flattened",
    "fused_groups",
    "greedy",
    "kernel_groups",
    "linear_order",
    "nested_capability",
    "parse_bodies",
    "parse_plan",
    "restrict",
    "segments",
    "split_at_places",
    "with_precision",
]

__getattr__ = attributes_of(
    __name__,
    {
        "intarsia.partitioning.capability": ("Capability", "restrict", "split_at_places"),
        "intarsia.partitioning.groups": ("fused_groups",),
        "intarsia.partitioning.intervals": ("Intervals",),
        "intarsia.partitioning.linear": ("cuts", "linear_order"),
        "intarsia.partitioning.nested": ("divide", "divided_inside", "flattened", "nested_capability"),
        "intarsia.partitioning.partitioning": ("BodyPlan", "Inside", "Partition", "Partitioning", "with_precision"),
        "intarsia.partitioning.plan_file": ("PlanFile", "dump_plan", "parse_bodies", "parse_plan"),
        "intarsia.partitioning.plan_rows": ("bodies_by_node", "bodies_text"),
        "intarsia.partitioning.region": ("boundaries",),
    },
)
