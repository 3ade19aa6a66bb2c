"""Who takes part in a compile: the engines of a configuration, what is absent of them here, and what each takes.

Nested configurations stay as they are; whether what is absent matters is for `intarsia.planning.request` to say.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType

from intarsia.backends import registry
from intarsia.backends.contract import Backend
from intarsia.backends.described import described_capability
from intarsia.config import CompilationConfig, NestedEngine
from intarsia.devices import DevicePlan
from intarsia.errors import BackendUnavailableError, ConfigError
from intarsia.graph import Graph
from intarsia.partitioning import Capability, nested_capability, restrict
from intarsia.target import Target
from intarsia.target.detect import lack

Engine = Target | NestedEngine
_CUSTOM_OPS = "custom-ops"


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSet:
    """Engines that take part.

    Attributes:
        engines: Most preferred first.
        capabilities: What each takes, those inside nested configurations too.
        config: The configuration they are of.
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
        """The targets of all levels, in order of priority, each once."""
        return leaves(self.engines)

    def config_of(self, target: Target) -> CompilationConfig:
        """The configuration that names a target, or what it was before it was tuned; the outermost of several."""
        level = [(self.config, self.engines)]
        while level:
            for config, engines in level:
                if any(_is_tuned(target, engine) for engine in engines if isinstance(engine, Target)):
                    return config
            nested = [each for _, engines in level for each in engines if isinstance(each, NestedEngine)]
            level = [(each.config, each.engines) for each in nested]
        return self.config


def leaves(engines: Iterable[Engine]) -> tuple[Target, ...]:
    """The targets of all levels, those of a nested configuration in place of it, each once."""
    return tuple(dict.fromkeys(_leaves(engines)))


def present(engines: Iterable[Engine]) -> tuple[Engine, ...]:
    """Those that can be used here; a nested configuration with what is left of it."""
    found: list[Engine] = []
    for engine in engines:
        if isinstance(engine, Target):
            found += [engine] if absence(engine) is None else []
        elif inner := present(engine.engines):
            found.append(replace(engine, engines=inner))
    return tuple(found)


def without(engines: Iterable[Engine], barred: Collection[str]) -> tuple[Engine, ...]:
    """Those that no barred engine runs; a nested configuration with what is left of it."""
    found: list[Engine] = []
    for engine in engines:
        if isinstance(engine, Target):
            found += [] if barred and registry.engine_of(engine) in barred else [engine]
        elif inner := without(engine.engines, barred):
            found.append(replace(engine, engines=inner))
    return tuple(found)


def with_custom_ops(engines: Iterable[Engine], libraries: tuple[str, ...]) -> tuple[Engine, ...]:
    """The engines, each target that takes libraries of operators with these beside those it states.

    Raises:
        ConfigError: There are libraries, and none takes any.
    """
    engines = tuple(engines)
    if not libraries:
        return engines
    if not any(_CUSTOM_OPS in target.kind.options for target in leaves(engines)):
        raise ConfigError("--custom-ops names a library, and no target here takes one; add onnxruntime to --target")
    return tuple(_with_libraries(engine, libraries) for engine in engines)


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
    if not kind.is_external:
        if not kind.runs_here:
            return f"no backend of Intarsia runs an engine that generates code for {str(target)!r}"
        extra = kind.runs_here[0]
        return f"no engine that is usable here generates code for {str(target)!r}; pip install 'intarsia[{extra}]'"
    if kind.name not in registry.names():
        return f"no backend drives {kind.name!r} yet"
    try:
        devices = registry.require(registry.engine_of(target)).devices
    except BackendUnavailableError as error:
        return no_backend_there(target) or str(error)
    stated, here = target.features.architecture, _architecture_here()
    if stated and here and stated != here:
        return f"{kind.name} compiles here for {here}, not for {stated}"
    if devices and target.device_type not in devices:
        return f"{kind.name} runs here on {', '.join(sorted(devices))}, not on {target.device_type}"
    return None if target.device_type == "cpu" else lack(target.device_type)


def no_backend_there(target: Target) -> str | None:
    """Why an engine could not run on the target's device even if it were installed; ``None`` if it could."""
    runs_on = target.kind.runs_on
    if not runs_on or target.device_type in runs_on:
        return None
    return f"{target.kind.name} runs here on {', '.join(runs_on)}, not on {target.device_type}"


@cache
def _architecture_here() -> str:
    return Target.detect().features.architecture


def _leaves(engines: Iterable[Engine]) -> Iterator[Target]:
    for engine in engines:
        if isinstance(engine, Target):
            yield engine
        else:
            yield from _leaves(engine.engines)


def _inside_out(engines: Iterable[Engine]) -> Iterator[NestedEngine]:
    """The nested configurations, each after those inside it."""
    for engine in engines:
        if isinstance(engine, NestedEngine):
            yield from _inside_out(engine.engines)
            yield engine


def _capability(graph: Graph, target: Target) -> Capability:
    """What a target takes, said by its backend even where its engine is not installed."""
    name = target.kind.name
    if name not in registry.names():
        return described_capability(graph, target)
    return registry.of(target).capability(graph, target)


def _is_tuned(target: Target, stated: Target) -> bool:
    """Whether a target is a stated one, perhaps with more options."""
    options = target.options
    return target.kind is stated.kind and all(options.get(name) == value for name, value in stated.options.items())
