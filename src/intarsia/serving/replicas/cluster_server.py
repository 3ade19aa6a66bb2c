"""A server whose replicas run on a Ray cluster: Ray Serve starts them, spreads requests over them, and scales them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from intarsia.addresses import Address
from intarsia.errors import ConfigError, IntarsiaError, WorkerUnreachableError
from intarsia.files import Scratch, place_file
from intarsia.remote.actors.cluster import ask_for_token, connected, own_cluster, ray_serve
from intarsia.remote.failures import failure_of
from intarsia.runtime import Artifact
from intarsia.runtime.artifact.trust import Trust
from intarsia.serving.access import Access
from intarsia.serving.limits import Limits
from intarsia.serving.loaded import Loading
from intarsia.serving.logs import tell
from intarsia.serving.replicas.address import free_address
from intarsia.serving.replicas.ending import Ending
from intarsia.serving.replicas.options import Load, deployment_options, http_options, quiet
from intarsia.serving.replicas.printed import ReplicaLog, log_as_ours
from intarsia.serving.replicas.replica import Replica, ReplicaSettings
from intarsia.serving.replicas.scale import Scale
from intarsia.serving.replicas.watch import LOOK_S, UNABLE, Watch
from intarsia.serving.server import Endpoints
from intarsia.target.cores import thread_budget
from intarsia.wording import counted

NAME: Final = "intarsia"
"""Of the application on the cluster, and of its one deployment."""
_BODIES: Final = 4
"""The largest bodies that a cluster of our own has memory for, on their way to a replica."""
_LEAST_STORE: Final = 128 * 2**20
_END_S: Final = 10.0
"""How long the cluster may take to end replicas, beside what they have in hand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """Where replicas run.

    Attributes:
        address: Of the cluster that is joined; ``None`` for one of this machine alone, which is started and ended.
        scale: How many replicas there may be; ``None`` for one up to as many as it has processors for.
    """

    address: Address | None = None
    scale: Scale | None = None


class ClusterServer:
    """Serves artifacts over HTTP until it is told to end."""

    def __init__(
        self,
        files: Mapping[str, Path],
        http: Address,
        cluster: Cluster,
        *,
        loading: Loading,
        limits: Limits,
        access: Access,
        log_requests: bool = False,
    ) -> None:
        self._files = files
        self._http = http
        self._cluster = cluster
        self._loading = loading
        self._limits = limits
        self._access = access
        self._log_requests = log_requests

    def run(self, on_listening: Callable[[Endpoints], object], on_ready: Callable[[], object]) -> None:
        """Serve until SIGTERM or SIGINT, then answer what was admitted. The callbacks are called once each.

        Raises:
            IntarsiaError: It cannot listen, there is no such cluster, an artifact cannot be loaded, or Ray fails.
        """
        if self._cluster.address is None:
            ask_for_token()
        serve = ray_serve()
        log_as_ours()
        plans = [Artifact(path, self._loading.trust).manifest.settings for path in self._files.values()]
        load = Load.of(plans, self._loading, self._limits)
        address = free_address(self._http)
        with _ray_errors(serve), ExitStack() as stack:
            ending = stack.enter_context(Ending())
            ray = self._joined(load)
            stack.callback(ray.shutdown)
            scale = self._scale(_places(ray, load))
            _start(serve, http_options(address, self._access, self._limits))
            stack.callback(serve.shutdown)
            application = self._application(serve, ray, stack, load, scale)
            tell("starting", replicas=str(scale), processors=load.processors)
            on_listening(Endpoints(http=address, grpc=None))
            serve.run_many(
                [serve.RunTarget(target=application, name=NAME, route_prefix="/")], wait_for_applications_running=False
            )
            Watch(serve, NAME, address, tls=self._access.key is not None).until(ending, on_ready)
            self._drain(serve)

    def _scale(self, places: int) -> Scale:
        """How many replicas there may be, where there is room for so many now; a joined cluster may grow."""
        stated = self._cluster.scale
        if stated is None:
            return Scale(least=1, most=places)
        if self._cluster.address is None and stated.most > places:
            raise ConfigError(
                f"--replicas {stated}: this machine has processors for {counted(places, 'replica')}; say at most "
                f"{places}, compile for fewer threads, or join a cluster that has more"
            )
        return stated

    def _joined(self, load: Load) -> Any:
        log = ReplicaLog(NAME)
        if self._cluster.address is not None:
            return connected(self._cluster.address, log)
        store = max(_LEAST_STORE, _BODIES * self._limits.body_bytes)
        return own_cluster(max(thread_budget(), load.processors), store, log)

    def _application(self, serve: Any, ray: Any, stack: ExitStack, load: Load, scale: Scale) -> Any:
        """What Ray Serve is to run: on a cluster of this machine alone replicas read files, elsewhere they are sent."""
        contents: dict[str, Any] | None = None
        files = {name: path.absolute() for name, path in self._files.items()}
        if self._cluster.address is None:
            files = _copied(files, stack.enter_context(Scratch()).path)
        else:
            contents = {name: ray.put(path.read_bytes()) for name, path in files.items()}
        settings = ReplicaSettings(
            files=files,
            loading=replace(self._loading, trust=_absolute(self._loading.trust)),
            limits=self._limits,
            access=self._access,
            log_requests=self._log_requests,
        )

        def build() -> Replica:
            """The application in the process of a replica; an error of ours leaves it as text."""
            import ray

            try:
                return Replica(settings, contents and {name: ray.get(each) for name, each in contents.items()})
            except IntarsiaError as error:
                raise RuntimeError(UNABLE + failure_of(error)) from None

        made = serve.deployment(name=NAME, **deployment_options(load, scale, self._limits))
        return made(serve.ingress(build)()).bind()

    def _drain(self, serve: Any) -> None:
        """End the replicas: what they have in hand is answered, and nothing more comes to them."""
        tell("draining")
        serve.delete(NAME, _blocking=False)
        end = time.monotonic() + 2 * self._limits.timeout_s + _END_S
        while NAME in serve.status().applications and time.monotonic() < end:
            time.sleep(LOOK_S)
        tell("ended")


@contextmanager
def _ray_errors(serve: Any) -> Iterator[None]:
    """Have what Ray raises inside be an error of ours."""
    import ray

    try:
        yield
    except (ray.exceptions.RayError, serve.exceptions.RayServeException, TimeoutError) as error:
        said = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise WorkerUnreachableError(
            f"Ray Serve does not answer ({said}); see what is left of the cluster (ray status), then start again"
        ) from error


def _start(serve: Any, options: dict[str, Any]) -> None:
    if serve.status().proxies:
        raise ConfigError(
            "Ray Serve runs on that cluster already, and has one address for all its applications; end it there (serve "
            "shutdown), or join another cluster"
        )
    try:
        serve.start(http_options=options, proxy_location="EveryNode", logging_config=quiet())
    except Exception as error:
        serve.shutdown()
        raise ConfigError(f"Ray Serve does not start: {str(error).strip().splitlines()[-1]}") from error


def _places(ray: Any, load: Load) -> int:
    """For how many replicas the nodes that are alive have processors."""
    processors = [int(each["Resources"].get("CPU", 0)) for each in ray.nodes() if each["Alive"]]
    found = sum(each // load.processors for each in processors)
    if not found:
        raise ConfigError(
            f"a replica takes {counted(load.processors, 'processor')}, and no node of the cluster has more than "
            f"{max(processors, default=0)}; compile it for fewer threads, or start a node that has them"
        )
    return found


def _absolute(trust: Trust) -> Trust:
    """The same where the working folder is another one."""
    return replace(trust, signed_by=tuple(map(os.path.abspath, trust.signed_by)))


def _copied(files: Mapping[str, Path], folder: Path) -> dict[str, Path]:
    """Copies, which stay as they are while replicas come and go."""
    copies = {}
    for number, (name, path) in enumerate(files.items()):
        place = folder / str(number)
        place.mkdir()
        copies[name] = place / path.name
        place_file(path, copies[name])
    return copies
