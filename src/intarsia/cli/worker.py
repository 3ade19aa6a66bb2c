"""``intarsia worker``: listens for callers on other machines, and compiles and runs here what they send."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from intarsia.cli.console import echo, print_json
from intarsia.cli.options import FILE, Seconds, Whole, json_option, store_option, verbose_option
from intarsia.numbers import memory_bytes
from intarsia.version import __version__

if TYPE_CHECKING:
    from intarsia.cost.records.store_url import StoreUrl
    from intarsia.remote.listening import Listener

_MOST = 1024


class Amount(click.ParamType[int]):
    """Bytes, as ``16GB``."""

    name = "amount"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The bytes, or an error that says how they are written."""
        return memory_bytes(value)


@click.command(short_help="Compile and run here for other machines.")
@click.option("--listen", metavar="HOST:PORT", required=True, help="Where to listen; port 0 picks a free one.")
@click.option(
    "--token-file",
    metavar="FILE",
    type=FILE,
    help="File with the token that callers must have. [default, on loopback alone: one is made in your cache folder]",
)
@click.option("--tls-cert", metavar="FILE", type=FILE, help="Certificate in PEM, to encrypt the link.")
@click.option("--tls-key", metavar="FILE", type=FILE, help="The key of that certificate.")
@store_option
@click.option(
    "--max-content",
    metavar="AMOUNT",
    type=Amount(),
    default="16GB",
    show_default=True,
    help="The most bytes of a model, and of all that is kept for callers.",
)
@click.option(
    "--max-budget",
    metavar="SECONDS",
    type=Seconds(),
    default=3600.0,
    show_default=True,
    help="The longest budget that a compile may have.",
)
@click.option(
    "--idle",
    metavar="SECONDS",
    type=Seconds(),
    default=600.0,
    show_default=True,
    help="After so long, a loaded model that nobody calls is closed.",
)
@click.option(
    "--max-compiles",
    metavar="N",
    type=Whole(1, _MOST),
    default=4,
    show_default=True,
    help="Compiles at one time; those that measure take turns.",
)
@click.option(
    "--max-models", metavar="N", type=Whole(1, _MOST), default=16, show_default=True, help="Models loaded at one time."
)
@json_option
@verbose_option
def worker(
    listen: str,
    token_file: Path | None,
    tls_cert: Path | None,
    tls_key: Path | None,
    store: Path | StoreUrl | None,
    max_content: int,
    max_budget: float,
    idle: float,
    max_compiles: int,
    max_models: int,
    as_json: bool,
) -> None:
    """Listen until Ctrl-C or SIGTERM. Whoever has the token can run anything here as you.

    Callers say --on HOST:PORT, or name the runtime rpc. Models are searched and measured here, with this machine's own
    record store.
    """
    from intarsia.addresses import Address
    from intarsia.remote.listening import Listener, Listening
    from intarsia.remote.service import Limits

    limits = Limits(
        content_bytes=max_content, budget_s=max_budget, idle_s=idle, compiles=max_compiles, models=max_models
    )
    how = Listening(
        address=Address.parse(listen),
        token_file=token_file,
        certificate=tls_cert,
        key=tls_key,
        store=store,
        limits=limits,
    )
    with Listener(how) as listener:
        _announce(listener, as_json=as_json)
        try:
            while not listener.ends.wait(1.0):
                pass
        except KeyboardInterrupt:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            signal.signal(signal.SIGINT, signal.SIG_IGN)
    if not as_json:
        echo("ended")


def _announce(listener: Listener, *, as_json: bool) -> None:
    address, token = str(listener.address), str(listener.token_file)
    if as_json:
        print_json({"address": address, "token_file": token, "version": __version__})
    else:
        echo(f"listening on {address}, token in {token}")
    sys.stdout.flush()
