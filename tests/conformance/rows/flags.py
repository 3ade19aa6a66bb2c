"""Rows about flags and files that rewrite a configuration.

The command line reads flags into `Rewrites`; `intarsia.config.cli_overrides` lays them over a file and the built-in
settings.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from intarsia.config import CompilationConfig
from intarsia.config.cli_overrides import Rewrites
from intarsia.target import KINDS
from tests.command_flags import merge, read_flags, read_line
from tests.conformance.rows.configs import leaves
from tests.conformance.rows.diagnostics import expect_error
from tests.conformance.rows.facts import check_target, plain
from tests.conformance.rows.row import Row, form

Options = Mapping[str, Mapping[str, Any]]


def run_flags(row: Row) -> None:
    """Flags alone: what they say of targets, executor and runtime, and what is none of them."""
    given = {"executor": row.input["default"]} if "default" in row.input else None
    if row.error:
        expect_error(row, lambda: merge(builtin=given, rewrites=read_flags(row.input["argv"])))
        return
    line = read_line(row.input["argv"])
    rewrites = line.rewrites
    for name, wanted in row.expect.items():
        match name:
            case "options":
                assert wanted in [_plain(said) for said in _all_options(rewrites)]
            case "left_over":
                assert list(line.rest) == wanted
            case "config":
                assert line.config == wanted
            case "entity":
                assert (rewrites.executor, rewrites.runtime) == (wanted, wanted)
            case "executor" | "runtime":
                assert _kind_of(merge(builtin=given, rewrites=rewrites)[name]) == wanted
            case _:
                assert wanted in _spellings(rewrites.options, name)


def _all_options(rewrites: Rewrites) -> tuple[Options, ...]:
    return rewrites.options, rewrites.executor_options, rewrites.runtime_options


def _plain(options: Options) -> dict[str, dict[str, Any]]:
    return {kind: {name: plain(value) for name, value in stated.items()} for kind, stated in options.items() if stated}


def _kind_of(form: Any) -> Any:
    return form["kind"] if isinstance(form, Mapping) else form


def _spellings(options: Options, flag: str) -> Iterator[Any]:
    """The value of ``target_<kind>_<option>``, and its text."""
    for kind, stated in options.items():
        for name, value in stated.items():
            if flag.replace("-", "_") == f"target_{kind}_{name}".replace("-", "_"):
                yield plain(value)
                yield KINDS[kind].options[name].type.text(value)


def run_options(row: Row) -> None:
    """A list of targets as text, and options by kind as flags state them."""
    rewrites = Rewrites(target=row.input["target"], options=row.input["options"])
    config = CompilationConfig.of(merge(rewrites=rewrites))
    devices = [target for target in leaves(config) if target.kind.level == "device"]
    engines = [target for target in leaves(config) if target.kind.level == "engine"]
    for name, wanted in row.expect.items():
        match name:
            case "target_text_contains":
                assert [part for part in wanted if part in str(devices[0])] == wanted
            case "host_text_contains":
                assert [part for part in wanted if part in str(config.host)] == wanted
            case "extra":
                assert [target.kind.name for target in engines] == [extra["name"] for extra in wanted]
                for target, extra in zip(engines, wanted, strict=True):
                    check_target(target, {"attrs": extra["opts"]})
            case _:
                raise AssertionError(f"no check for the fact {name!r}")


def run_merge(row: Row) -> None:
    """Built-in settings, a file, and flags, merged."""
    merged = merge(
        builtin=row.input.get("builtin"),
        default_file=row.input.get("default_file"),
        file=row.input.get("file"),
        rewrites=read_flags(row.input.get("argv", ())),
    )
    if "merged" in row.expect:
        assert merged == row.expect["merged"]
    for name, wanted in row.expect.items():
        if name != "merged":
            assert merged[name.removeprefix("merged_")] == wanted


def run_file(row: Row) -> None:
    """A configuration file, and the flags that would say the same."""
    merged = merge(file=row.input["config"])
    for entry in row.expect["rewrites"]:
        ((flag, wanted),) = entry.items()
        assert wanted in _said_by(merged, flag), f"{flag}={wanted!r}"


def _said_by(merged: Mapping[str, Any], flag: str) -> Iterator[Any]:
    """What a merged configuration says for the name of a flag."""
    if flag == "target":
        yield ", ".join(target["kind"] for target in merged["targets"])
    for target in merged["targets"]:
        stated = {f"target_{target['kind']}_{name}".replace("-", "_"): value for name, value in target.items()}
        if flag.replace("-", "_") in stated:
            yield stated[flag.replace("-", "_")]
    for name, value in merged.items():
        plain_name = name.replace("-", "_")
        if flag == plain_name:
            yield _kind_of(value) if plain_name in {"executor", "runtime"} else value
            if isinstance(value, Mapping):
                yield [f"{key}={item}" for key, item in value.items()]
        elif isinstance(value, Mapping) and "kind" in value:
            stated = {f"{plain_name}_{value['kind']}_{key}".replace("-", "_"): item for key, item in value.items()}
            if flag in stated:
                yield stated[flag]


FORMS = (
    form(run_merge, "builtin", "default_file file argv"),
    form(run_flags, "argv", "default", areas="cli"),
    form(run_options, "target options", areas="cli"),
    form(run_file, "config", areas="cli"),
)
