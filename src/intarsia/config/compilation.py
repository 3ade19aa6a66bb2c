"""`CompilationConfig`: one machine, as the targets of a compile in priority order and what drives them.

Canonicalised and validated once, at its one door `CompilationConfig.of`; later stages rely on it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, cast

from intarsia.config.canonical import check, complete, default_host
from intarsia.config.combinations import default_executor, default_runtime
from intarsia.config.device_table import DeviceTable
from intarsia.config.drives import EXECUTORS, RUNTIMES, Executor, Runtime, elsewhere
from intarsia.config.elements import CONFIG, ELEMENTS, NestedConfig, member
from intarsia.config.forms import read_any
from intarsia.spec import Kind, Level, ListOf, MapOf, Option, Order, SpecOf, schema
from intarsia.spec.problems import Where, nearest, shown_name
from intarsia.spec.syntax import Piece, leaf, print_leaf
from intarsia.spec.types import OptionType, Reader, Value, Word
from intarsia.target import KINDS, LEVELS, TAGS, Target, VirtualDevice, VirtualDeviceOf
from intarsia.target.target import LEVEL as TARGET_LEVEL


@dataclass(frozen=True, slots=True)
class DefaultDeviceOf(OptionType):
    """A label, or a device in any form. Text stays text until the labels of the configuration are known."""

    label: ClassVar[str] = "label or device"

    def from_text(self, piece: Piece, where: Where, reader: Reader) -> Value:
        """The text written here."""
        return leaf(piece)

    def from_data(self, data: object, where: Where, reader: Reader) -> Value:
        """The text or device given here, or ``None`` after noting why there is none."""
        return str(data) if isinstance(data, str) else VirtualDeviceOf().from_data(data, where, reader)

    def text(self, value: Value, *, tags: bool = True, inside: bool = False) -> str:
        """What `from_text` reads as this text or device; ``inside`` a list or map, commas need quotes."""
        return print_leaf(value.text(tags=tags) if isinstance(value, VirtualDevice) else value)

    def data(self, value: Value) -> Value:
        """Pure JSON that `from_data` reads as this text or device."""
        return value.export() if isinstance(value, VirtualDevice) else value


@dataclass(frozen=True, slots=True)
class LibraryOf(Word):
    """The name of an engine kind, in any spelling."""

    label: ClassVar[str] = "engine"

    def checked(self, word: str, where: Where, reader: Reader) -> str | None:
        """The name of the kind, or ``None`` after noting why there is none."""
        alias = TARGET_LEVEL.aliases.get(word)
        form = alias.form if alias is not None and isinstance(alias.form, dict) else {"kind": word}
        kind = TARGET_LEVEL.kind(form["kind"])
        if kind is not None and KINDS[kind.name].level == "engine":
            return kind.name
        engines = [other.name for other in KINDS.values() if other.level == "engine"]
        hint = nearest(word, engines, f"known are {', '.join(engines)}")
        reader.problems.add(where, f"no library or engine is called {shown_name(word)}{hint}")
        return None


_KIND = Kind(
    name=CONFIG,
    meaning="one machine",
    options=schema(
        (
            Option(name="targets", type=ELEMENTS, meaning="what to compile for, most preferred first"),
            Option(name="devices", type=MapOf(VirtualDeviceOf()), meaning="devices by label"),
            Option(
                name="default_device",
                type=DefaultDeviceOf(),
                meaning="where a node runs that nothing else places; the one device type, else the CPU, if left out",
            ),
            Option(
                name="host",
                type=SpecOf("target"),
                meaning="the target of the code that drives the rest; the first CPU target, else llvm, if left out",
                older=("target_host",),
            ),
            Option(name="executor", type=SpecOf("executor"), meaning="how the whole model is driven"),
            Option(name="runtime", type=SpecOf("runtime"), meaning="what loads and runs the compiled model"),
            Option(
                name="libraries",
                type=ListOf(LibraryOf(), Order.FREE),
                meaning="engines that serve its device targets; every one that can, if left out",
            ),
        )
    ),
    fill=complete,
    check=check,
)
_SHORT = frozenset({"targets", "host"})
"""Options that a priority list can say."""


class CompilationConfig(NestedConfig):
    """One machine, from any form: see `of`.

    Two are equal when they mean the same: composites are spliced, and what would be derived anyway is left out.

    Example:
        >>> config = CompilationConfig.of("ethos-n77, acl, llvm mattr=+neon")
        >>> str(config)
        'ethos-n -variant=n77, arm_acl, llvm -mattr=+neon'
        >>> str(config.host), str(config.default_device), str(config.executor), str(config.runtime)
        ('llvm -mattr=+neon', "cpu:0 -target='llvm -mattr=+neon'", 'graph', 'python')

    Raises:
        SpecError: With every problem, its place, and what to write.
    """

    __slots__ = ()

    def __init__(self, form: object = None) -> None:
        spec = read_any(LEVEL, (Target.current() or "llvm") if form is None else form)
        self._fix(spec.kind, spec.options, spec.tags)

    @classmethod
    def of(cls, form: object = None) -> CompilationConfig:
        """The configuration of a kind, tag, priority list, dict, target, file (a `Path`) or configuration.

        ``None`` is the target in scope (``with target:``), else ``llvm``: this machine, by every engine it has.

        - Composites are spliced in place. What none of a composite's devices takes runs on its host.
        - The host is the explicit one, else the one that targets state, else the first CPU target that can host, else
          ``llvm``. An explicit host takes the place of one that a tag brings; hosts that differ otherwise are an error.
        - ``opencl:1`` in the list adds a device of that label.

        Raises:
            SpecError: With every problem, its place, and what to write.
        """
        return form if isinstance(form, CompilationConfig) else cls(form)

    @property
    def targets(self) -> tuple[Target | CompilationConfig, ...]:
        """Targets and nested configurations, most preferred first, each once; no composites, and none states a host."""
        return cast("tuple[Target | CompilationConfig, ...]", self._places.targets)

    @property
    def devices(self) -> Mapping[str, VirtualDevice]:
        """The devices that have a label: those stated, and those that the list names, as ``opencl:1``."""
        places = self._places
        stated = {label: places.resolved(device) for label, device in self.options.get("devices", {}).items()}
        return MappingProxyType({**places.devices, **stated})

    @property
    def default_device(self) -> VirtualDevice:
        """Where a node runs that nothing else places. Its target is ``None`` where only engines serve the type."""
        stated: VirtualDevice | None = self.options.get("default_device")
        return self._places.default() if stated is None else self._places.resolved(stated)

    @property
    def device_type(self) -> str:
        """The device type of the default device, which is what this is to a configuration around it."""
        device = self.default_device.device
        assert device is not None
        return device

    @property
    def host(self) -> Target:
        """The target of the code that drives the rest. Not the default device."""
        stated: Target | None = self.options.get("host")
        return default_host(self.targets) if stated is None else stated

    @property
    def executor(self) -> Executor:
        """How the whole model is driven."""
        stated: Executor | None = self.options.get("executor")
        return default_executor() if stated is None else stated

    @property
    def runtime(self) -> Runtime:
        """What loads and runs the compiled model."""
        stated: Runtime | None = self.options.get("runtime")
        return default_runtime(self.executor) if stated is None else stated

    @property
    def libraries(self) -> tuple[str, ...]:
        """Engine kinds that serve its device targets, sorted; empty for every one that can."""
        stated: tuple[str, ...] = self.options.get("libraries", ())
        return stated

    def flatten(self) -> tuple[Target, ...]:
        """Every target, those of nested configurations in place of them."""
        leaves = ((spec,) if isinstance(spec, Target) else spec.flatten() for spec in self.targets)
        return tuple(target for several in leaves for target in several)

    def target_for(self, device_type: str) -> Target | None:
        """The target that any code for this device type can be generated for; ``None`` where there are engines only.

        Raises:
            SpecError: Nothing here runs on that device type.
        """
        return self._places.target_for(device_type)

    def target_of_kind(self, kind: str) -> Target | None:
        """The most preferred target of this kind, or ``None``."""
        return next((spec for spec in self.targets if isinstance(spec, Target) and spec.kind.name == kind), None)

    def canonical_target(self, form: object) -> Target:
        """The one of its targets, or the host, that a form means; any other target as it is.

        Raises:
            SpecError: The form is not a target.
        """
        target = Target(form)
        known = (*(spec for spec in self.targets if isinstance(spec, Target)), self.host)
        bare = target.with_host(None) if target.host in (None, self.host) else target
        return next((spec for spec in known if spec == bare), target)

    def canonical_device(self, form: object) -> VirtualDevice:
        """The device of a label or any other form, with index and target filled in from the targets.

        Raises:
            SpecError: It has no such label, or no target for such a device.
        """
        return self._places.named(form, self.devices)

    def __str__(self) -> str:
        """Canonical text: a priority list where that says it all, else the whole."""
        elements = self.options["targets"]
        first, index = member(elements[0])
        if self.tags or not self.options.keys() <= _SHORT or not isinstance(first, Target):
            return self.text()
        texts = [element.text() for element in elements]
        if "host" in self.options:
            texts[0] = first.with_host(self.options["host"]).text(index=index)
        return ", ".join(texts)

    @property
    def _places(self) -> DeviceTable:
        return DeviceTable.of(self.options["targets"])


LEVEL = Level(
    name=CONFIG,
    type=CompilationConfig,
    kinds={CONFIG: _KIND},
    tags=TAGS,
    default_kind=CONFIG,
    elsewhere=elsewhere({CONFIG: _KIND}, {"a target": KINDS, "the executor": EXECUTORS, "the runtime": RUNTIMES}),
    inner={"target": TARGET_LEVEL, "executor": Executor.level, "runtime": Runtime.level},
)
"""The level of the spec language whose values are configurations."""

LEVELS.register(CONFIG, CompilationConfig.of)
