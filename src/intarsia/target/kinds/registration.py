"""`register_kind`: kinds that are added while the program runs. Those of a package come by its entry points."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Literal

from intarsia.errors import SpecError
from intarsia.spec import Bool, Int, Option, Str
from intarsia.spec.schema import Options, fill_nothing, find_no_fault
from intarsia.spec.types import OptionType
from intarsia.target.aliases import ALIASES
from intarsia.target.kinds.catalogue import KINDS
from intarsia.target.kinds.declare import KindRules, device_kind, engine_kind
from intarsia.target.kinds.kind import Facts, TargetKind
from intarsia.target.tags import TAGS

_PLAIN: Mapping[type, OptionType] = {bool: Bool(), int: Int(), str: Str()}


def register_kind(
    name: str,
    options: Iterable[Option] | Mapping[str, object] = (),
    *,
    meaning: str = "",
    level: Literal["device", "engine"] = "engine",
    device_type: str = "cpu",
    keys: tuple[str, ...] | None = None,
    serves: tuple[str, ...] = (),
    partial: bool = False,
    fill: Callable[[Options], Options] = fill_nothing,
    check: Callable[[Options], Iterable[tuple[str, str]]] = find_no_fault,
    facts: Callable[[Options], Facts] | None = None,
    attrs: Mapping[str, object] | None = None,
    override: bool = False,
) -> TargetKind:
    """Add a target kind, and return it; inside ``with KINDS.scope():`` only until the block ends.

    Args:
        name: Its first word in text. What is not explained here is as in `TargetKind`.
        options: What may be stated; or for the plain types just name → default.
        keys: Its strategy families; by default an engine's is its device type, and a device has none.
        serves: For an engine the device kinds that its base may be; by default any of its device type.
        override: Whether it may take the place of a kind of this name.

    Raises:
        SpecError: The name or an option's is taken or cannot be written, the device type or a kind it serves is
            unknown, or a default is no str, int or bool.
    """
    _refuse_name(name, override=override)
    given = _plain_options(name, options) if isinstance(options, Mapping) else options
    rules: KindRules = {"fill": fill, "check": check, "facts": facts, "attrs": attrs or {}}
    if level == "device":
        kind = device_kind(name, meaning or "a device", given, device_type=device_type, keys=keys or (), **rules)
    else:
        for device in serves:
            if device not in KINDS or KINDS[device].level != "device":
                raise SpecError(f"target kind {name!r} serves {device!r}, which is not a device kind")
        about = meaning or "an engine"
        kind = engine_kind(
            name, about, given, device_type=device_type, keys=keys, serves=serves, partial=partial, **rules
        )
    KINDS.register(name, kind, override=override)
    return kind


def _refuse_name(name: str, *, override: bool) -> None:
    if name in KINDS and not override:
        raise SpecError(f"target kind {name!r} is already registered; pass override=True to replace it")
    if name in TAGS or name in ALIASES:
        word = "a tag" if name in TAGS else "another spelling of a target"
        raise SpecError(f"{name!r} is already registered as {word}, so it cannot be the name of a kind")
    if not name[:1].isalpha() or not name.replace("-", "_").replace(".", "_").isidentifier():
        raise SpecError(
            f"{name!r} cannot be the name of a target kind: it has letters, digits, '-', '_' and '.', a letter first"
        )


def _plain_options(kind: str, defaults: Mapping[str, object]) -> Iterator[Option]:
    for name, default in defaults.items():
        type_ = next((type_ for plain, type_ in _PLAIN.items() if isinstance(default, plain)), None)
        if type_ is None:
            found = type(default).__name__
            what = f"target kind {kind!r}, option {name!r}"
            raise SpecError(f"{what}: a default must be a str, int or bool, found {found}")
        yield Option(name=name, type=type_, default=default, meaning=f"{name} of {kind}")
