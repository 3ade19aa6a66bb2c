"""Targets: what code is generated for or by. Describing one never probes the machine nor needs an engine installed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from intarsia.lazy import attributes_of

if TYPE_CHECKING:
    from intarsia.target.aliases import ALIASES
    from intarsia.target.dispatch import Dispatch
    from intarsia.target.explain import Origin, origins
    from intarsia.target.kinds.catalogue import KINDS
    from intarsia.target.kinds.declare import device_kind, engine_kind
    from intarsia.target.kinds.kind import DEVICE_TYPES, TargetKind
    from intarsia.target.kinds.registration import register_kind
    from intarsia.target.priority import (
        least_specialised,
        parse_targets,
        read_priority_list,
        resolve_base,
    )
    from intarsia.target.tagging import LEVELS, list_tags, load_tags, register_tag
    from intarsia.target.tags import TAGS
    from intarsia.target.target import Target, target_or_current
    from intarsia.target.virtual_device import VirtualDevice, VirtualDeviceOf

__all__ = [
    "ALIASES",
    "DEVICE_TYPES",
    "KINDS",
    "LEVELS",
    "TAGS",
    "Dispatch",
    "Origin",
    "Target",
    "TargetKind",
    "VirtualDevice",
    "VirtualDeviceOf",
    "device_kind",
    "engine_kind",
    "least_specialised",
    "list_tags",
    "load_tags",
    "origins",
    "parse_targets",
    "read_priority_list",
    "register_kind",
    "register_tag",
    "resolve_base",
    "target_or_current",
]

__getattr__ = attributes_of(
    __name__,
    {
        "intarsia.target.aliases": ("ALIASES",),
        "intarsia.target.dispatch": ("Dispatch",),
        "intarsia.target.explain": (
            "Origin",
            "origins",
        ),
        "intarsia.target.kinds.catalogue": ("KINDS",),
        "intarsia.target.kinds.declare": (
            "device_kind",
            "engine_kind",
        ),
        "intarsia.target.kinds.kind": (
            "DEVICE_TYPES",
            "TargetKind",
        ),
        "intarsia.target.kinds.registration": ("register_kind",),
        "intarsia.target.priority": (
            "least_specialised",
            "parse_targets",
            "read_priority_list",
            "resolve_base",
        ),
        "intarsia.target.tagging": (
            "LEVELS",
            "list_tags",
            "load_tags",
            "register_tag",
        ),
        "intarsia.target.tags": ("TAGS",),
        "intarsia.target.target": (
            "Target",
            "target_or_current",
        ),
        "intarsia.target.virtual_device": (
            "VirtualDevice",
            "VirtualDeviceOf",
        ),
    },
)
