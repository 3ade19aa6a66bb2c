"""What every target kind declares, and how a device or engine kind is made. The kinds themselves are in `kinds`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypedDict, Unpack

from intarsia.errors import SpecError
from intarsia.spec import ExecutedPath, Int, ListOf, Option, Order, SpecOf, Str, schema
from intarsia.spec.schema import Options, choice
from intarsia.target.kinds.engine_choices import ENGINE_CHOICES
from intarsia.target.kinds.kind import Facts, TargetKind

HOST = Option(
    name="host",
    type=SpecOf("target"),
    meaning="the target of the code that drives the device; any kind, in any form",
    older=("target_host",),
)
THREADS = Option(name="threads", type=Int(minimum=1), unit="threads", meaning="cap on the threads of the plan")
BASE = Option(name="base", type=SpecOf("target"), meaning="the device target it generates code for")
COMPILER = Option(
    name="compiler",
    type=SpecOf("target"),
    meaning="the engine that generates the code: older spelling of that engine's target with this one as its base",
)
PYTHON = Option(
    name="python",
    type=ExecutedPath(),
    meaning="path of another interpreter that the engine is installed for: it compiles and runs there",
)
COMMON = (
    Option(name="keys", type=ListOf(Str()), meaning="strategy families, first match wins; replaces the kind's own"),
    Option(name="device", type=Str(), meaning="device family; put before the kind's own keys"),
    Option(name="model", type=Str(), meaning="product name, for tables and reports"),
    Option(name="libs", type=ListOf(Str(), Order.FREE), meaning="libraries that generated code may call"),
    Option(name="target_device_type", type=Int(), meaning="DLPack number of the device, where it is not the kind's"),
    HOST,
)
"""Options of every device and engine kind."""


class KindRules(TypedDict, total=False):
    """What a kind of either level may make of its targets' options, each as the attribute of `TargetKind`."""

    sure_keys: Callable[[Options], tuple[str, ...]]
    fill: Callable[[Options], Options]
    check: Callable[[Options], Iterable[tuple[str, str]]]
    facts: Callable[[Options], Facts] | None
    as_c: str
    attrs: Mapping[str, object]


def device_kind(
    name: str,
    meaning: str,
    options: Iterable[Option] = (),
    *,
    device_type: str = "cpu",
    keys: tuple[str, ...] = (),
    has_own_engine: bool = False,
    **rules: Unpack[KindRules],
) -> TargetKind:
    """A device kind: its own options and those that every device has.

    Raises:
        SpecError: The device type is unknown; an option is one that every device has already, or cannot be written.
    """
    return TargetKind(
        name=name,
        meaning=meaning,
        level="device",
        device_type=device_type,
        default_keys=keys,
        has_own_engine=has_own_engine,
        options=_options(name, options, (THREADS, COMPILER)),
        **rules,
    )


def engine_kind(
    name: str,
    meaning: str,
    options: Iterable[Option] = (),
    *,
    device_type: str = "cpu",
    keys: tuple[str, ...] | None = None,
    serves: tuple[str, ...] = (),
    runs_on: tuple[str, ...] | None = None,
    partial: bool = False,
    brings_device: bool = False,
    is_reference: bool = False,
    **rules: Unpack[KindRules],
) -> TargetKind:
    """An engine kind: its own options and those that every engine has; it runs on its device type if not stated.

    Raises:
        SpecError: The device type is unknown; an option is one that every engine has already, or cannot be written.
    """
    return TargetKind(
        name=name,
        meaning=meaning,
        level="engine",
        device_type=device_type,
        default_keys=(device_type,) if keys is None else keys,
        serves=serves,
        runs_on=(device_type,) if runs_on is None else runs_on,
        partial=partial,
        brings_device=brings_device,
        is_reference=is_reference,
        options=_options(name, options, (THREADS, BASE, PYTHON)),
        **rules,
    )


def chosen(engine: str) -> tuple[Option, ...]:
    """The options of an engine that are a choice of words, from the table of those."""
    table = ENGINE_CHOICES[engine]
    return tuple(choice(name, meaning, *words, default=default) for name, (meaning, words, default) in table.items())


def _options(name: str, own: Iterable[Option], usual: tuple[Option, ...]) -> Mapping[str, Option]:
    own = tuple(own)
    for option in own:
        if option.name in {known.name for known in (*usual, *COMMON)}:
            raise SpecError(f"target kind {name!r}: option {option.name!r} is already registered; every kind has it")
    try:
        return schema(own, usual, COMMON)
    except ValueError as error:
        raise SpecError(f"target kind {name!r}: {error}") from None
