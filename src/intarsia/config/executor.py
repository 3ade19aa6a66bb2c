"""`Executor`: how the parts of a compiled model are driven, one after another."""

from __future__ import annotations

from intarsia.config.driver_spec import Drive, elsewhere
from intarsia.config.runtime import RUNTIMES
from intarsia.spec import Bool, Enum, Int, Kind, Level, Option, Registry, schema
from intarsia.target import LEVELS, TAGS


def _link_params(*, default: bool) -> Option:
    return Option(name="link-params", type=Bool(), default=default, meaning="put the weights into the generated code")


def _alignment(name: str, what: str) -> Option:
    return Option(name=name, type=Int(minimum=1), unit="bytes", meaning=f"alignment of {what}")


_AOT = (
    _link_params(default=True),
    Option(name="unpacked-api", type=Bool(), meaning="pass each argument by itself, not in one array"),
    Option(name="interface-api", type=Enum(("packed", "c")), meaning="how the entry point takes its arguments"),
    _alignment("workspace-byte-alignment", "what lies between layers"),
    _alignment("constant-byte-alignment", "weights"),
)
_PIPELINE = (
    Option(name="depth", type=Int(minimum=1), unit="requests", meaning="requests in flight at one time, at most"),
)

EXECUTORS: Registry[Kind] = Registry(
    "executor",
    {
        kind.name: kind
        for kind in (
            Kind(
                name="graph",
                meaning="steps in a fixed order, shapes known",
                options=schema((_link_params(default=False),)),
            ),
            Kind(name="vm", meaning="control flow and dynamic shapes", options=schema()),
            Kind(name="aot", meaning="compiled ahead of time: no interpreter", options=schema(_AOT)),
            Kind(
                name="pipeline", meaning="a stream of requests, each device on another one", options=schema(_PIPELINE)
            ),
            Kind(name="cuda-graph", meaning="recorded once as a CUDA graph, then replayed", options=schema()),
        )
    },
)
"""Every executor that can be described, by name."""


class Executor(Drive):
    """How a whole model is driven.

    Example:
        >>> executor = Executor("aot", {"interface-api": "c"})
        >>> executor["interface-api"], executor["link-params"], "unpacked-api" in executor
        ('c', True, False)
    """

    __slots__ = ()

    @classmethod
    def level(cls) -> Level:
        """The level of the spec language whose values these are."""
        return LEVEL


_ELSEWHERE = elsewhere(EXECUTORS, {"the runtime": RUNTIMES})
LEVEL = Level(name="executor", type=Executor, kinds=EXECUTORS, tags=TAGS, elsewhere=_ELSEWHERE)
"""The level of the spec language whose values are executors."""

LEVELS.register(LEVEL.name, Executor)
