"""Which engines serve a configuration, in the order they are tried. Whether one is usable is for the caller to say."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from intarsia.config.combinations import base_of, is_partial
from intarsia.config.compilation import CompilationConfig
from intarsia.errors import BackendUnavailableError, ConfigError
from intarsia.target import KINDS, Target
from intarsia.target.device_index import DEVICE_INDEX
from intarsia.target.kinds.catalogue import NESTED
from intarsia.target.target import LEVEL as TARGET_LEVEL


@dataclass(frozen=True, slots=True, kw_only=True)
class NestedEngine:
    """A nested configuration, which the configuration around it partitions for as for one engine.

    Attributes:
        config: The nested configuration, whose executor and runtime drive its regions.
        engines: What its regions are partitioned among, most preferred first; empty where none is usable.
    """

    config: CompilationConfig
    engines: tuple[Target | NestedEngine, ...]

    @property
    def target(self) -> Target:
        """What stands for it in plans, where it is one engine."""
        return Target({"kind": NESTED, "config": str(self.config)})

    def __str__(self) -> str:
        return self.config.text()


Engine = Target | NestedEngine


def target_of(engine: Engine) -> Target:
    """An engine as a target of plans."""
    return engine if isinstance(engine, Target) else engine.target


def config_inside(target: Target) -> CompilationConfig | None:
    """The nested configuration that a target of a plan stands for; ``None`` for a target that stands for itself."""
    return CompilationConfig.of(target.options.get("config")) if target.kind_name == NESTED else None


def engines(config: CompilationConfig, usable: Collection[str], *, stand_ins: bool = False) -> tuple[Engine, ...]:
    """The engines to try, in priority order, each once.

    A device target becomes its engines that are usable. A named engine or nested configuration stays whether usable or
    not, so that its absence is reported. ``reference`` is never added by itself. Each engine states as its ``base`` the
    device it generates code for, where there is anything to say about that device.

    Args:
        stand_ins: Whether a device target that none of these serves stays, to plan for a machine that is not here.

    Raises:
        ConfigError: The targets are accelerators only, each of which takes part of a graph.
        BackendUnavailableError: Nothing is left.
    """
    if all(map(is_partial, config.targets)):
        what = "takes" if len(config.targets) == 1 else "take"
        raise ConfigError(
            f"{str(config)!r} {what} only part of a graph, so it cannot be the whole machine; write {_whole(config)!r}"
        )
    found = _engines(config, usable, stand_ins=stand_ins)
    if not found:
        _raise_unavailable(config)
    return found


def _engines(config: CompilationConfig, usable: Collection[str], *, stand_ins: bool) -> tuple[Engine, ...]:
    found: dict[Engine, None] = {}
    for member in config.targets:
        if isinstance(member, CompilationConfig):
            found.setdefault(NestedEngine(config=member, engines=_engines(member, usable, stand_ins=stand_ins)))
        elif member.kind.has_own_engine:
            found.setdefault(member)
        elif member.kind.is_external:
            found.setdefault(_based(member, base_of(member, config.targets, config.host)))
        else:
            able = tuple(_serving(member, usable, config.libraries))
            serving = [engine for index in _indices(config, member) for engine in _all_served(member, able, index)]
            found.update(dict.fromkeys(serving or (_stand_ins(member, config.libraries) if stand_ins else ())))
    return tuple(found)


def engine_of_plan(target: Target, usable: Collection[str]) -> Engine:
    """A target that a plan names as the engine that it is: for a nested configuration, with the engines inside."""
    config = config_inside(target)
    return target if config is None else NestedEngine(config=config, engines=_engines(config, usable, stand_ins=True))


def _raise_unavailable(config: CompilationConfig) -> None:
    names = ", ".join(str(member) for member in config.targets)
    kinds = dict.fromkeys(name for target in config.flatten() for name in target.kind.engines)
    wanted = config.libraries or tuple(kinds)
    what = f"no usable engine serves {names}; it needs one of {', '.join(wanted) or 'none that is known'}"
    raise BackendUnavailableError(f"{what}: pip install 'intarsia[{next(iter(wanted), 'cpu')}]'")


def _whole(config: CompilationConfig) -> str:
    """The list to write instead: with the devices that the accelerators generate code for, and the host."""
    bases = (_base_to_write(member) for member in config.targets if isinstance(member, Target))
    bases = (base for base in bases if base.device_type != "cpu")
    whole = dict.fromkeys((*config.targets, *bases, config.host))
    return ", ".join(member.text() for member in whole)


def _base_to_write(accelerator: Target) -> Target:
    return accelerator.base or Target(next(iter(accelerator.kind.serves), "llvm"))


def _serving(device: Target, usable: Collection[str], libraries: Collection[str]) -> Iterator[str]:
    for name in dict.fromkeys((*device.kind.engines, *usable)):
        kind = TARGET_LEVEL.kind(name)
        serves = kind is not None and device.kind.name in KINDS[name].serves
        if name in usable and serves and (not libraries or name in libraries):
            yield name


def _stand_ins(device: Target, libraries: Collection[str]) -> Iterator[Target]:
    """What stands for engines that are not here: the libraries that are asked for, else the device itself."""
    named = [name for name in libraries if name in KINDS and KINDS[name].takes(device.kind)]
    yield from (_served(device, name) for name in named) if named else (device,)


def _indices(config: CompilationConfig, target: Target) -> Iterable[int]:
    """Which devices of its type the configuration names for a target: the first one, unless it says otherwise."""
    if target.device_type == "cpu":
        return (0,)  # of a processor, these are parts of its cores, which the executor binds threads to
    return sorted({device.index or 0 for device in config.devices.values() if device.target == target}) or (0,)


def _all_served(device: Target, engines: Iterable[str], index: int) -> Iterator[Target]:
    """The engines' targets for a device of that index: of another than the first one those that can be told."""
    for engine in engines:
        if index == 0 or DEVICE_INDEX in KINDS[engine].options:
            yield _served(device, engine, index)


def _served(device: Target, engine: str, index: int = 0) -> Target:
    """The engine's target for a device target; what is said of the whole plan goes along."""
    options: dict[str, Any] = {"kind": engine}
    if index:
        options[DEVICE_INDEX] = index
    if "threads" in device.options:
        options["threads"] = device.options["threads"]
    return _based(Target(options), device)


def _based(engine: Target, base: Target) -> Target:
    """The engine's target with this base; none where the engine's kind says all that there is to say."""
    base = base.with_options({"threads": None}) if "threads" in base.options else base
    says_nothing = not base.options and base.device_type == engine.kind.device_type
    return engine if says_nothing or engine.base is not None else engine.with_options({"base": base})
