"""Options of engines that a run reads: bare data, without the schema around it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TypeAlias

Choice: TypeAlias = tuple[str, tuple[str, ...], str]
"""Of one option: what it means, the legal words, and the default."""

_GRADES = ("normal", "high", "low")
_NONE: Mapping[str, Choice] = MappingProxyType({})

ENGINE_CHOICES: Mapping[str, Mapping[str, Choice]] = MappingProxyType(
    {
        "onnxruntime": {
            "optimization-level": ("which graph rewrites it may do", ("all", "extended", "basic", "disable"), "all"),
            "execution-mode": ("whether independent nodes run at once", ("sequential", "parallel"), "sequential"),
        },
        "openvino": {
            "performance-hint": ("what its scheduling aims at", ("latency", "throughput"), "latency"),
            "inference-precision": ("element type it computes in", ("f32", "bf16", "f16"), "f32"),
        },
        "mnn": {
            "precision": ("whether it may compute in less than float32", _GRADES, "high"),
            "memory": ("memory it trades for speed", _GRADES, "normal"),
            "power": ("which cores it prefers", _GRADES, "normal"),
        },
        "iree": {"opt-level": ("effort of its compiler", ("O0", "O1", "O2", "O3"), "O2")},
        "inductor": {"mode": ("what torch.compile aims at", ("default", "reduce-overhead", "max-autotune"), "default")},
        "litert": _NONE,
        "winograd": {"inference-precision": ("numbers that Winograd's kernels multiply", ("f32", "i16"), "f32")},
        "xla": _NONE,
    }
)
"""Engines by the name of their kind: those that run on the CPU, unless a target states a base or a device type."""
