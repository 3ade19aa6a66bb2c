"""The ``intarsia`` command: its verbs, its exit codes, and how whatever goes wrong is told."""

from __future__ import annotations

import io
import logging
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Sequence
from typing import Any, TextIO

import click

from intarsia.cli.bench import bench
from intarsia.cli.compare import compare
from intarsia.cli.compile import compile_
from intarsia.cli.completion import completion
from intarsia.cli.config import config
from intarsia.cli.console import Began, Stopped, echo, print_json, print_remark
from intarsia.cli.deploy import deploy
from intarsia.cli.devices import devices
from intarsia.cli.doctor import doctor
from intarsia.cli.explain import explain
from intarsia.cli.export import export
from intarsia.cli.report import report
from intarsia.cli.run import run
from intarsia.cli.serve import serve
from intarsia.cli.sign import keygen, sign
from intarsia.cli.streams import UNREAD, UnreadError, keep_stdout_clean
from intarsia.cli.targets import targets
from intarsia.cli.tune import tune
from intarsia.cli.verify import verify
from intarsia.cli.worker import worker
from intarsia.cost.worker.deadline import process_age
from intarsia.errors import BackendError, DiskError, IntarsiaError, Interrupted
from intarsia.files import is_of_disk
from intarsia.version import __version__

UNEXPECTED = 1
GROUPS = {
    "A model": ("compile", "compare", "tune"),
    "An artifact": ("run", "serve", "deploy", "bench", "verify", "explain", "report", "export", "sign", "keygen"),
    "This machine": ("devices", "doctor", "targets", "config", "worker"),
}
"""What the verbs are about, as ``--help`` lists them; any other comes last."""
_COLUMN = 10
"""Width of the verbs' names, so that the groups are aligned with each other."""


class Verbs(click.Group):
    """A group that ends every failure in one message on stderr and the error's own exit code."""

    def main(self, args: Sequence[str] | None = None, **extra: Any) -> Any:  # type: ignore[override]
        """Run a verb and leave the process, as `click.Command.main` does in its standalone mode."""
        arguments = list(sys.argv[1:] if args is None else args)
        try:
            code = super().main(arguments, **(extra | {"standalone_mode": False}))
        except UnreadError:
            code = UNREAD
        except (Exception, click.Abort) as error:
            code = _tell(error, as_json="--json" in arguments, verbose="--verbose" in arguments)
        sys.exit(code or 0)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The verbs by what they are about."""
        named = {verb for group in GROUPS.values() for verb in group}
        others = tuple(verb for verb in self.commands if verb not in named)
        for title, verbs in (GROUPS | {"The shell": others}).items():
            found = {verb: self.commands[verb] for verb in verbs if verb in self.commands}
            if found:
                with formatter.section(title):
                    width = formatter.width - 6 - max(map(len, self.commands))
                    rows = [(f"{name:<{_COLUMN}}", verb.get_short_help_str(width)) for name, verb in found.items()]
                    formatter.write_dl(rows)


@click.group(
    cls=Verbs,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 ok, 1 unforeseen, 2 bad input, 3 engine missing, 4 engine failed, 5 wrong result, 130 "
    "interrupted; of compare --fail-if: 6 worse, 7 hidden by noise, 8 another machine, engines or threads.",
)
@click.version_option(__version__, package_name="intarsia", message="%(package)s %(version)s")
@click.pass_context
def cli(context: click.Context) -> None:
    """Compile one ONNX model over every inference engine this machine has."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


for _verb in (
    *(compile_, compare, tune),
    *(run, serve, deploy, bench, verify, explain, report, export, sign, keygen),
    *(devices, doctor, targets, config, worker, completion),
):
    cli.add_command(_verb)


def main() -> None:
    """What the console script does: prepares the process, then hands over to `cli`."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a scheduler's end of a job is like Ctrl-C
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")  # of any locale, and any name of a file
    keep_stdout_clean()
    logging.basicConfig(level=logging.INFO if "--verbose" in sys.argv else logging.WARNING, handlers=[_log_handler()])
    warnings.showwarning = _show_warning
    try:
        cli(obj=Began(time.monotonic() - process_age()))
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)  # engines that clean up behind us raise nothing any more


def _tell(error: BaseException, *, as_json: bool, verbose: bool) -> int:
    code, message = _judge(error)
    if verbose:
        echo("".join(traceback.format_exception(error)), err=True)
    print_remark(message if code == Stopped.exit_code else f"error: {message}")
    if as_json:
        facts: dict[str, object] = {"type": type(error).__name__, "message": message, "exit_code": code}
        if code == Stopped.exit_code:
            facts |= {"type": Interrupted.__name__, "artifact": getattr(error, "artifact", None)}
        if isinstance(error, BackendError):
            facts |= {"engine": error.backend, "stage": error.stage}
        print_json({"error": facts})
    return code


def _judge(error: BaseException) -> tuple[int, str]:
    match error:
        case click.Abort():
            return Stopped.exit_code, "interrupted"
        case click.UsageError(ctx=click.Context() as context):
            return error.exit_code, f"{error.format_message()}\n({context.command_path} --help lists the options)"
        case click.ClickException():
            return error.exit_code, error.format_message()
        case IntarsiaError():
            return error.exit_code, str(error)
        case OSError() if is_of_disk(error):
            return DiskError.exit_code, f"{error}: the disk is full, or fails; make room there"
        case _:
            return UNEXPECTED, f"unexpected {type(error).__name__}: {error}\n(--verbose shows where it came from)"


def _log_handler() -> logging.Handler:
    handler = _Stderr()
    handler.setFormatter(_Line())
    return handler


class _Stderr(logging.Handler):
    """Writes to whatever standard error is at the moment: while progress is drawn, that writes above it."""

    def emit(self, record: logging.LogRecord) -> None:
        print_remark(self.format(record))


class _Line(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return f"{record.levelname.lower()}: {super().format(record)}"


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    del category, filename, lineno, file, line  # where in our code a warning arose is nothing to the user
    print_remark(f"warning: {message}")
