"""`Target`: what code is generated for or by, as one frozen value.

A target holds no device index, no executor and nothing of how a plan is searched.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Self

from intarsia.errors import SpecError
from intarsia.spec import Level, Spec, read
from intarsia.spec.schema import Options
from intarsia.spec.types import Value
from intarsia.target.aliases import ALIASES, ELSEWHERE
from intarsia.target.facts import DeviceFacts
from intarsia.target.kinds.catalogue import KINDS, plugin_kind
from intarsia.target.kinds.kind import TargetKind
from intarsia.target.tags import TAGS

if TYPE_CHECKING:
    from intarsia.target.features import Features
_SCOPE: ContextVar[tuple[Target, ...]] = ContextVar("targets in scope", default=())
"""The targets of the ``with`` blocks around the caller, innermost last. Each thread and each task has its own."""
_NOT_COMPARED = frozenset({"base", "host", "keys"})
"""Options that say the same of different things: an engine's keys are its own, and hosts are merged by the config."""


class Target(DeviceFacts, Spec[TargetKind]):
    """A target, from any form: a kind, options, a tag, JSON text, a dict, or another target.

    ``host`` is the target of the code that drives it, in any form. It takes the place of the host of an existing
    target, or of one that a tag brings; a form that states a different one itself is an error.

    Example:
        >>> t = Target("onnxruntime -optimization-level=extended --threads 2")
        >>> t["optimization-level"], t["execution-mode"], dict(t.options)
        ('extended', 'sequential', {'optimization-level': 'extended', 'threads': 2})
        >>> str(t)
        'onnxruntime -optimization-level=extended -threads=2'

    Raises:
        SpecError: With every problem, its place, and the nearest legal spelling.
    """

    __slots__ = ()

    def __init__(self, form: object, host: object = None) -> None:
        spec = read(LEVEL, form)
        if host is None:
            self._be(spec)
            return
        chief, driver = read(LEVEL, form, alone=False), read(LEVEL, host, path="host")
        stated = chief.options.get("host")
        if stated not in (None, driver) and not chief.tags and not isinstance(form, Target):
            raise SpecError(f"host: the target states {str(stated)!r} and the argument {str(driver)!r}; leave one out")
        driven = Target.of_parts(chief.kind, {**chief.options, "host": driver}, chief.tags)
        self._be(driven if chief.kind is spec.kind else LEVEL.whole(driven))

    @classmethod
    def of_parts(cls, kind: TargetKind, options: Options, tags: tuple[str, ...]) -> Self:
        """As of any spec. A device that states its ``compiler`` is the target of that engine, on it as the base."""
        compiler = options.get("compiler")
        if not isinstance(compiler, Target) or compiler.kind.level != "engine":
            return super().of_parts(kind, options, tags)
        of_engine = {name: options[name] for name in ("host", "threads") if name in options}
        base = {name: value for name, value in options.items() if name not in of_engine and name != "compiler"}
        of_base = super().of_parts(kind, base, tags)
        options = {**of_engine, **compiler.options, "base": of_base}
        return super().of_parts(compiler.kind, options, compiler.tags)

    @classmethod
    def detect(cls) -> Target:
        """This machine's CPU as a target that states what was found: processor, features, cores it may use."""
        from intarsia.target.hardware import cpu_options

        return cls(cpu_options())

    @classmethod
    def from_device(cls, device: str, index: int = 0) -> Target:
        """A device of this machine as a target that states what was found, as ``cuda`` or ``cuda:1``.

        Raises:
            SpecError: It is no device type that can be looked at, or there is no such device.
        """
        from intarsia.target.hardware import options_at

        return cls(options_at(device, index))

    @classmethod
    def current(cls, *, allow_none: bool = True) -> Target | None:
        """The target of the innermost ``with target:`` around the caller in this thread or task.

        Raises:
            SpecError: There is none, and ``allow_none`` is false.
        """
        stack = _SCOPE.get()
        if not stack and not allow_none:
            raise SpecError("no target is in scope; pass one, or call inside 'with Target(…):'")
        return stack[-1] if stack else None

    def __enter__(self) -> Self:
        _SCOPE.set((*_SCOPE.get(), self))
        return self

    def __exit__(self, *exception: object) -> None:
        *around, innermost = _SCOPE.get() or (None,)
        if innermost is not self:  # blocks were left in another order than they were entered
            raise SpecError(
                f"cannot leave the scope of {str(self)!r}: the innermost scope is that of {str(innermost)!r}"
            )
        _SCOPE.set(tuple(filter(None, around)))

    @property
    def host(self) -> Target | None:
        """The target of the code that drives this one, where stated."""
        host = self.options.get("host")
        return host if isinstance(host, Target) else None

    @property
    def base(self) -> Target | None:
        """The device target that an engine's target generates code for, where stated."""
        base = self.options.get("base")
        return base if isinstance(base, Target) else None

    @property
    def device_type(self) -> str:
        """Name of the device it runs on: as stated, else that of its ``base``, else the kind's."""
        return self.kind.device_type_of(self.options)

    @property
    def keys(self) -> tuple[str, ...]:
        """Strategy families, most specific first: those stated, else the device's, the processor's and the kind's."""
        return self.kind.keys(self.options)

    @property
    def features(self) -> Features:
        """What the device can do, derived from the options by table: ``t.features.has_avx512f``.

        An engine's target has the features of its ``base``.
        """
        from intarsia.target.features import Features, features_of

        device = self.base or self
        if device.kind.facts is not None:
            return Features(device.kind.facts(device.options))
        return features_of(device.kind.name, device.options)

    def refines(self, other: Target) -> bool:
        """Whether this is an engine's target, and the other a device target that it can generate code for.

        Both are of one device type, and agree in all that both state; so does this one's ``base``, where stated.
        """
        if self.device_type != other.device_type or not self.kind.takes(other.kind, other.device_type):
            return False
        base = self.base
        return self._agrees(other) and (base is None or (base.kind is other.kind and base._agrees(other)))

    def _agrees(self, other: Target) -> bool:
        """Whether both state the same of all that both state."""
        both = self.options.keys() & other.options.keys() - _NOT_COMPARED
        return all(self.options[name] == other.options[name] for name in both)

    def with_options(self, options: Mapping[str, Value]) -> Self:
        """A copy that states these options, given as in a dict; ``None`` takes one back.

        Raises:
            SpecError: The kind has no such option, or a value is not of its type.
        """
        removed = {name for name, value in options.items() if value is None}
        kept = {name: value for name, value in self.export().items() if name not in removed}
        return type(self)(kept | {name: value for name, value in options.items() if name not in removed})

    def with_host(self, host: object) -> Self:
        """A copy with this host, in any form; ``None`` takes it back."""
        return self.with_options({"host": host})


def target_or_current(form: object = None) -> Target:
    """The target of this form, else the one in scope; a `SpecError` where there is neither, or the form is none."""
    found = Target.current() if form is None else Target(form)
    if found is None:
        raise SpecError("target is not set: pass it as an argument, or call inside 'with Target(…):'")
    return found


def _machine_around(chief: Spec[Any]) -> Target:
    """The machine that an accelerator's alias means when it is all that is named: the rest is on the host."""
    assert isinstance(chief, Target)
    host = chief.host or Target("llvm")
    return Target({"kind": "composite", "devices": [chief.with_host(None)], "host": host})


LEVEL = Level(
    name="target",
    type=Target,
    kinds=KINDS,
    tags=TAGS,
    elsewhere=ELSEWHERE,
    aliases=ALIASES,
    whole=_machine_around,
    plugin=plugin_kind,
)
"""The level of the spec language whose values are targets."""
