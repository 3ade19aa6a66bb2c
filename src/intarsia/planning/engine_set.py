"""Who takes part in a compile: the engines of a configuration, what is absent of them here, and what each takes.

Nested configurations stay as they are; whether what is absent matters is for `intarsia.planning.request` to say.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from types import MappingProxyType

from intarsia.backends import registry
from intarsia.backends.contract import Backend
from intarsia.backends.contract.source import WritesDeviceCode, WritesPrograms, WritesSource
from intarsia.backends.operator_tables.described import described_capability
from intarsia.backends.operator_tables.unsupported import need_of
from intarsia.config import CompilationConfig, NestedEngine, engines, target_of
from intarsia.config.drives import REMOTE
from intarsia.devices import DevicePlan
from intarsia.errors import BackendUnavailableError, ConfigError
from intarsia.graph import Graph
from intarsia.partitioning import Capability, nested_capability, restrict
from intarsia.target import KINDS, Target, detect
from intarsia.target.detect import lack, lack_of
from intarsia.target.device_index import DEVICE_INDEX
from intarsia.target.fit import misfit
from intarsia.target.kinds.catalogue import CONTROL_FLOW

Engine = Target | NestedEngine
Absence = Callable[[Target], str | None]
"""Why nothing here can compile for a target; ``None`` if something can."""
_CUSTOM_OPS = "custom-ops"
_PYTHON = "python"
_NO_SOURCE = "{} writes no C code, which the executor aot makes one program of"


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSet:
    """Engines that take part.

    Attributes:
        engines: Most preferred first.
        capabilities: What each takes, those inside nested configurations too.
    """

    engines: tuple[Engine, ...]
    capabilities: Mapping[Engine, Capability]
    config: CompilationConfig

    @classmethod
    def of(
        cls, graph: Graph, config: CompilationConfig, engines: Iterable[Engine], devices: DevicePlan | None
    ) -> EngineSet:
        """Ask each engine what it takes of the graph, and of that keep what is planned on devices it serves."""
        engines = tuple(engines)
        found: dict[Engine, Capability] = {target: _capability(graph, target) for target in leaves(engines)}
        if devices is not None:
            found = restrict(found, devices)
        for nested in _inside_out(engines):
            found[nested] = nested_capability(graph, nested, found)
        return cls(engines=engines, capabilities=MappingProxyType(found), config=config)

    @property
    def targets(self) -> tuple[Target, ...]:
        """The engines as targets of plans, in order of priority, each once; one for each nested configuration."""
        return tuple(dict.fromkeys(map(target_of, self.engines)))

    @property
    def nests(self) -> Mapping[Target, NestedEngine]:
        """The nested configurations of all levels, by the targets that stand for them."""
        return MappingProxyType({nested.target: nested for nested in _inside_out(self.engines)})


def leaves(engines: Iterable[Engine]) -> tuple[Target, ...]:
    """The targets of all levels, those of a nested configuration in place of it, each once."""
    inner = ((engine,) if isinstance(engine, Target) else leaves(engine.engines) for engine in engines)
    return tuple(dict.fromkeys(chain.from_iterable(inner)))


def present(engines: Iterable[Engine], lacks: Absence | None = None) -> tuple[Engine, ...]:
    """Those that can be used here, by `absence` or what says so instead; a nested configuration with what is left."""
    why = lacks or absence
    return _kept(engines, lambda target: why(target) is None)


def without(engines: Iterable[Engine], barred: Collection[str]) -> tuple[Engine, ...]:
    """Those that no barred engine runs; a nested configuration with what is left of it."""
    return _kept(engines, lambda target: not barred or registry.engine_of(target) not in barred)


def _kept(engines: Iterable[Engine], keeps: Callable[[Target], bool]) -> tuple[Engine, ...]:
    found: list[Engine] = []
    for engine in engines:
        if isinstance(engine, Target):
            found += [engine] if keeps(engine) else []
        elif inner := _kept(engine.engines, keeps):
            found.append(replace(engine, engines=inner))
    return tuple(found)


def with_custom_ops(engines: Iterable[Engine], libraries: tuple[str, ...]) -> tuple[Engine, ...]:
    """The engines, each target that takes libraries with these beside its own; a `ConfigError` if none takes any."""
    engines = tuple(engines)
    if not libraries:
        return engines
    if not any(_CUSTOM_OPS in target.kind.options for target in leaves(engines)):
        raise ConfigError("--custom-ops names a library, and no target here takes one; add onnxruntime to --target")
    return tuple(_with_libraries(engine, libraries) for engine in engines)


def is_in_process(config: CompilationConfig) -> bool:
    """Whether the engines of a nested configuration are to run in processes of their own on this machine."""
    return config.runtime.kind.name == REMOTE and "address" not in config.runtime.options


def with_processes(engines: Iterable[Engine], *, apart: bool = False) -> tuple[Engine, ...]:
    """The engines, in processes of their own where a nested configuration asks for that, by this very interpreter.

    Args:
        engines: Those of one level.
        apart: Whether a configuration around them asks.
    """

    def placed(engine: Engine) -> Engine:
        if isinstance(engine, NestedEngine):
            inner = with_processes(engine.engines, apart=apart or is_in_process(engine.config))
            return replace(engine, engines=inner)
        is_free = _PYTHON in engine.kind.options and _PYTHON not in engine.options
        return engine.with_options({_PYTHON: sys.executable}) if apart and is_free else engine

    return tuple(map(placed, engines))


def tells(target: Target) -> bool:
    """Whether its engine tells what operators compute that ONNX does not define."""
    return type(registry.of(target)).observe is not Backend.observe


def _with_libraries(engine: Engine, libraries: tuple[str, ...]) -> Engine:
    if not isinstance(engine, Target):
        return replace(engine, engines=tuple(_with_libraries(inner, libraries) for inner in engine.engines))
    if _CUSTOM_OPS not in engine.kind.options:
        return engine
    known = engine.options.get(_CUSTOM_OPS, ())
    return engine.with_options({_CUSTOM_OPS: [*known, *(each for each in libraries if each not in known)]})


def absence(target: Target) -> str | None:
    """Why nothing here can compile for a target, and what fixes it; ``None`` if something can."""
    kind = target.kind
    if kind.name == CONTROL_FLOW:
        return None
    if not kind.is_engine:
        if not kind.runs_here:
            return f"no backend of Intarsia runs an engine that generates code for {str(target)!r}"
        extra = kind.runs_here[0]
        return f"no engine that is usable here generates code for {str(target)!r}; pip install 'intarsia[{extra}]'"
    if kind.name not in registry.names():
        return f"no backend drives {kind.name!r} yet; one would need {need_of(kind.name)}"
    try:
        devices = registry.require(registry.engine_of(target)).devices
    except BackendUnavailableError as error:
        return no_backend_there(target) or str(error)
    other = misfit(target)
    if other is not None:
        return f"{kind.name} compiles here for {other[0]}, not for {other[1]}"
    if lack_of_features := _lack_of_features(target):
        return lack_of_features
    if devices and target.device_type not in devices:
        return f"{kind.name} runs here on {', '.join(sorted(devices))}, not on {target.device_type}"
    return _lack_of_device(target)


def _lack_of_device(target: Target) -> str | None:
    index = target.options.get(DEVICE_INDEX)
    if target.device_type != "cpu":
        return lack(target.device_type) or (lack_of(target.device_type, index) if index else None)
    if index is None:
        return None
    return (
        f"-{DEVICE_INDEX} numbers devices of the type that a base names, and {target.kind.name} is for the processor "
        "here: state a base, or leave it out"
    )


def source_absence(target: Target) -> str | None:
    """Why no code can be written for a target; ``None`` if it can, whatever processor it is for."""
    name = target.kind.name
    if name not in registry.names():
        return f"no backend drives {name!r} yet; one would need {need_of(name)}"
    backend = registry.of(target)
    if not isinstance(backend, WritesSource | WritesPrograms):
        return _NO_SOURCE.format(name)
    try:
        registry.require(registry.engine_of(target), loading=isinstance(backend, WritesSource))
    except BackendUnavailableError as error:
        return str(error)
    return backend.source_lack(target) if isinstance(backend, WritesSource) else None


def device_writers() -> Mapping[str, WritesDeviceCode]:
    """The engines that write code for devices which need not be here, by name."""
    return {name: found for name in registry.names() if isinstance(found := registry.get(name), WritesDeviceCode)}


def native_absence(target: Target) -> str | None:
    """Why a target cannot take part in what runs without Python; ``None`` if it can."""
    name = registry.engine_of(target)
    if target.kind.name in registry.names():
        lack = registry.get(target.kind.name).native_lack
        if registry.AWAY in name:
            lack = "it is in another interpreter, which only Python reaches"
        if lack is not None:
            return f"{target.kind.name} does not run without Python: {lack}"
    return absence(target)


def check_native(config: CompilationConfig) -> None:
    """Raise a `ConfigError` for an engine that is named and does not run without Python."""
    for target in leaves(engines(config, (), stand_ins=True)):
        if target.kind.is_engine and target.kind.name in registry.names():
            lack = registry.get(target.kind.name).native_lack
            if lack is not None:
                name = target.kind.name
                raise ConfigError(
                    f"{name} does not run without Python, as the runtime cpp asks: {lack}; leave it out, or choose the "
                    "runtime python"
                )


def source_engines(config: CompilationConfig) -> tuple[Engine, ...]:
    """The engines of a configuration whose model is written as C: for a processor that is named alone, our own.

    Raises:
        ConfigError: An engine that is named writes no C.
    """
    names = [name for name in registry.names() if isinstance(registry.get(name), WritesSource | WritesPrograms)]
    found = engines(config, (), stand_ins=True)
    for target in leaves(found):
        if target.kind.is_engine and target.kind.name in registry.names() and target.kind.name not in names:
            sentence = _NO_SOURCE.format(target.kind.name)
            raise ConfigError(
                f"{sentence}; leave it out, or choose the executor graph, which runs it ({', '.join(names)} do)"
            )
    own = next(name for name in names if KINDS[name].has_own_engine)
    return tuple(dict.fromkeys(_written(engine, own) for engine in found))


def _written(engine: Engine, own: str) -> Engine:
    """A processor that no engine is named for as the kind whose engine writes C for any, with what both can say."""
    if not isinstance(engine, Target) or engine.kind.is_engine or engine.device_type != "cpu":
        return engine
    shared = engine.export().keys() & KINDS[own].options.keys()
    return Target({"kind": own} | {name: value for name, value in engine.export().items() if name in shared})


def no_backend_there(target: Target) -> str | None:
    """Why an engine could not run on the target's device even if it were installed; ``None`` if it could."""
    runs_on = target.kind.runs_on
    if not runs_on or target.device_type in runs_on:
        return None
    return f"{target.kind.name} runs here on {', '.join(runs_on)}, not on {target.device_type}"


def architecture_here() -> str:
    """The architecture of this machine's processor."""
    return detect.cpu_here().features.architecture


def _lack_of_features(target: Target) -> str | None:
    """Why an engine could not run on the processor that its target names; ``None`` if it could, as far as is known."""
    features = target.features
    lacks = [name for name in registry.of(target).needs_features if not features.has(name)] if target.mcpu else []
    if not lacks or not features.architecture:
        return None
    return f"{target.kind.name} needs {' and '.join(lacks)}, which {str(target.base or target)!r} lacks"


def _inside_out(engines: Iterable[Engine]) -> Iterator[NestedEngine]:
    """The nested configurations, each after those inside it."""
    for engine in engines:
        if isinstance(engine, NestedEngine):
            yield from _inside_out(engine.engines)
            yield engine


def _capability(graph: Graph, target: Target) -> Capability:
    """What a target takes, said by its backend even where its engine is not installed."""
    if not registry.is_known(target.kind.name):
        return described_capability(graph, target)
    return registry.of(target).capability(graph, target)


def is_tuned(target: Target, stated: Target) -> bool:
    """Whether a target is a stated one, perhaps with more options."""
    options = target.options
    return target.kind is stated.kind and all(options.get(name) == value for name, value in stated.options.items())
