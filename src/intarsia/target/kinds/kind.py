"""`TargetKind`: a row of the table of kinds, and what it makes of the options of a target."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from intarsia.errors import SpecError
from intarsia.spec import Kind
from intarsia.spec.schema import Options
from intarsia.spec.types import Value
from intarsia.target.aliases import ALIASES

DEVICE_TYPES: Mapping[str, int] = MappingProxyType(
    {
        "cpu": 1,
        "cuda": 2,
        "opencl": 4,
        "vulkan": 7,
        "metal": 8,
        "rocm": 10,
        "ext_dev": 12,
        "webgpu": 15,
        "hexagon": 16,
        "aocl": 32,
    }
)
"""Device types and their numbers: DLPack's ``DLDeviceType``, and for ``aocl``, which DLPack lacks, TVM's."""

Facts = Mapping[str, Value]


def imply_no_keys(options: Options) -> tuple[str, ...]:
    """The `TargetKind.sure_keys` of kinds whose options imply no family."""
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetKind(Kind):
    """A family of targets.

    Attributes:
        level: ``device``: code is generated for it; ``engine``: it generates code; ``syntax``: it stands for others.
        device_type: Name of the device it runs on, as in `DEVICE_TYPES`.
        default_keys: Strategy families of a target that states none.
        sure_keys: Families that hold whatever keys are stated: with these options, a CPU is ``arm_cpu``.
        engines: For a device kind, the engine kinds that can serve it.
        serves: For an engine kind, the device kinds that its ``base`` may be; empty for any of its device type.
        runs_on: For an engine kind, the device types on which its backend runs it; empty if it is only described.
        runs_here: For a device kind, those of its engines that have a backend which runs them on such a device.
        as_c: What there is of it in networks that are written as C: for a device kind the engines that write them, for
            an engine kind ``yes``, or how far that can be trusted; empty if there is nothing.
        partial: An engine that takes only part of a graph, so it cannot be the whole machine.
        brings_device: An engine that drives a processor of its own, which its base alone does not promise.
        is_reference: It defines correct results, and is used only where it is named.
        has_own_engine: Of a device kind: an engine of ours is called as it is, and naming the kind names that engine.
        facts: The features of a target with these options; without it, the tables of processors say them.
        attrs: Whatever else whoever adds the kind keeps with it.

    Raises:
        SpecError: The device type is unknown.
    """

    level: Literal["device", "engine", "syntax"]
    device_type: str
    default_keys: tuple[str, ...] = ()
    sure_keys: Callable[[Options], tuple[str, ...]] = field(default=imply_no_keys, repr=False)
    engines: tuple[str, ...] = ()
    serves: tuple[str, ...] = ()
    runs_on: tuple[str, ...] = ()
    runs_here: tuple[str, ...] = ()
    as_c: str = ""
    partial: bool = False
    brings_device: bool = False
    is_reference: bool = False
    has_own_engine: bool = False
    facts: Callable[[Options], Facts] | None = field(default=None, repr=False)
    attrs: Mapping[str, object] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if self.device_type not in DEVICE_TYPES:
            raise SpecError(f"device type {self.device_type!r} is not known; known are {', '.join(DEVICE_TYPES)}")
        object.__setattr__(self, "attrs", MappingProxyType(dict(self.attrs)))

    @property
    def is_engine(self) -> bool:
        """Whether a target of this kind is compiled for by the engine that is called as the kind is."""
        return self.is_external or self.has_own_engine

    @property
    def is_external(self) -> bool:
        """Whether it generates code for another target, and is no device itself."""
        return self.level == "engine"

    def device_type_of(self, options: Options) -> str:
        """Name of the device that a target with these options runs on: as stated, its base's, or the kind's own."""
        number = options.get("target_device_type")
        stated = next((name for name, code in DEVICE_TYPES.items() if code == number), None)
        if stated is not None:
            return stated
        base = options.get("base")
        return self.device_type if base is None else str(base.device_type)

    def keys(self, options: Options) -> tuple[str, ...]:
        """Strategy families of a target with these options, most specific first."""
        device = (options["device"],) if "device" in options else ()
        sure, stated = self.sure_keys(options), options.get("keys")
        keys = (*device, *sure, *self.default_keys) if stated is None else (*stated, *device, *sure)
        return tuple(dict.fromkeys(keys))

    def complete(self, options: Options) -> Options:
        """As of any kind; keys that follow from the other options are left out."""
        filled = dict(self.fill(options))
        if "libs" in filled:
            filled["libs"] = tuple(sorted(set(map(_library, filled["libs"]))))
        if "keys" in filled:
            keys = self.keys(filled)
            del filled["keys"]
            if keys != self.keys(filled):
                filled["keys"] = keys
        return filled

    def faults(self, options: Options) -> Iterable[tuple[str, str]]:
        """As of any kind; what a target of any kind may get wrong comes first."""
        number = options.get("target_device_type")
        if number is not None and number not in DEVICE_TYPES.values():
            legal = ", ".join(f"{code} ({name})" for name, code in DEVICE_TYPES.items())
            yield "target_device_type", f"{number} is not a device type; write one of {legal}"
        if "base" in options and (what := self._fault_of_base(options["base"])):
            yield "base", what
        if "compiler" in options and (what := self._fault_of_compiler(options["compiler"], options)):
            yield "compiler", what
        yield from self.check(options)

    def takes(self, base: TargetKind, device_type: str | None = None) -> bool:
        """Whether this engine kind generates code for targets of a device kind, on the device type they have."""
        if not self.is_external or base.level != "device":
            return False
        return base.name in self.serves if self.serves else (device_type or base.device_type) == self.device_type

    def _fault_of_base(self, base: Value) -> str:
        if base.kind.level != "device":
            return f"{base.kind.name!r} is not a device kind; a base is a target of a device kind"
        if not self.takes(base.kind, base.device_type):
            legal = f"kind {', '.join(self.serves)}" if self.serves else f"device type {self.device_type}"
            return f"{self.name} does not generate code for {base.kind.name!r}; its base is a target of {legal}"
        return ""

    def _fault_of_compiler(self, compiler: Value, options: Options) -> str:
        if "base" in compiler.options:
            return f"{str(compiler)!r} has a base already; leave out -compiler or -base"
        if not compiler.kind.takes(self, self.device_type_of(options)):
            return f"{compiler.kind.name!r} is not an engine that generates code for {self.name!r}"
        return ""


def _library(name: str) -> str:
    """A library that is an engine too, in that engine's own spelling."""
    alias = ALIASES.get(name)
    return name if alias is None or alias.form.keys() != {"kind"} else str(alias.form["kind"])
