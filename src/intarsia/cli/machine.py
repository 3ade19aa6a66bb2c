"""What verbs that take a machine share: ``--target``, the flags of every kind, ``--config``, and their help.

`intarsia.config.cli_overrides` reads these flags, and click reads the rest; so the flags of more than five hundred
options need not be declared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from intarsia.cli.complete import complete_target
from intarsia.cli.kinds_help import print_flags, write_names
from intarsia.errors import ConfigError, IntarsiaError

if TYPE_CHECKING:
    from intarsia.config.cli_overrides import Merged, Rewrites

SETTINGS = (
    *("threads", "budget", "max-memory", "store", "shape", "partition", "plan", "constraints", "seed", "strict"),
    "max-error",
)
"""Flags that a configuration file may state beside the fields of a configuration."""

_META = "intarsia.machine"
_HELP = frozenset({"-h", "--help", "--help-targets"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What flags and file say of the machine; not ``is_stated`` where both say nothing of it."""

    merged: Merged
    is_stated: bool
    file_name: str


def machine_of(context: click.Context) -> Machine:
    """What the command line of this verb says of the machine."""
    machine: Machine = context.meta[_META]
    return machine


class MachineCommand(click.Command):
    """A verb whose parameter ``target`` is the configuration that flags and file come to; ``None`` if they say none."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the flags of the machine, then let click read the rest, with the file's settings as its defaults."""
        from intarsia.config import CompilationConfig
        from intarsia.config.cli_overrides import parse_flags

        if ctx.resilient_parsing:  # a shell asks for completions
            return super().parse_args(ctx, args)
        said = parse_flags(args)
        try:
            machine = ctx.meta[_META] = _merged(said)
            ctx.default_map = self._defaults(machine)
        except IntarsiaError:
            if not _HELP.isdisjoint(said.rest):
                super().parse_args(ctx, list(said.rest))  # prints the help, and leaves
            raise
        try:
            left = super().parse_args(ctx, list(said.rest))
        except click.NoSuchOption as error:
            raise _with_kinds(error) from None
        except click.BadParameter as error:
            if error.param is None or ctx.get_parameter_source(str(error.param.name)) != ParameterSource.DEFAULT_MAP:
                raise
            raise ConfigError(f"{machine.file_name}: {error.format_message()}") from None
        ctx.params["target"] = CompilationConfig.of(dict(machine.merged.form)) if machine.is_stated else None
        return left

    def _defaults(self, machine: Machine) -> dict[str, Any]:
        """The settings of the file, as click takes them: texts by the name of the parameter."""
        flags = {option.lstrip("-"): param for param in self.params for option in param.opts}
        found: dict[str, Any] = {}
        for name, value in machine.merged.settings.items():
            flag = name.replace("_", "-")
            if flag not in SETTINGS:
                from intarsia.spec.problems import nearest

                hint = nearest(flag, SETTINGS, f"settings are {', '.join(SETTINGS)}")
                raise ConfigError(f"{machine.file_name}: {name!r} is no field of a configuration and no setting{hint}")
            if flag in flags and value is not None:
                found[str(flags[flag].name)] = _said(flags[flag], name, value, machine.file_name)
        return found

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """What click completes, and the flags of the kinds."""
        found = super().shell_complete(ctx, incomplete)
        if incomplete.startswith(("--target-", "--executor-", "--runtime-")):
            from intarsia.config.cli_overrides.flags import all_flags

            found += [CompletionItem(flag) for flag in map(str, all_flags()) if flag.startswith(incomplete)]
        return found

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The declared options, then in short those of every kind."""
        super().format_options(ctx, formatter)
        write_names(formatter)


def _merged(said: Rewrites) -> Machine:
    from dataclasses import replace

    from intarsia.config.cli_overrides import merge_all
    from intarsia.config.files import find_config, read_config, target_text

    path = find_config(said.config)
    name = "" if path is None else str(path)
    if said.target is not None:
        said = replace(said, target=target_text(said.target))
    merged = merge_all(
        builtin={"targets": [{"kind": "llvm"}]},
        file=None if path is None else read_config(path),
        file_name=name,
        rewrites=said,
    )
    is_stated = any(stated.by != "built-in" for stated in merged.origins.values())
    return Machine(merged=merged, is_stated=is_stated, file_name=name)


def _said(param: click.Parameter, name: str, value: object, file_name: str) -> object:
    """A setting as a command line has it: for an option that repeats, a map is several ``name=value``.

    Raises:
        ConfigError: It is several where one is wanted, or is of a type that no option has.
    """

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
    from intarsia.config.cli_overrides.flags import LEVELS, all_flags
    from intarsia.spec.problems import closest

    if not error.option_name.startswith(tuple(f"--{level}-" for level in LEVELS)):
        return error
    near = closest(error.option_name, map(str, all_flags()))
    hints = error.possibilities if near is None else [near]
    return click.NoSuchOption(error.option_name, possibilities=hints, ctx=error.ctx)


machine_options = (
    click.option(
        "--target",
        metavar="SPEC",
        expose_value=False,
        shell_complete=complete_target,
        help="Engines or devices with their options, most preferred first; a tag, JSON, or a file of these. "
        "[default: every usable engine]",
    ),
    click.option(
        "--config",
        metavar="NAME|PATH",
        expose_value=False,
        help="Configuration file that the flags are laid over. [default: the one named 'default', if there is one]",
    ),
    click.option("--executor", metavar="SPEC", expose_value=False, help="How the whole model is driven."),
    click.option("--runtime", metavar="SPEC", expose_value=False, help="What loads and runs the compiled model."),
    click.option(
        "--set",
        metavar="PATH=VALUE",
        expose_value=False,
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
"""Declared for ``--help`` only: `MachineCommand` reads all but the last before click does."""
