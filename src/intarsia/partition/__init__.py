"""Partitioning: which nodes may go together, who takes which, and whether the result covers the graph in order.

Pure graph algebra: no engine, no clock and no ONNX library is needed here.
"""

from __future__ import annotations

from intarsia.partition.capability import Capability
from intarsia.partition.greedy import greedy
from intarsia.partition.groups import fused_groups, indivisible
from intarsia.partition.intervals import Intervals
from intarsia.partition.linear import Cut, cut_points, cuts, linear_order
from intarsia.partition.nested import Divided, divide, nested_capability
from intarsia.partition.partitioning import Partition, Partitioning, merge_adjacent, with_precision
from intarsia.partition.plan_file import PlanFile, dump_plan, parse_plan
from intarsia.partition.region import Boundary, boundaries, is_convex, maximal_regions
from intarsia.partition.restrict import restrict, split_at_places
from intarsia.partition.segments import character, coarser, segments

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
    "cut_points",
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
