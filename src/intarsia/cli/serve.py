"""``intarsia serve``: artifacts as a service, over HTTP and gRPC."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from intarsia.cli.deployment import is_deployed
from intarsia.cli.options import Seconds, Whole, json_option, verbose_option
from intarsia.cli.serving_on_ray import OnRay, ray_options, serve_on_ray
from intarsia.cli.serving_options import Served, Service, serve_until_told, serving_options
from intarsia.cli.trust import trust_options
from intarsia.errors import ArtifactError, ConfigError

if TYPE_CHECKING:
    from intarsia.runtime.artifact.trust import Trust


@click.command(short_help="Serve artifacts over HTTP and gRPC.")
@click.argument("artifacts", type=Served(), nargs=-1, required=True)
@click.option(
    "--instances", metavar="N", type=Whole(1, 1024),
    help="How often each model is loaded, and so how many requests it answers at one time. [default: as its plan says, "
    "which is once unless it was compiled with --objective throughput]",
)  # fmt: skip
@click.option(
    "--batch", metavar="N", type=Whole(1, 4096),
    help="How many rows of requests one call of a model may answer, if so many wait; no more than its plan says. 1: "
    "each request has a call of its own. [default: as its plan says, which is 1 unless it was compiled with "
    "--objective throughput and an open batch dimension]",
)  # fmt: skip
@serving_options
@click.option(
    "--reload-every", metavar="SECONDS", type=Seconds(), default=1.0, show_default=True,
    help="How often to look whether a file changed, to serve the new one. 0: never; the file is then used where it is, "
    "without a copy, and must not change.",
)  # fmt: skip
@ray_options
@trust_options
@json_option
@verbose_option
def serve(
    artifacts: tuple[tuple[str, Path], ...],
    instances: int | None,
    batch: int | None,
    reload_every: float,
    service: Service,
    on_ray: OnRay | None,
    as_json: bool,
    trust: Trust,
) -> None:
    """Serve each ARTIFACT under its NAME (its file's, unless given), by the Open Inference Protocol, version 2.

    It prints where it listens, and logs lines of JSON on stderr. SIGTERM ends it, once every request that was admitted
    is answered.
    """
    from intarsia.serving import Loading

    files = dict(artifacts)
    if len(files) < len(artifacts):
        raise ConfigError(
            "two artifacts have one name; give them names, as in a=one/model.intarsia b=two/model.intarsia"
        )
    for path in files.values():
        if is_deployed(path):
            raise ArtifactError(
                f"{path}: an artifact for several machines; intarsia deploy {path} --deployment FILE serves it"
            )
    if on_ray is not None:
        serve_on_ray(files, service, Loading(trust=trust, instances=instances, batch=batch), on_ray, as_json=as_json)
        return
    loading = Loading(trust=trust, instances=instances, batch=batch, in_place=not reload_every)
    serve_until_told("intarsia serve", files, service, loading, reload_every_s=reload_every, as_json=as_json)
