"""`register_engine`: engines that are added while a program runs. Those of a package come by its entry points."""

from __future__ import annotations

import sys
from pathlib import Path

from intarsia import registered
from intarsia.backends import registry
from intarsia.backends.contract import Backend
from intarsia.errors import ConfigError
from intarsia.target import KINDS
from intarsia.target.kinds.kind import TargetKind


def register_engine(engine: type[Backend]) -> None:
    """Let an engine of the running program take part, as if a package brought it.

    Processes that measure start anew and import the class by its name. So it stands in a module of its own, at the top
    level, and with it the kind of its name that `intarsia.target.engine_kind` made. Registering it again changes
    nothing.

    Args:
        engine: The class.

    Raises:
        ConfigError: It is no engine, another process could not import it, its kind does not stand beside it, or the
            name is taken.
    """
    if not (isinstance(engine, type) and issubclass(engine, Backend)):
        raise ConfigError(f"{engine!r} is no engine: derive a class from intarsia.backends.contract.Backend")
    name = getattr(engine, "name", None)
    if not isinstance(name, str):
        raise ConfigError(f"{engine.__qualname__} has no name; state name = … as its kind is called")
    module = sys.modules[engine.__module__]
    if engine.__module__ == "__main__" or getattr(module, engine.__qualname__, None) is not engine:
        raise ConfigError(
            f"{engine.__qualname__} is in {engine.__module__}, where processes that measure cannot import it; move it "
            "to the top level of a module of its own, and import it from there"
        )
    kinds = (key for key, each in vars(module).items() if isinstance(each, TargetKind) and each.name == name)
    kind = next(kinds, None)
    if kind is None:
        raise ConfigError(
            f"{engine.__module__} holds no kind {name!r}: beside the class write "
            f"KIND = intarsia.target.engine_kind({name!r}, …)"
        )
    _refuse_taken(name, engine)
    path = Path(getattr(module, "__file__", None) or ".").resolve()
    above = engine.__module__.count(".") + (path.stem == "__init__")
    registered.add(
        registered.Registered(
            name=name,
            engine=f"{engine.__module__}:{engine.__qualname__}",
            kind=f"{engine.__module__}:{kind}",
            folder=str(path.parents[above]),
        )
    )
    KINDS.register(name, getattr(module, kind), override=True)
    registry.refresh()


def _refuse_taken(name: str, engine: type[Backend]) -> None:
    here = registered.named(name)
    own = f"{engine.__module__}:{engine.__qualname__}"
    if here is not None and here.engine != own:
        raise ConfigError(f"the engine {name!r} is registered already, by {here.engine}")
    if here is None and (name in registry.names() or name in KINDS):
        raise ConfigError(f"the name {name!r} is taken by another engine or kind; choose another one")
