"""Finds the engines: ours and those of plug-ins. Listing and probing them loads none.

To run what was compiled, one of ours is found by its name alone: neither the table of kinds nor the packages that are
installed are looked at, which takes as long as loading an engine.
"""

from __future__ import annotations

import os
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from intarsia.backends.contract import Availability, Backend
from intarsia.errors import BackendUnavailableError
from intarsia.light_dataclass import dataclass
from intarsia.registered import found, registered

if TYPE_CHECKING:
    from intarsia.target import Target

GROUP = "intarsia.backends"
"""Entry points of this group name a `Backend` class each; the entry point's name is the backend's."""

NESTED = "nested"
"""What stands for the engines of a nested configuration; it is none, so it is not among `names`."""
CONTROL_FLOW = "control-flow"
"""What stands for the engines inside control flow; it is none either."""
STANDING_IN = (NESTED, CONTROL_FLOW)

AWAY = "@"
"""Between the name of an engine and the path of the interpreter it lives in."""

FOLDER = os.path.dirname(__file__)
"""An engine of ours is a file or a folder in here that is called as its target kind is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where a backend's class is (``module:class``, or a module with one backend of that name), and who brings it.

    ``folder``: of a class that a program registered, where its module is found if nowhere else.
    """

    name: str
    reference: str
    owner: str
    folder: str | None = None


def names() -> tuple[str, ...]:
    """Every known engine, installed or not: ours in order of preference, then plug-ins by name."""
    return tuple(_sources())


def is_known(name: str) -> bool:
    """Whether there is a backend of that name, for an engine or for what stands for several."""
    return name in STANDING_IN or name in names()


def engine_of(target: Target) -> str:
    """The name of the engine that a target is of, with the interpreter it lives in where that is another."""
    python = target.options.get("python")
    return target.kind_name if python is None else f"{target.kind_name}{AWAY}{python}"


def of(target: Target, *, loading: bool = False) -> Backend:
    """The backend of an engine's target, as `get`."""
    return get(engine_of(target), loading=loading)


def get(name: str, *, loading: bool = False) -> Backend:
    """The backend of that name. The engine behind it may still be absent: see ``probe``.

    ``NAME@PYTHON`` is the engine as it is in the interpreter at that path.

    Args:
        loading: To run what was compiled before: one of ours is taken without a look at what else claims its name.

    Raises:
        BackendUnavailableError: There is no such backend, two packages claim the name, or a plug-in does not import.
    """
    kind, _, python = name.partition(AWAY)
    ours = _our_source(kind) if loading or kind in STANDING_IN else None
    backend = _made(_only_source(kind) if ours is None else ours)
    return _away(backend, name, python) if python else backend


@cache
def _away(backend: Backend, name: str, python: str) -> Backend:
    from intarsia.backends.isolation.backend import isolated  # which loads numpy; listing engines does not

    return isolated(backend, name, python)


def _only_source(name: str) -> Source:
    """Where the one backend of that name is; the error is that of `get` if there is none, or more."""
    sources = _sources().get(name)
    if sources is None:
        from difflib import get_close_matches

        near = get_close_matches(name, names(), n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(names())}"
        raise BackendUnavailableError(f"there is no engine {name!r}; {hint}")
    if len(sources) > 1:
        owners = " and ".join(source.owner for source in sources)
        raise BackendUnavailableError(f"the engine {name!r} is claimed by {owners}; uninstall all but one of them")
    return sources[0]


def unsupported_names() -> tuple[str, ...]:
    """The engine kinds that no backend drives: what is described with them is planned, and not compiled."""
    from intarsia.target.kinds.catalogue import ENGINES

    driven = _sources()
    return tuple(kind.name for kind in ENGINES if kind.name not in driven)


def probe(name: str) -> Availability:
    """Whether the engine is usable, or why not. Never raises, not even for a plug-in that does not import."""
    if name in unsupported_names():
        from intarsia.backends.operator_tables.unsupported import unsupported

        return unsupported(name)
    try:
        return get(name).probe()
    except BackendUnavailableError as error:
        return Availability(usable=False, reason=str(error))


def usable() -> tuple[str, ...]:
    """The engines that can be used here."""
    return tuple(name for name in names() if probe(name).usable)


def require(name: str, *, loading: bool = False) -> Availability:
    """What the engine's probe found, if it is usable; ``loading``: only to load what was compiled before.

    Raises:
        BackendUnavailableError: It is not usable; the message says why and what fixes it.
    """
    backend = get(name, loading=loading)
    found = backend.probe_loading() if loading else backend.probe()
    if not found.usable:
        fix = f"; {found.fix}" if found.fix else ""
        raise BackendUnavailableError(f"the engine {name!r} cannot be used here: {found.reason}{fix}")
    return found


def devices(name: str) -> tuple[str, ...]:
    """The devices of this machine that an engine runs on, as ``cpu`` and ``vulkan:0``."""
    return tuple(label for type_ in probe(name).devices for label in _labels(type_))


def refresh() -> None:
    """Look for engines and devices anew: packages were installed or removed since they were listed."""
    from intarsia.target.detect import devices_here

    _made.cache_clear()
    _away.cache_clear()
    devices_here.cache_clear()
    _plugins.cache_clear()


def _labels(device_type: str) -> tuple[str, ...]:
    from intarsia.target.detect import LOOKED_AT, devices_here

    if device_type == "cpu" or device_type not in LOOKED_AT:
        return (device_type,)
    return tuple(f"{device_type}:{index}" for index in range(len(devices_here(device_type))))


def _sources() -> dict[str, tuple[Source, ...]]:
    found: dict[str, tuple[Source, ...]] = {}
    for source in dict.fromkeys((*_ours(), *_plugins(), *_of_programs())):
        found[source.name] = (*found.get(source.name, ()), source)
    return found


@cache
def _ours() -> tuple[Source, ...]:
    from intarsia.target.kinds.catalogue import BACKED

    return tuple(source for kind in BACKED if (source := _our_source(kind.name)) is not None)


def _our_source(name: str) -> Source | None:
    """Where one of ours is, of the name of a target kind."""
    stem = name.replace("-", "_")
    module = _module_of(stem) if stem.isidentifier() else None
    return None if module is None else Source(name=name, reference=f"{__package__}.{module}", owner="intarsia")


def _module_of(stem: str) -> str | None:
    """The module of an engine of ours, below this package: a file, or a folder with a ``backend.py``."""
    if os.path.isfile(os.path.join(FOLDER, f"{stem}.py")):
        return stem
    return f"{stem}.backend" if os.path.isfile(os.path.join(FOLDER, stem, "backend.py")) else None


@cache
def _plugins() -> tuple[Source, ...]:
    from importlib import metadata  # slow to import

    points = metadata.entry_points(group=GROUP)
    plugins = [
        Source(name=point.name, reference=point.value, owner=point.dist.name if point.dist else "an unnamed package")
        for point in points
    ]
    return tuple(sorted(plugins, key=lambda source: (source.name, source.owner)))


def _of_programs() -> tuple[Source, ...]:
    """Where the engines are that this program registered, or the one that started it."""
    return tuple(
        Source(name=each.name, reference=each.engine, owner="this program", folder=each.folder) for each in registered()
    )


@cache
def _made(source: Source) -> Backend:
    try:
        backend: Backend = _class_of(source)()
    except Exception as error:  # a plug-in is foreign code: whatever it raises, it is the plug-in that is unusable
        raise BackendUnavailableError(
            f"the engine {source.name!r} of {source.owner} does not import: {type(error).__name__}: {error}"
        ) from error
    return backend


def _class_of(source: Source) -> type[Backend]:
    if source.folder is not None:
        registered_class: type[Backend] = found(source.reference, source.folder)
        return registered_class
    module, _, attribute = source.reference.partition(":")
    loaded = import_module(module)
    named: type[Backend] = getattr(loaded, attribute) if attribute else _backend_in(loaded, source.name)
    return named


def _backend_in(module: ModuleType, name: str) -> type[Backend]:
    """The class that the module defines for this engine."""
    classes = (each for each in vars(module).values() if isinstance(each, type) and issubclass(each, Backend))
    return next(each for each in classes if each.__module__ == module.__name__ and getattr(each, "name", "") == name)
