"""Options that a target refuses because they belong elsewhere, each with the place where it goes."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_EXECUTOR = "how a whole model is driven belongs to the executor of a compilation configuration"
_RUNTIME = "what runs the compiled model belongs to the runtime of a compilation configuration"
_SEARCH = "how a plan is searched is a setting of compile(), not part of a machine"
_GREEDY = "it is an argument of intarsia.partitioning.greedy(), and compile() has no such setting"
ELSEWHERE: Mapping[str, str] = MappingProxyType(
    {
        "executor": _EXECUTOR,
        "link-params": _EXECUTOR,
        "unpacked-api": _EXECUTOR,
        "interface-api": _EXECUTOR,
        "workspace-byte-alignment": _EXECUTOR,
        "constant-byte-alignment": _EXECUTOR,
        "constants-byte-alignment": _EXECUTOR,
        "runtime": _RUNTIME,
        "system-lib": _RUNTIME,
        "partition": _SEARCH,
        "budget": _SEARCH,
        "seed": _SEARCH,
        "min-nodes": _GREEDY,
        "min-flops": _GREEDY,
        "spin": "what idle threads may do is a setting of the plan",
        "from_device": "probing is asked for by Target.from_device(), which writes out what it finds",
    }
)
"""Options that a target refuses, each with where it goes."""
