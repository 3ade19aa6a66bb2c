"""`Runtime`: what loads and runs the compiled model."""

from __future__ import annotations

from intarsia.config.driver_spec import Drive, elsewhere
from intarsia.spec import Bool, Kind, Level, Option, Registry, Str, schema
from intarsia.target import LEVELS, TAGS

_SYSTEM_LIB = Option(name="system-lib", type=Bool(), meaning="link the operators into one library found by their names")

RUNTIMES: Registry[Kind] = Registry(
    "runtime",
    {
        kind.name: kind
        for kind in (
            Kind(name="python", meaning="this package, in a Python process", options=schema()),
            Kind(name="cpp", meaning="a C++ process with an operating system", options=schema((_SYSTEM_LIB,))),
            Kind(name="crt", meaning="bare-metal C, without an operating system", options=schema((_SYSTEM_LIB,))),
            Kind(
                name="rpc",
                meaning="a worker on another machine",
                options=schema((Option(name="address", type=Str(), meaning="where it listens, as HOST:PORT"),)),
            ),
        )
    },
)
"""Every runtime that can be described, by name."""


class Runtime(Drive):
    """What loads and runs the compiled model.

    Example:
        >>> runtime = Runtime("crt", {"system-lib": True})
        >>> str(runtime), runtime == Runtime("crt -system-lib")
        ('crt -system-lib=true', True)
    """

    __slots__ = ()

    @classmethod
    def level(cls) -> Level:
        """The level of the spec language whose values these are."""
        return LEVEL


LEVEL = Level(name="runtime", type=Runtime, kinds=RUNTIMES, tags=TAGS, elsewhere=elsewhere(RUNTIMES, {}))
"""The level of the spec language whose values are runtimes."""

LEVELS.register(LEVEL.name, Runtime)
