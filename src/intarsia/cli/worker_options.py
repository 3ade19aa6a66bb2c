"""Flags of verbs that a worker on another machine can do: where it is, its token, its certificate, how long to wait."""

from __future__ import annotations

from typing import Any

import click

from intarsia.cli.options import FILE, Seconds

_BESIDE = ("token_file", "tls_ca", "timeout")
"""What says more of the worker that ``--on`` names."""


def _place(context: click.Context, _: click.Parameter, address: str | None) -> Any:
    """The worker that the flags name, with their files read; ``None`` if they name none."""
    stated: dict[str, Any] = {name: context.params.pop(name, None) for name in _BESIDE}
    if context.resilient_parsing:
        return None
    if address is None:
        for name, value in stated.items():
            if value is not None:
                raise click.UsageError(f"--{name.replace('_', '-')} is of a worker; name that by --on HOST:PORT too")
        return None
    from intarsia.remote.place import WorkerPlace

    return WorkerPlace.of(address, stated["token_file"], tls_ca=stated["tls_ca"], timeout=stated["timeout"])


worker_options = (
    click.option(
        "--on",
        "place",
        metavar="HOST:PORT",
        callback=_place,
        help="Do it on the machine of a worker (intarsia worker) that listens there.",
    ),
    click.option(
        "--token-file",
        metavar="FILE",
        type=FILE,
        is_eager=True,
        help="File with the worker's token. [default, on loopback alone: the one that the worker made]",
    ),
    click.option(
        "--tls-ca",
        metavar="FILE",
        type=FILE,
        is_eager=True,
        help="Certificate, in PEM, that the worker's own must go back to. [default: the link is not encrypted]",
    ),
    click.option(
        "--timeout",
        metavar="SECONDS",
        type=Seconds(),
        is_eager=True,
        help="How long an answer may take, or a lost link. [default: 30]",
    ),
)
"""The flags; a verb gets one parameter of them, ``place``."""
