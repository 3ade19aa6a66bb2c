"""Partitioning: which nodes may go together, who takes which, and whether the result covers the graph in order.

Pure graph algebra: no engine, no clock and no ONNX library is needed here.
"""

from __future__ import annotations

from intarsia.partitioning.capability import Capability
from intarsia.partitioning.greedy import greedy
from intarsia.partitioning.groups import fused_groups, indivisible
from intarsia.partitioning.intervals import Intervals
from intarsia.partitioning.linear import Cut, cuts, linear_order
from intarsia.partitioning.nested import Divided, divide, nested_capability
from intarsia.partitioning.partitioning import Partition, Partitioning, merge_adjacent, with_precision
from intarsia.partitioning.plan_file import PlanFile, dump_plan, parse_plan
from intarsia.partitioning.region import Boundary, boundaries, is_convex, maximal_regions
from intarsia.partitioning.restrict import restrict, split_at_places
from intarsia.partitioning.segments import character, coarser, segments

__all__ = [
    "Boundary",
    "Capability",
    "Cut",
    "Divided",
    "Intervals",
    "Partition",
    "Partitioning",
    "PlanFile",
    "boundaries",
    "character",
    "coarser",
    "cuts",
    "divide",
    "dump_plan",
    "fused_groups",
    "greedy",
    "indivisible",
    "is_convex",
    "linear_order",
    "maximal_regions",
    "merge_adjacent",
    "nested_capability",
    "parse_plan",
    "restrict",
    "segments",
    "split_at_places",
    "with_precision",
]
