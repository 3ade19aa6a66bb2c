"""Rows about a configuration: hosts, default devices, orders, lookups, and the older forms of a list of targets."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from intarsia.config import CompilationConfig
from intarsia.devices import complete, resolve
from intarsia.target import DEVICE_TYPES, TAGS, Target, VirtualDevice, least_specialised, register_tag
from tests.conformance.rows.diagnostics import expect_error
from tests.conformance.rows.facts import form_of, target_of
from tests.conformance.rows.fixtures import kinds_of
from tests.conformance.rows.row import Row, form
from tests.conformance.rows.virtual_devices import device_of


def leaves(config: CompilationConfig) -> tuple[Target, ...]:
    """The targets of a configuration of which none is itself a configuration."""
    found = tuple(target for target in config.targets if isinstance(target, Target))
    assert len(found) == len(config.targets)
    return found


def config_of(row: Row) -> CompilationConfig:
    """The configuration of the targets of a row, with its default device."""
    form: dict[str, Any] = {"targets": [form_of(target) for target in row.input["targets"]]}
    default = row.input.get("fallback_device", row.input.get("fallback_device_type"))
    if default is not None:
        form["default_device"] = default
    return CompilationConfig.of(form)


def run_config(row: Row) -> None:
    """A configuration of targets: facts about it, or the error of making it."""
    with kinds_of(row):
        if row.error:
            expect_error(row, lambda: config_of(row))
            return
        config = config_of(row)
        for name, wanted in row.expect.items():
            _check(config, name, wanted)


def _check(config: CompilationConfig, name: str, wanted: Any) -> None:
    targets = leaves(config)
    match name:
        case "host":
            assert config.host == Target(wanted)
        case "host_virtual_device":
            assert [config.host.device_type, 0] == wanted
        case "primitive_hosts":
            assert [config.host for _ in targets] == [Target(host) for host in wanted]
        case "primitive_kinds" | "partition_order":
            assert [target.kind for target in targets] == [Target(kind).kind for kind in wanted]
        case "primitive_count":
            assert len(targets) == wanted
        case "homogeneous":
            assert (targets[0] if len(targets) == 1 else None) == (None if wanted is None else targets[wanted])
        case "default_primitive":
            _check_default(config, wanted)
        case "fallback":
            assert targets[-1].kind == Target(wanted).kind
        case _:
            assert name.startswith("least_specialised_for_"), f"no check for the fact {name!r} of a configuration"
            assert least_specialised(targets, name.removeprefix("least_specialised_for_")) == Target(wanted)


def _check_default(config: CompilationConfig, wanted: Mapping[str, Any]) -> None:
    default = config.default_device
    assert (default.device, default.index or 0) == (wanted["device"], wanted["id"])
    assert default.target == leaves(config)[wanted["target_index"]]


def run_find_device(row: Row) -> None:
    """The target of a configuration that a device type means."""
    with kinds_of(row):
        config = config_of(row)
        if row.error:
            wanted = VirtualDevice(device=row.input["find_device"])
            expect_error(row, lambda: complete(config, wanted))
            return
        assert least_specialised(leaves(config), row.input["find_device"]) == Target(row.expect["target"])
        assert config.host == Target(row.expect["host"])


def run_find_kind(row: Row) -> None:
    """The first target of a configuration of some kind; a name that is no kind has none."""
    with kinds_of(row):
        found = [target for target in leaves(config_of(row)) if target.kind.name == row.input["find_kind"]]
        wanted = row.expect["target"]
        assert found[:1] == ([] if wanted is None else [Target(wanted)])


def run_canonical_target(row: Row) -> None:
    """Which part of a configuration a target equals: values are compared, so no two objects need be one."""
    with kinds_of(row):
        config, target = config_of(row), target_of(row.input["canonical_target"])
        part, _, device = row.expect["same_object_as"].partition(" ")
        bare = target.with_host(None)
        if part == "host":
            assert bare == config.host
        else:
            assert bare in [other for other in leaves(config) if other.device_type == device]


def run_canonical_device(row: Row) -> None:
    """A device with the target filled in that the configuration has for its type; one of no type stays as it is."""
    with kinds_of(row):
        config = config_of(row)
        given = device_of(row.input["canonical_virtual_device"])
        fill = resolve if given.device is None else complete
        if row.error:
            expect_error(row, lambda: fill(config, given))
            return
        found, wanted = fill(config, given), row.expect["target"]
        assert found.target == (None if wanted is None else Target(wanted))
        assert (found == fill(config, found)) == row.expect["interned"]


def run_older_form(row: Row) -> None:
    """One target, a list, or a map from device type to target; perhaps with a host beside it."""
    given = row.input["canon_multi"]
    form: object = given
    if isinstance(given, Mapping) and "kind" not in given:
        form = {_device_type(key): form_of(target) for key, target in given.items()}
    elif isinstance(given, list):
        form = [form_of(target) for target in given]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        config = CompilationConfig.of(form)
        if "host" in row.input:
            config = CompilationConfig.of({"targets": list(config.targets), "host": row.input["host"]})
    assert [target.kind.name for target in leaves(config)] == row.expect["kinds"]
    if "hosts" in row.expect:
        assert [config.host for _ in config.targets] == [Target(host) for host in row.expect["hosts"]]


def _device_type(key: str) -> str:
    """The name of a device type that a map writes as a number."""
    return next((name for name, code in DEVICE_TYPES.items() if str(code) == key), key)


def run_priority_list(row: Row) -> None:
    """Targets in the order they are tried, whatever the row says they mean."""
    config = CompilationConfig.of(row.input["targets"])
    for name, wanted in row.expect.items():
        _check(config, name, wanted)


def run_tagged_config(row: Row) -> None:
    """A tag of a whole configuration as the one argument of a build. The tag itself is nobody's, so it is made here."""
    name = row.input["build_argument"]
    form = {"targets": ["cuda", "llvm"], "executor": "vm", "runtime": "cpp", "host": "llvm"}
    with TAGS.scope():
        register_tag(name, form, level="config")
        config = CompilationConfig.of(name)
    assert config == CompilationConfig.of(form)
    assert name in config.tags
    assert (config.executor.kind.name, config.runtime.kind.name, config.host) == ("vm", "cpp", Target("llvm"))
    assert isinstance(config.default_device, VirtualDevice)


LOOKUPS = "kinds fallback_device fallback_device_type"
FORMS = (
    form(run_config, "targets", LOOKUPS, areas="config"),
    form(run_priority_list, "targets meaning", areas="config"),
    form(run_find_device, "targets find_device", LOOKUPS),
    form(run_find_kind, "targets find_kind", LOOKUPS),
    form(run_canonical_target, "targets canonical_target", LOOKUPS),
    form(run_canonical_device, "targets canonical_virtual_device", LOOKUPS),
    form(run_older_form, "canon_multi", "host"),
    form(run_tagged_config, "build_argument"),
)
