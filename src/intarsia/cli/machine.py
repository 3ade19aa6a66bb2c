"""What verbs that take a machine share: ``--target``, the flags of every kind, ``--config``, and their help.

`intarsia.config.cli_overrides` merges what they say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from intarsia.cli.kind_options import PREFIXES, KindOption, kind_options, print_flags, with_values, write_names
from intarsia.errors import ConfigError, IntarsiaError, SpecError

if TYPE_CHECKING:
    from intarsia.config import CompilationConfig
    from intarsia.config.cli_overrides import Merged, Rewrites

SETTINGS = (
    *("threads", "budget", "max-memory", "store", "shape", "partition", "plan", "constraints", "seed", "strict"),
    *("strict-machine", "max-error", "objective", "max-latency"),
)
"""Flags that a configuration file may state beside the fields of a configuration."""

_TEXTS = ("target", "config", "executor", "runtime", "set")
"""Flags of the machine that take one text."""
_KINDS, _FILE, _ASKS_HELP, _MACHINE = (f"intarsia.{what}" for what in ("kinds", "file", "asks_help", "machine"))
_HELP = frozenset({"-h", "--help", "--help-targets"})


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """A configuration file that flags are laid over; without a name where there is none."""

    name: str = ""
    form: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What flags and file say of the machine; not ``is_stated`` where both say nothing of it."""

    merged: Merged
    config: CompilationConfig
    is_stated: bool
    file_name: str


def machine_of(context: click.Context) -> Machine:
    """What the command line of this verb says of the machine."""
    machine: Machine = context.meta[_MACHINE]
    return machine


class KindCommand(click.Command):
    """A verb with `machine_options` and the flags of every kind, of which it declares those that it is called with."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """As of any command, and the flags of kinds that stand on the command line."""
        return [*super().get_params(ctx), *ctx.meta.get(_KINDS, ())]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As of any command; a value of the machine that begins with a dash needs the ``=``."""
        ctx.meta[_KINDS] = kind_options(args)
        if not ctx.resilient_parsing:  # else a shell asks for completions
            named = [param for param in self.params if param.name in _TEXTS]
            args = with_values(args, [*named, *ctx.meta[_KINDS]])
        return super().parse_args(ctx, args)


def rewrites_of(context: click.Context) -> Rewrites:
    """What the flags of a `KindCommand` say; they are taken out of the parameters of the verb."""
    from intarsia.config.cli_overrides import Rewrites

    options: dict[str, dict[str, dict[str, Any]]] = {"target": {}, "executor": {}, "runtime": {}}
    stated: list[KindOption] = context.meta[_KINDS]
    for option in stated:
        value, flag = context.params.pop(str(option.name)), option.flag
        if value is not None:  # else it stands behind ``--``
            options[flag.level].setdefault(flag.kind, {})[flag.option.name] = value
    target, executor, runtime, paths = (context.params.pop(name) for name in ("target", "executor", "runtime", "set"))
    return Rewrites(
        target=target,
        options=options["target"],
        executor=executor,
        runtime=runtime,
        executor_options=options["executor"],
        runtime_options=options["runtime"],
        paths=tuple(paths),
    )


class MachineCommand(KindCommand):
    """A verb whose parameter ``target`` is the configuration that flags and file come to; ``None`` if they say none."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the words, with the settings of the file as defaults, and merge what they say of the machine."""
        ctx.meta[_FILE] = File()
        ctx.meta[_ASKS_HELP] = not _HELP.isdisjoint(args)
        try:
            left = super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            raise _with_kinds(error) from None
        except click.BadParameter as error:
            if error.param is None or ctx.get_parameter_source(str(error.param.name)) != ParameterSource.DEFAULT_MAP:
                raise
            raise ConfigError(f"{ctx.meta[_FILE].name}: {error.format_message()}") from None
        if not ctx.resilient_parsing:
            del ctx.params["config"]
            machine = ctx.meta[_MACHINE] = _merged(rewrites_of(ctx), ctx.meta[_FILE])
            ctx.params["target"] = machine.config if machine.is_stated else None
        return left

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """What click completes, and the flags of the kinds."""
        found = super().shell_complete(ctx, incomplete)
        if incomplete.startswith(PREFIXES):
            from intarsia.config.cli_overrides.flags import all_flags

            found += [CompletionItem(flag) for flag in map(str, all_flags()) if flag.startswith(incomplete)]
        return found

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The declared options, then in short those of every kind."""
        super().format_options(ctx, formatter)
        write_names(formatter)


def _merged(said: Rewrites, file: File) -> Machine:
    from intarsia.config import CompilationConfig
    from intarsia.config.cli_overrides import merge_all

    builtin = {"targets": [{"kind": "llvm"}]}
    merged = merge_all(builtin=builtin, file=file.form, file_name=file.name, rewrites=said)
    return Machine(
        merged=merged,
        config=CompilationConfig.of(dict(merged.form)),
        is_stated=any(stated.by != "built-in" for stated in merged.origins.values()),
        file_name=file.name,
    )


def _read_file(ctx: click.Context, _: click.Parameter, name: str | None) -> str | None:
    """Read the file of ``--config`` before the other parameters, whose defaults it states: the callback of that."""
    if ctx.resilient_parsing:
        return name
    from intarsia.config.cli_overrides.forms import settings_of
    from intarsia.config.files import find_config, read_config

    try:
        path = find_config(name)
        if path is not None:
            file = ctx.meta[_FILE] = File(name=str(path), form=read_config(path))
            ctx.default_map = _defaults(ctx.command, file.name, settings_of(file.form or {}))
    except IntarsiaError:
        if not ctx.meta[_ASKS_HELP]:
            raise
    return name


def _defaults(command: click.Command, file_name: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a file, as click takes them: texts by the name of the parameter."""
    flags = {option.lstrip("-"): param for param in command.params for option in param.opts}
    found: dict[str, Any] = {}
    for name, value in settings.items():
        flag = name.replace("_", "-")
        if flag not in SETTINGS:
            from intarsia.spec.problems import nearest

            hint = nearest(flag, SETTINGS, f"settings are {', '.join(SETTINGS)}")
            raise ConfigError(f"{file_name}: {name!r} is no field of a configuration and no setting{hint}")
        if flag in flags and value is not None:
            found[str(flags[flag].name)] = _said(flags[flag], name, value, file_name)
    return found


def _said(param: click.Parameter, name: str, value: object, file_name: str) -> object:
    """A setting as a command line has it, or a `ConfigError`; if an option repeats, a map is several ``name=value``."""

    def one(item: object) -> str:
        wanted = "true or false" if getattr(param, "is_flag", False) else "text or a number"
        if isinstance(item, str) or (isinstance(item, bool) if wanted.startswith("true") else _is_number(item)):
            return str(item)
        raise ConfigError(f"{file_name}: {name!r} is {wanted}, found {shown(item)}")

    from intarsia.spec.problems import shown

    if param.multiple and isinstance(value, Mapping):
        return [f"{key}={one(item)}" for key, item in value.items()]
    return [one(item) for item in value] if param.multiple and isinstance(value, list) else one(value)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _with_kinds(error: click.NoSuchOption) -> click.NoSuchOption:
    """The same error, which also knows the flags of the kinds."""
    if not error.option_name.startswith(PREFIXES):
        return error
    from intarsia.config.cli_overrides.flags import all_flags
    from intarsia.spec.problems import closest

    near = closest(error.option_name, map(str, all_flags()))
    hints = error.possibilities if near is None else [near]
    return click.NoSuchOption(error.option_name, possibilities=hints, ctx=error.ctx)


class TargetText(click.ParamType[str]):
    """The text of a target, or of the file whose path it is."""

    name = "target"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The text; what it means is read when all is merged."""
        from intarsia.config.files import target_text

        return target_text(value)


class Place(click.ParamType[tuple[str, str]]):
    """``PATH=VALUE`` as a pair of texts."""

    name = "place"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        """The pair, or a `SpecError`."""
        path, equals, text = value.partition("=")
        if not equals:
            raise SpecError(f"--set {value}: write PATH=VALUE, such as targets[1].mcpu=cortex-a72")
        return path, text


def complete_target(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Kinds, aliases and tags for the last of the targets that stand there; tags once their vendor does."""
    from intarsia.target import ALIASES, KINDS, list_tags

    before, comma, last = incomplete.rpartition(",")
    start = before + comma + last[: len(last) - len(last.lstrip())]
    names = [*KINDS, *ALIASES]
    tags = list(list_tags())
    names += tags if "/" in last else dict.fromkeys(f"{tag.partition('/')[0]}/" for tag in tags)
    return [CompletionItem(start + name) for name in names if name.startswith(last.lstrip())]


machine_options = (
    click.option(
        "--target",
        metavar="SPEC",
        type=TargetText(),
        shell_complete=complete_target,
        help="Engines or devices with their options, most preferred first; a tag, JSON, or a file of these. "
        "[default: every usable engine]",
    ),
    click.option(
        "--config",
        metavar="NAME|PATH",
        is_eager=True,
        callback=_read_file,
        help="Configuration file that the flags are laid over. [default: the one named 'default', if there is one]",
    ),
    click.option("--executor", metavar="SPEC", help="How the whole model is driven."),
    click.option("--runtime", metavar="SPEC", help="What loads and runs the compiled model."),
    click.option(
        "--set",
        metavar="PATH=VALUE",
        type=Place(),
        multiple=True,
        help="Change one place of the configuration, such as targets[1].mcpu=cortex-a72.",
    ),
    click.option(
        "--help-targets",
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=print_flags,
        help="Explain the flags of every kind, which are listed below, and exit.",
    ),
)
"""The flags of a `MachineCommand`, those of kinds aside."""
