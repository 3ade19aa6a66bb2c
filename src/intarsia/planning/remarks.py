"""What is to be known of a described machine before anything is measured: what of the description changes nothing.

Every remark of planning is a sentence of `Compilation.remarks`, which reports and the command line show.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

from intarsia.backends import registry
from intarsia.backends.contract import READ_FOR_ALL
from intarsia.config import CompilationConfig
from intarsia.config.search_settings import SearchSettings
from intarsia.devices import DevicePlan
from intarsia.planning.availability import is_ahead_of_time, is_native
from intarsia.target import KINDS, Target
from intarsia.target.features.features import PROCESSOR_KINDS
from intarsia.target.kinds.kind import TargetKind
from intarsia.wording import listed

_OF_PLANNING = frozenset({"host", "mtriple", "num-cores", "memory-size", "memory-bandwidth", "peak-flops"})
"""Options that the configuration takes over, or that planning compares with this machine, or estimates by."""
_OF_PROCESSOR = frozenset({"mcpu", "mattr"})
"""As `_OF_PLANNING`, of processors: what differs is remarked by `described_machine`."""
_BY_SIZE = ("greedy", "collage")
"""The strategies that know of regions too small for a target."""
_USUAL = SearchSettings()
_OF_THE_WHOLE = ("devices", "default_device")
"""Fields of configurations that place nodes, which is done once for the whole model."""


def ineffective(
    config: CompilationConfig, engines: Iterable[Target], devices: DevicePlan | None, search: SearchSettings
) -> Iterator[str]:
    """What is stated and changes nothing, one sentence each.

    Args:
        config: The configuration.
        engines: Those that take part.
        devices: Where each node runs, where anybody asked.
        search: How the plan is searched for.
    """
    engines = tuple(engines)
    yield from unread_options(engines, native=is_native(config) and not is_ahead_of_time(config))
    if is_ahead_of_time(config):
        yield from _left_behind(config)
    else:
        yield from _idle_host(config, engines)
    yield from _idle_libraries(config)
    if devices is None and config.options.get("devices"):
        yield f"devices ({', '.join(config.options['devices'])}): no effect, since nothing is placed on one of them"
    for name in ("min_nodes", "min_flops"):
        if getattr(search, name) != getattr(_USUAL, name) and search.partition not in _BY_SIZE:
            yield f"{name}: no effect on the strategy {search.partition}, which makes no regions of its own"


def unread_options(engines: Iterable[Target], *, native: bool = False) -> Iterator[str]:
    """For each target that is described, the options that change nothing, and the engines of which that holds.

    Args:
        engines: Those that take part. Of those that no backend drives nothing is said: they are reported as absent.
        native: Whether the plan is for the runtime `cpp`, whose loaders are told less.
    """
    described: dict[Target, dict[str, list[str]]] = {}
    for engine in engines:
        if engine.kind.name not in registry.names():
            continue
        for target in filter(None, (engine, engine.base)):
            unread = described.setdefault(target, {})
            for option in target.options:
                if not is_read(engine, target.kind.name, option, native=native):
                    unread.setdefault(option, []).append(engine.kind.name)
    for target, unread in described.items():
        by_engines: dict[tuple[str, ...], list[str]] = {}
        for option, names in unread.items():
            by_engines.setdefault(tuple(dict.fromkeys(names)), []).append(option)
        for several, options in by_engines.items():
            yield f"{listed(options)} of {str(target)!r}: no effect on {listed(several)}"


def unread_fields(nested: Iterable[CompilationConfig]) -> Iterator[str]:
    """For each nested configuration that says where nodes run, that this has no effect: the list around it says so."""
    for config in nested:
        stated = [name for name in _OF_THE_WHOLE if name in config.options]
        if stated:
            yield f"{listed(stated)} of {config.text()!r}: no effect inside another configuration; state it there"


def is_read(engine: Target, kind: str, option: str, *, native: bool = False) -> bool:
    """Whether an option that its target or the base of that states has an effect, on planning or on an engine."""
    return is_compared(kind, option) or is_obeyed(engine, kind, option, native=native)


def is_compared(kind: str, option: str) -> bool:
    """Whether planning takes it over, compares it with this machine or estimates by it, for every engine."""
    return option in _OF_PLANNING or (option in _OF_PROCESSOR and kind in PROCESSOR_KINDS)


def is_obeyed(engine: Target, kind: str, option: str, *, native: bool = False) -> bool:
    """Whether an engine is told it, or it says which engine and device that is."""
    if option in READ_FOR_ALL:
        return True
    backend = registry.of(engine)
    if backend.reads is None:
        return True
    return option in backend.reads.get(kind, ()) and not (native and option in backend.native_unread)


def readers(kind: TargetKind) -> Mapping[str, tuple[str, ...]]:
    """For each option of a kind, the engines that run here and read it; empty where none runs for that kind."""
    asked = kind.runs_here if kind.level == "device" else (kind.name,)
    names = [name for name in asked if name in registry.names()]
    if not names:
        return MappingProxyType({})
    return MappingProxyType({option: tuple(_reading(names, kind, option)) for option in kind.options})


def _reading(engines: Iterable[str], kind: TargetKind, option: str) -> Iterator[str]:
    for name in engines:  # the threads of a device are those of the engines that serve it
        if is_obeyed(Target(name), name if option == "threads" else kind.name, option):
            yield name


def _left_behind(config: CompilationConfig) -> Iterator[str]:
    """Options of processors that a program in C is not written by."""
    own = next(kind for kind in KINDS.values() if kind.has_own_engine)
    for target in config.flatten():
        if target.kind.is_engine or target.device_type != "cpu":
            continue
        lost = [name for name in target.options if name not in own.options]
        if lost:
            yield f"{listed(lost)} of {str(target)!r}: no effect on {own.name}"


def _idle_host(config: CompilationConfig, engines: Iterable[Target]) -> Iterator[str]:
    """A stated host that no engine generates code for."""
    host = config.options.get("host")
    if host is None or host in config.flatten() or not host.options:
        return
    bases = {engine.base for engine in engines}
    if host not in bases and host.with_options({"threads": None} if "threads" in host.options else {}) not in bases:
        executor = config.executor.kind.name
        yield f"the host {str(host)!r}: no effect, since the executor {executor} has no code compiled for it"


def _idle_libraries(config: CompilationConfig) -> Iterator[str]:
    """Libraries that serve none of the device targets."""
    devices = [target for target in config.flatten() if target.kind.level == "device"]
    for name in config.libraries:
        if not any(KINDS[name].takes(device.kind, device.device_type) for device in devices):
            yield f"libraries: no effect of {name}, which serves no target of the configuration"
