"""The flags of verbs that serve, and the server that they describe: `serve` and `deploy`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import click

from intarsia.cli.console import echo, print_json
from intarsia.cli.options import FILE, Seconds, Whole, with_options
from intarsia.errors import ConfigError
from intarsia.numbers import memory_bytes

if TYPE_CHECKING:
    from intarsia.addresses import Address
    from intarsia.serving import Access, Endpoints, Limits, Loader

Verb = TypeVar("Verb", bound=Callable[..., Any])
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """How something is served.

    Attributes:
        http: Where HTTP is spoken; ``None`` for nowhere.
        grpc: The same of gRPC.
        access: Who may call.
        limits: The bounds of each model.
        log_requests: Whether each request that is answered is logged.
    """

    http: Address | None
    grpc: Address | None
    access: Access
    limits: Limits
    log_requests: bool


class Serves(Protocol):
    """A server, of either kind."""

    def run(self, on_listening: Callable[[Endpoints], object], on_ready: Callable[[], object]) -> None:
        """Serve until it is told to end."""


def serving_options(verb: Verb) -> Verb:
    """The flags of a verb that serves; it is called with ``service``, what they say."""

    @wraps(verb)
    def serves(
        *arguments: Any,
        http: str,
        grpc: str,
        queue: int,
        max_body: int,
        timeout: float,
        token_file: Path | None,
        no_auth: bool,
        tls_cert: Path | None,
        tls_key: Path | None,
        log_requests: bool,
        **others: Any,
    ) -> Any:
        from intarsia.addresses import Address
        from intarsia.serving import Access, Limits

        places = {
            what: None if text == _OFF else Address.parse(text) for what, text in (("http", http), ("grpc", grpc))
        }
        listened = [each for each in places.values() if each is not None]
        if not listened:
            raise ConfigError("neither HTTP nor gRPC is left; leave out one --http off or --grpc off")
        access = Access.of(listened, token_file, tls_cert, tls_key, open_=no_auth)
        if not timeout:
            raise ConfigError("--timeout 0 refuses every request; give the seconds that one may take")
        limits = Limits(waiting=queue, body_bytes=max_body, timeout_s=timeout)
        service = Service(**places, access=access, limits=limits, log_requests=log_requests)
        return verb(*arguments, service=service, **others)

    return with_options(*_OPTIONS)(serves)  # type: ignore[return-value] # as click's own decorators


def serve_until_told(
    what: str, files: Mapping[str, Path], service: Service, loading: Loader, *, reload_every_s: float, as_json: bool
) -> None:
    """Serve until SIGTERM, and print where.

    Args:
        what: The command, for messages.
        files: The artifacts by the names of their models.
        service: How they are served.
        loading: What loads them.
        reload_every_s: Seconds between looks whether a file changed; 0 for none.
        as_json: Whether one JSON object is printed.
    """
    from intarsia.extras import serving

    with serving(what):
        from intarsia.serving import Endpoints, Server

        server = Server(
            files,
            Endpoints(http=service.http, grpc=service.grpc),
            loading=loading,
            limits=service.limits,
            access=service.access,
            reload_every_s=reload_every_s,
            log_requests=service.log_requests,
        )
    run_server(server, files, service, as_json=as_json)


def run_server(server: Serves, files: Mapping[str, Path], service: Service, *, as_json: bool) -> None:
    """Run a server until it is told to end, print where it listens, and log on stderr; arguments as above."""
    from intarsia.serving.logs import json_lines

    with json_lines():
        server.run(
            lambda endpoints: (
                print_json(_facts(endpoints, files))
                if as_json
                else _print(endpoints, tls=service.access.key is not None)
            ),
            lambda: None if as_json else echo(f"ready: {', '.join(files)}"),
        )


def _facts(endpoints: Endpoints, files: Mapping[str, Path]) -> dict[str, Any]:
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


_OPTIONS = (
    click.option(
        "--http", metavar="HOST:PORT", default="127.0.0.1:8000", show_default=True, help="Where HTTP is spoken, or off."
    ),
    click.option(
        "--grpc", metavar="HOST:PORT", default="127.0.0.1:8001", show_default=True, help="Where gRPC is spoken, or off."
    ),
    click.option(
        "--queue", metavar="N", type=Whole(0, _MOST), default=64, show_default=True,
        help="How many requests of each model may wait; one more is refused (503).",
    ),
    click.option(
        "--max-body", metavar="AMOUNT", type=Bytes(), default="64MB", show_default=True,
        help="The largest body of a request.",
    ),
    click.option(
        "--timeout", metavar="SECONDS", type=Seconds(), default=30.0, show_default=True,
        help="How long a request may take, waiting included, before it is refused (503).",
    ),
    click.option("--token-file", metavar="FILE", type=FILE, help="Who calls must send the token in this file."),
    click.option(
        "--no-auth", is_flag=True, help="Let anybody call who reaches an address that is not this machine's own."
    ),
    click.option("--tls-cert", metavar="FILE", type=FILE, help="Speak TLS, with this certificate (PEM)."),
    click.option("--tls-key", metavar="FILE", type=FILE, help="The certificate's private key (PEM)."),
    click.option(
        "--log-requests", is_flag=True, help="Log each request that is answered, with the time of its stages."
    ),
)  # fmt: skip
