"""Device planning: which node runs on which device, what is copied where, and why two constraints cannot both hold.

It comes before partitioning, which respects it. Pure graph algebra: no engine and no ONNX library is needed here.
"""

from __future__ import annotations

from intarsia.devices.constraint import Constraint, Subject
from intarsia.devices.constraint_file import (
    MODEL_KEY,
    NODE_KEY,
    dump_constraints,
    model_constraints,
    parse_constraints,
    read_constraints,
)
from intarsia.devices.plan import Copy, DevicePlan, refusals, serves
from intarsia.devices.planner import plan_devices
from intarsia.devices.resolved_constraints import complete, resolve

__all__ = [
    "MODEL_KEY",
    "NODE_KEY",
    "Constraint",
    "Copy",
    "DevicePlan",
    "Subject",
    "complete",
    "dump_constraints",
    "model_constraints",
    "parse_constraints",
    "plan_devices",
    "read_constraints",
    "refusals",
    "resolve",
    "serves",
]
