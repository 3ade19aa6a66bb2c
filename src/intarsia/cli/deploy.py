"""``intarsia deploy``: a model over several machines as a service."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from intarsia.cli.deployment import is_deployed
from intarsia.cli.options import Seconds, json_option, verbose_option
from intarsia.cli.serving_options import Served, Service, serve_until_told, serving_options
from intarsia.cli.trust import trust_options
from intarsia.errors import ArtifactError

if TYPE_CHECKING:
    from intarsia.runtime.artifact.trust import Trust


@click.command(short_help="Serve a model that runs over several machines.")
@click.argument("artifact", type=Served())
@click.option(
    "--deployment", metavar="FILE", required=True,
    help="Where its machines are: workers, nodes of a Ray cluster, or this machine. A file, a tag or text.",
)  # fmt: skip
@serving_options
@click.option(
    "--reload-every", metavar="SECONDS", type=Seconds(), default=1.0, show_default=True,
    help="How often to look whether the file changed, to load the new one on all machines. 0: never.",
)  # fmt: skip
@trust_options
@json_option
@verbose_option
def deploy(
    artifact: tuple[str, Path],
    deployment: str,
    reload_every: float,
    service: Service,
    as_json: bool,
    trust: Trust,
) -> None:
    """Load ARTIFACT on the machines of a deployment, and serve it as `intarsia serve` does.

    On the node of a Ray cluster an actor is started for its part of the model; a worker loads its part itself. SIGTERM
    ends it: what was admitted is answered, then the actors end.
    """
    from intarsia.deploy.loading import DeployedLoading
    from intarsia.deploy.verbs import deployment_of

    name, path = artifact
    if path.is_file() and not is_deployed(path):
        raise ArtifactError(f"{path}: an artifact of one machine; intarsia serve {path} serves it")
    loading = DeployedLoading.of(path, deployment_of(deployment), trust)
    serve_until_told("intarsia deploy", {name: path}, service, loading, reload_every_s=reload_every, as_json=as_json)
