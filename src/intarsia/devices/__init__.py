"""Device planning: which node runs on which device, what is copied where, and why two constraints cannot both hold.

It comes before partitioning, which respects it. Pure graph algebra: no engine and no ONNX library is needed here. Each
name loads what it needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from intarsia.lazy import attributes_of

if TYPE_CHECKING:
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

__getattr__ = attributes_of(
    __name__,
    {
        "intarsia.devices.constraint": ("Constraint", "Subject"),
        "intarsia.devices.constraint_file": (
            "MODEL_KEY",
            "NODE_KEY",
            "dump_constraints",
            "model_constraints",
            "parse_constraints",
            "read_constraints",
        ),
        "intarsia.devices.plan": ("Copy", "DevicePlan", "refusals", "serves"),
        "intarsia.devices.planner": ("plan_devices",),
        "intarsia.devices.resolved_constraints": ("complete", "resolve"),
    },
)
