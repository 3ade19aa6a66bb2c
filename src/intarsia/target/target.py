"""`Target`: what code is generated for or by, as one frozen value, and tags that name such values.

A target holds no device index, no executor and nothing of how a plan is searched.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Self

from intarsia.errors import SpecError
from intarsia.spec import Level, Registry, Spec, Tag, read
from intarsia.spec.types import Value
from intarsia.target.kinds import KINDS, TargetKind, plugin_kind

TAGS: Registry[Tag] = Registry("tag")
"""Tags of every level, by name."""

_EXECUTOR = "how a whole model is driven belongs to the executor of a compilation configuration"
_RUNTIME = "what runs the compiled model belongs to the runtime of a compilation configuration"
_SEARCH = "how a plan is searched is a setting of compile(), not part of a machine"
ELSEWHERE: Mapping[str, str] = MappingProxyType(
    {
        "executor": _EXECUTOR,
        "link-params": _EXECUTOR,
        "unpacked-api": _EXECUTOR,
        "interface-api": _EXECUTOR,
        "workspace-byte-alignment": _EXECUTOR,
        "constant-byte-alignment": _EXECUTOR,
        "runtime": _RUNTIME,
        "system-lib": _RUNTIME,
        "partition": _SEARCH,
        "budget": _SEARCH,
        "seed": _SEARCH,
        "min-nodes": _SEARCH,
        "min-flops": _SEARCH,
        "spin": "what idle threads may do is a setting of the plan",
    }
)
"""Options that a target refuses, each with where it goes."""


class Target(Spec[TargetKind]):
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
        stated = spec.options.get("host")
        options = dict(spec.options)
        if host is not None:
            options["host"] = read(LEVEL, host, path="host")
            if stated not in (None, options["host"]) and not spec.tags and not isinstance(form, Target):
                raise SpecError(f"host: the target states {str(stated)!r} and the argument {str(options['host'])!r}")
        self._fix(spec.kind, options, spec.tags)

    @property
    def host(self) -> Target | None:
        """The target of the code that drives this one, where stated."""
        host = self.options.get("host")
        return host if isinstance(host, Target) else None

    @property
    def device_type(self) -> str:
        """Name of the device it runs on: that of its ``base`` where stated, else the kind's."""
        base = self.options.get("base")
        return base.device_type if isinstance(base, Target) else self.kind.device_type

    @property
    def keys(self) -> tuple[str, ...]:
        """Strategy families, most specific first: those stated, else the device and the kind's own."""
        device = self._stated_device()
        stated = self.options.get("keys")
        keys = (*device, *self.kind.default_keys) if stated is None else (*stated, *device)
        return tuple(dict.fromkeys(keys))

    @property
    def libs(self) -> tuple[str, ...]:
        """Libraries that generated code may call, sorted."""
        libs: tuple[str, ...] = self.options.get("libs", ())
        return libs

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

    def _stated_device(self) -> tuple[str, ...]:
        device = self.options.get("device")
        return () if device is None else (device,)


LEVEL = Level(name="target", type=Target, kinds=KINDS, tags=TAGS, elsewhere=ELSEWHERE, plugin=plugin_kind)
"""The level of the spec language whose values are targets."""


def register_tag(
    name: str,
    form: object,
    *,
    variants: Mapping[str, object] | None = None,
    source: str = "",
    override: bool = False,
) -> Target:
    """Name a target, and return it. See `intarsia.spec.Tag` for the parameters.

    Raises:
        SpecError: The name is a kind's, or taken and ``override`` was not asked for; or the form is not a target.
    """
    tag = Tag(name=name, level="target", form=form, variants=MappingProxyType(dict(variants or {})), source=source)
    if name in KINDS:
        raise SpecError(f"{name!r} is a target kind, so it cannot name a tag")
    with TAGS.scope():
        TAGS.register(name, tag, override=override)
        for variant in tag.variants:
            Target(f"{name}:{variant}")
        target = Target(name)
    TAGS.register(name, tag, override=override)
    return target
