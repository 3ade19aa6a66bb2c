"""Facts that rows state about a target, and the notation in which rows write one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from intarsia.spec import Spec
from intarsia.target import DEVICE_TYPES, Target

Check = Callable[[Target, Any], None]


def target_of(form: Any) -> Target:
    """The target of a form of the language, or of ``{"target": form, "host": form}``, as rows write two arguments."""
    if isinstance(form, Mapping) and "target" in form:
        return Target(form["target"], form.get("host"))
    return Target(form)


def form_of(form: Any) -> object:
    """What to hand over for an element of a list of targets in the notation of `target_of`."""
    return target_of(form) if isinstance(form, Mapping) and "target" in form else form


def kind_name(name: str) -> str:
    """The name of the kind that a name or an older spelling of it means."""
    return Target(name).kind.name


def plain(value: Any) -> Any:
    """A value as JSON has it."""
    if isinstance(value, Spec):
        return value.export()
    if isinstance(value, Mapping):
        return {name: plain(item) for name, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, tuple | list) else value


def check_target(target: Target, facts: Mapping[str, Any]) -> None:
    """All these facts hold for the target.

    Raises:
        AssertionError: One does not, or nobody knows how to check it.
    """
    for name, wanted in facts.items():
        assert name in FACTS, f"no check for the fact {name!r} of a target"
        FACTS[name](target, wanted)


def is_truth(value: object) -> bool:
    """A feature that is not known is one that is not there."""
    return bool(value)


def _kind(target: Target, wanted: str) -> None:
    assert target.kind.name == wanted


def _tag(target: Target, wanted: str) -> None:
    assert target.tag == wanted


def _tags(target: Target, wanted: list[str]) -> None:
    assert list(target.tags) == wanted


def _keys(target: Target, wanted: list[str]) -> None:
    assert list(target.keys) == wanted


def _keys_set(target: Target, wanted: list[str]) -> None:
    assert set(target.keys) == set(wanted)


def _attrs(target: Target, wanted: Mapping[str, Any]) -> None:
    assert {name: plain(target[name]) for name in wanted} == wanted


def _attrs_set(target: Target, wanted: Mapping[str, list[str]]) -> None:
    assert {name: set(target[name]) for name in wanted} == {name: set(items) for name, items in wanted.items()}


def _absent(target: Target, wanted: list[str]) -> None:
    assert not target.options.keys() & set(wanted)


def _host(target: Target, wanted: Any) -> None:
    if wanted is None:
        assert target.host is None
        return
    assert target.host is not None
    if isinstance(wanted, Mapping):
        check_target(target.host, wanted)
    else:
        assert target.host == Target(wanted)


def _text(target: Target, wanted: str) -> None:
    assert Target(wanted) == target == Target(str(target))


def _round_trip(target: Target, wanted: bool) -> None:
    assert wanted
    for again in (Target(str(target)), Target(target.json()), Target(target.export())):
        assert (again, again.tags) == (target, target.tags)


def _features(target: Target, wanted: Mapping[str, bool]) -> None:
    assert {name: bool(getattr(target.features, name)) for name in wanted} == wanted


def _is_a_profile(target: Target, wanted: bool) -> None:
    """A-profile CPUs are those of which some feature of that profile is known."""
    profile = ("is_aarch64", "has_asimd", "has_sve", "has_dotprod", "has_matmul_i8", "has_fp16_simd", "has_sme")
    assert any(getattr(target.features, name) for name in profile) == wanted


def _device_type(target: Target, wanted: int) -> None:
    assert DEVICE_TYPES[target.device_type] == wanted


def _devices(target: Target, wanted: list[str]) -> None:
    assert [device.kind.name for device in target["devices"]] == wanted


FACTS: Mapping[str, Check] = MappingProxyType(
    {
        "kind": _kind,
        "tag": _tag,
        "tags": _tags,
        "keys": _keys,
        "keys_set": _keys_set,
        "attrs": _attrs,
        "attrs_set": _attrs_set,
        "absent_attrs": _absent,
        "host": _host,
        "text": _text,
        "text_round_trip": _round_trip,
        "features": _features,
        "is_a_profile": _is_a_profile,
        "device_type": _device_type,
        "devices": _devices,
    }
)
"""Every fact that a row can state about a target."""
