"""The flags of ``intarsia serve`` that put its replicas on a Ray cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from intarsia.cli.options import with_options
from intarsia.cli.serving_options import Service, run_server
from intarsia.errors import ConfigError

if TYPE_CHECKING:
    from intarsia.addresses import Address
    from intarsia.serving import Loading
    from intarsia.serving.replicas.scale import Scale

Verb = TypeVar("Verb", bound=Callable[..., Any])
_HERE = "here"


class RayAddress(click.ParamType[str]):
    """Where a cluster is."""

    name = "address"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The text of an address, or a usage error: an artifact behind ``--ray`` is taken for one."""
        from intarsia.addresses import Address

        if value != _HERE:
            try:
                Address.parse(value)
            except ConfigError as error:
                self.fail(f"{error}; an artifact stands before --ray", param, ctx)
        return str(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class OnRay:
    """Where replicas run, and how many.

    Attributes:
        address: Of the cluster that is joined; ``None`` for one of this machine alone.
        scale: How many replicas there may be; ``None`` for as many as the cluster has processors for.
    """

    address: Address | None
    scale: Scale | None


def ray_options(verb: Verb) -> Verb:
    """The flags; the verb is called with ``on_ray``, what they say, or ``None``."""

    @wraps(verb)
    def serves(*arguments: Any, ray: str | None, replicas: str | None, **others: Any) -> Any:
        return verb(*arguments, on_ray=_stated(ray, replicas), **others)

    return with_options(*_OPTIONS)(serves)  # type: ignore[return-value] # as click's own decorators


def serve_on_ray(
    files: Mapping[str, Path], service: Service, loading: Loading, on_ray: OnRay, *, as_json: bool
) -> None:
    """Serve on Ray Serve until SIGTERM, and print where."""
    from intarsia.extras import serving

    http = _http_alone(service)
    with serving("intarsia serve"):
        from intarsia.serving.replicas.cluster_server import Cluster, ClusterServer

        server = ClusterServer(
            files,
            http,
            Cluster(address=on_ray.address, scale=on_ray.scale),
            loading=loading,
            limits=service.limits,
            access=service.access,
            log_requests=service.log_requests,
        )
    run_server(server, files, service, as_json=as_json)


def _stated(ray: str | None, replicas: str | None) -> OnRay | None:
    if ray is None:
        if replicas is not None:
            raise ConfigError("--replicas are those of a Ray cluster: say --ray too, or leave it out")
        return None
    from intarsia.addresses import Address
    from intarsia.serving.replicas.scale import Scale

    return OnRay(
        address=None if ray == _HERE else Address.parse(ray),
        scale=None if replicas is None else Scale.parse(replicas),
    )


def _http_alone(service: Service) -> Address:
    """Where HTTP is spoken, once nothing is stated that has no effect on Ray."""
    context = click.get_current_context()
    if service.grpc is not None and _is_stated(context, "grpc"):
        raise ConfigError(
            "--ray speaks HTTP alone: Ray Serve's gRPC would listen on every address of a machine, whatever --grpc "
            "says; leave --grpc out, or serve without --ray"
        )
    if service.http is None:
        raise ConfigError("--ray speaks HTTP alone, and --http off leaves nothing; say where it is to listen")
    if context.params["reload_every"] and _is_stated(context, "reload_every"):
        raise ConfigError(
            "--ray does not look at the files again: replicas start at different times, and would answer from "
            "different versions; leave --reload-every out, and start the server again for a new file"
        )
    return service.http


def _is_stated(context: click.Context, name: str) -> bool:
    return context.get_parameter_source(name) is not ParameterSource.DEFAULT


_OPTIONS = (
    click.option(
        "--ray", metavar="[HOST:PORT]", type=RayAddress(), is_flag=False, flag_value=_HERE,
        help="Serve on Ray Serve, over HTTP alone, with replicas that follow the load: on the Ray cluster at this "
        "address, or on one of this machine alone that ends with the server.",
    ),
    click.option(
        "--replicas", metavar="MIN..MAX",
        help="How many replicas --ray may run, or one number. [default: 1 to as many as it has processors for]",
    ),
)  # fmt: skip
