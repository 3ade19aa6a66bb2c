"""``intarsia completion``: the script that makes a shell complete verbs, flags, targets and files."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from intarsia.cli.console import print_answer
from intarsia.cli.options import json_option, verbose_option

SHELLS = ("bash", "zsh", "fish")
_LOADED = {
    "bash": 'eval "$(intarsia completion bash)"  # in ~/.bashrc',
    "zsh": 'eval "$(intarsia completion zsh)"  # in ~/.zshrc, behind compinit',
    "fish": "intarsia completion fish | source  # in ~/.config/fish/config.fish",
}
_HELP = "Print the script that makes a shell complete verbs, flags, targets, tags and files.\n\n\b\n" + "\n".join(
    _LOADED.values()
)


@click.command(help=_HELP, short_help="Let a shell complete what you type.")
@click.argument("shell", type=click.Choice(SHELLS))
@json_option
@verbose_option
@click.pass_context
def completion(context: click.Context, /, shell: str, as_json: bool) -> None:
    """Print the script of a shell."""
    root = context.find_root()
    made = get_completion_class(shell)
    assert made is not None  # one of those that click knows
    script = made(root.command, {}, "intarsia", "_INTARSIA_COMPLETE").source()
    print_answer({"shell": shell, "script": script}, lambda report: click.echo(report["script"]), as_json=as_json)
