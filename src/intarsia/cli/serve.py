"""``intarsia serve``: artifacts as a service, over HTTP and gRPC."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from intarsia.cli.console import echo, print_json
from intarsia.cli.options import FILE, Seconds, Whole, json_option, verbose_option
from intarsia.cli.trust import trust_options
from intarsia.errors import ConfigError
from intarsia.numbers import memory_bytes

if TYPE_CHECKING:
    from intarsia.runtime.artifact.trust import Trust
    from intarsia.serving import Endpoints

_OFF = "off"
_MOST = 10_000


class Served(click.ParamType[tuple[str, Path]]):
    """``FILE`` or ``NAME=FILE`` as a name and a path; a name has no slash, so ``./a=b.intarsia`` is a path."""

    name = "served"

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        """What ``--help`` shows for the value."""
        return "[NAME=]ARTIFACT"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, Path]:
        """The pair, or a usage error."""
        name, divided, path = str(value).partition("=")
        if not divided or "/" in name:
            name, path = Path(value).stem, value
        if not name or not path:
            self.fail(f"{value!r} is not [NAME=]ARTIFACT, as in resnet=model.intarsia", param, ctx)
        return name, FILE.convert(path, param, ctx)


class Bytes(click.ParamType[int]):
    """An amount of memory."""

    name = "amount"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The bytes, or a usage error."""
        try:
            return memory_bytes(value)
        except ConfigError as error:
            self.fail(str(error), param, ctx)


@click.command(short_help="Serve artifacts over HTTP and gRPC.")
@click.argument("artifacts", type=Served(), nargs=-1, required=True)
@click.option(
    "--http", metavar="HOST:PORT", default="127.0.0.1:8000", show_default=True, help="Where HTTP is spoken, or off."
)
@click.option(
    "--grpc", metavar="HOST:PORT", default="127.0.0.1:8001", show_default=True, help="Where gRPC is spoken, or off."
)
@click.option(
    "--instances", metavar="N", type=Whole(1, 1024),
    help="How often each model is loaded, and so how many requests it answers at one time. [default: as its plan says, "
    "which is once unless it was compiled with --objective throughput]",
)  # fmt: skip
@click.option(
    "--queue", metavar="N", type=Whole(0, _MOST), default=64, show_default=True,
    help="How many requests of each model may wait; one more is refused (503).",
)  # fmt: skip
@click.option(
    "--max-body", metavar="AMOUNT", type=Bytes(), default="64MB", show_default=True,
    help="The largest body of a request.",
)  # fmt: skip
@click.option(
    "--timeout", metavar="SECONDS", type=Seconds(), default=30.0, show_default=True,
    help="How long a request may take, waiting included, before it is refused (503).",
)  # fmt: skip
@click.option(
    "--reload-every", metavar="SECONDS", type=Seconds(), default=1.0, show_default=True,
    help="How often to look whether a file changed, to serve the new one. 0: never; the file is then used where it is, "
    "without a copy, and must not change.",
)  # fmt: skip
@click.option("--token-file", metavar="FILE", type=FILE, help="Who calls must send the token in this file.")
@click.option("--no-auth", is_flag=True, help="Let anybody call who reaches an address that is not this machine's own.")
@click.option("--tls-cert", metavar="FILE", type=FILE, help="Speak TLS, with this certificate (PEM).")
@click.option("--tls-key", metavar="FILE", type=FILE, help="The certificate's private key (PEM).")
@click.option("--log-requests", is_flag=True, help="Log each request that is answered, with the time of its stages.")
@trust_options
@json_option
@verbose_option
def serve(
    artifacts: tuple[tuple[str, Path], ...],
    http: str,
    grpc: str,
    instances: int | None,
    queue: int,
    max_body: int,
    timeout: float,
    reload_every: float,
    token_file: Path | None,
    no_auth: bool,
    tls_cert: Path | None,
    tls_key: Path | None,
    log_requests: bool,
    as_json: bool,
    trust: Trust,
) -> None:
    """Serve each ARTIFACT under its NAME (its file's, unless given), by the Open Inference Protocol, version 2.

    It prints where it listens, and logs lines of JSON on stderr. SIGTERM ends it, once every request that was admitted
    is answered.
    """
    from intarsia.addresses import Address
    from intarsia.extras import serving
    from intarsia.serving import Access, Limits, Loading

    files = dict(artifacts)
    if len(files) < len(artifacts):
        raise ConfigError(
            "two artifacts have one name; give them names, as in a=one/model.intarsia b=two/model.intarsia"
        )
    addresses = {what: None if text == _OFF else Address.parse(text) for what, text in (("http", http), ("grpc", grpc))}
    listened = [each for each in addresses.values() if each is not None]
    if not listened:
        raise ConfigError("neither HTTP nor gRPC is left; leave out one --http off or --grpc off")
    access = Access.of(listened, token_file, tls_cert, tls_key, open_=no_auth)
    if not timeout:
        raise ConfigError("--timeout 0 refuses every request; give the seconds that one may take")
    with serving("intarsia serve"):
        from intarsia.serving import Endpoints, Server
        from intarsia.serving.logs import json_lines

        server = Server(
            files,
            Endpoints(**addresses),
            loading=Loading(trust=trust, instances=instances, in_place=not reload_every),
            limits=Limits(waiting=queue, body_bytes=max_body, timeout_s=timeout),
            access=access,
            reload_every_s=reload_every,
            log_requests=log_requests,
        )
    with json_lines():
        server.run(
            lambda endpoints: (
                print_json(_facts(endpoints, files)) if as_json else _print(endpoints, tls=access.key is not None)
            ),
            lambda: None if as_json else echo(f"ready: {', '.join(files)}"),
        )


def _facts(endpoints: Endpoints, files: dict[str, Path]) -> dict[str, Any]:
    return {
        "http": None if endpoints.http is None else str(endpoints.http),
        "grpc": None if endpoints.grpc is None else str(endpoints.grpc),
        "models": {name: str(path) for name, path in files.items()},
    }


def _print(endpoints: Endpoints, *, tls: bool) -> None:
    if endpoints.http is not None:
        echo(f"http: {'https' if tls else 'http'}://{endpoints.http}")
    if endpoints.grpc is not None:
        echo(f"grpc: {endpoints.grpc}")
