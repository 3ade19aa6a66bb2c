"""Targets: what code is generated for or by. Describing one never probes the machine nor needs an engine installed."""

from __future__ import annotations

from intarsia.target.kinds import DEVICE_TYPES, KINDS, TargetKind, engine_kind
from intarsia.target.priority import PriorityList, one_host, parse_targets, read_priority_list
from intarsia.target.target import TAGS, Target, register_tag

__all__ = [
    "DEVICE_TYPES",
    "KINDS",
    "TAGS",
    "PriorityList",
    "Target",
    "TargetKind",
    "engine_kind",
    "one_host",
    "parse_targets",
    "read_priority_list",
    "register_tag",
]
