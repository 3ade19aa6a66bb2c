"""A Ray cluster: how this process is connected to it, and how something is started on one of its nodes."""

from __future__ import annotations

import os
import secrets
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from intarsia.addresses import Address
from intarsia.errors import (
    BackendUnavailableError,
    ConfigError,
    WorkerUnreachableError,
    WorkerVersionError,
)
from intarsia.remote.actors.machine_actor import MachineActor
from intarsia.remote.actors.node_place import NodePlace
from intarsia.wording import counted

_FIRST_S: Final = 10.0
_AUTHENTICATION: Final = "RAY_AUTH_MODE"
_TOKENS: Final = frozenset({"RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"})
_SHARE: Final = 0.001
"""Of a resource that says which node it is: nothing is used up."""


Printed = Callable[[Mapping[str, Any]], object]
"""Is called with what a process of the cluster printed: ``lines``, and whose they are, ``actor_name`` and ``pid``."""


def connected(address: Address | None, on_printed: Printed | None = None) -> Any:
    """The package ray, connected to the cluster at an address, or to the one that this machine is a node of.

    A process is connected to one cluster, and stays so. What processes of the cluster print goes nowhere, unless
    something is to be called with it.

    Raises:
        BackendUnavailableError: Ray is not installed.
        WorkerUnreachableError: There is no such cluster, or this machine is no node of it.
        WorkerVersionError: It runs another version of Ray or Python.
        ConfigError: This process is connected to another cluster.
    """
    ray = _ray()
    if ray.is_initialized():
        _check_same(ray, address)
        return ray
    if address is not None:
        _check_listens(address)
    with _own_signals():
        try:
            _connect(ray, on_printed, address="auto" if address is None else str(address))
        except RuntimeError as error:
            raise WorkerVersionError(f"the Ray cluster does not take this process: {_first_line(error)}") from error
        except (ConnectionError, OSError, ValueError, AssertionError, TimeoutError) as error:
            where = "this machine is a node of no Ray cluster" if address is None else f"no Ray cluster at {address}"
            raise WorkerUnreachableError(
                f"{where} ({_first_line(error)}); start one here (ray start --head), or make this machine a node of it "
                "(ray start --address=HOST:PORT)"
            ) from error
    return ray


def ask_for_token() -> None:
    """Have a cluster of our own take nobody else, unless the user said who is taken; Ray reads that as it is imported.

    Where nothing is said, Ray makes a token by itself, and keeps it in the user's home.
    """
    if os.environ.setdefault(_AUTHENTICATION, "token") == "token" and not _TOKENS & os.environ.keys():
        os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)


def own_cluster(processors: int, store_bytes: int, on_printed: Printed) -> Any:
    """The package ray, connected to a cluster of this machine alone, which ends when this process leaves it.

    `ask_for_token` comes before anything of Ray.

    Args:
        processors: What may be reserved on it.
        store_bytes: Memory for values that are on their way.
        on_printed: As for `connected`.

    Raises:
        BackendUnavailableError: Ray is not installed.
        WorkerUnreachableError: It does not start.
    """
    ray = _ray()
    with _own_signals():
        try:
            _connect(
                ray,
                on_printed,
                address="local",
                num_cpus=processors,
                object_store_memory=store_bytes,
                include_dashboard=False,
            )
        except Exception as error:
            raise WorkerUnreachableError(f"no Ray cluster starts on this machine: {_first_line(error)}") from error
    return ray


def _connect(ray: Any, on_printed: Printed | None, **where: Any) -> None:
    is_told = on_printed is not None
    ray.init(log_to_driver=is_told, configure_logging=not is_told, logging_level="WARNING", **where)
    ray._private.worker._worker_logs_enabled = False  # it prints on stdout what happens to processes of the cluster
    if on_printed is not None:
        ray._private.ray_logging.global_worker_stdstream_dispatcher.add_handler("intarsia", on_printed)


def nodes_of(ray: Any, place: NodePlace) -> list[str]:
    """The identities of the nodes that are alive and have what a place says."""
    return [str(node["NodeID"]) for node in ray.nodes() if place.is_of(node)]


def started(ray: Any, place: NodePlace) -> Any:
    """An actor on a node. Ray starts it again where its process dies; it makes no call twice.

    Raises:
        WorkerUnreachableError: No node is the one that is meant.
        ConfigError: Several are.
    """
    found = nodes_of(ray, place)
    if not found:
        raise WorkerUnreachableError(
            f"{place} is not there: no node that is alive has {place.mark}; start one with it (ray start --labels=…, "
            "--resources=…)"
        )
    if len(found) > 1:
        raise ConfigError(
            f"{place.mark} is of {counted(len(found), 'node')} of the cluster; give one node what it alone has"
        )
    which: dict[str, Any] = (
        {"resources": {place.resource: _SHARE}} if place.label is None else {"label_selector": dict([place.label])}
    )
    made = ray.remote(MachineActor).options(num_cpus=0, max_restarts=-1, max_task_retries=0, **which)
    return made.remote()


def ray_serve() -> Any:
    """The package ray.serve.

    Raises:
        BackendUnavailableError: It is not installed, or a package that it needs is not.
    """
    _ray("ray-serve")
    try:
        from ray import serve
    except ModuleNotFoundError as error:
        raise BackendUnavailableError(
            f"replicas are served by Ray Serve, which is not installed (there is no {error.name}): "
            "pip install 'intarsia[ray-serve]'"
        ) from None
    return serve


def _ray(extra: str = "ray") -> Any:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # else what it starts may report to its makers
    try:
        import ray
    except ModuleNotFoundError:
        raise BackendUnavailableError(
            f"nodes of a Ray cluster are called by Ray, which is not installed: pip install 'intarsia[{extra}]'"
        ) from None
    return ray


def _check_listens(address: Address) -> None:
    """Find something there before Ray is asked, which waits long for an address where nothing is."""
    try:
        socket.create_connection((address.host, address.port), timeout=_FIRST_S).close()
    except OSError as error:
        raise WorkerUnreachableError(
            f"no Ray cluster at {address} ({error.strerror or error}); start one there (ray start --head), or name "
            "another address"
        ) from error


def _check_same(ray: Any, address: Address | None) -> None:
    there = Address.parse(ray.get_runtime_context().gcs_address)
    if address is None or (there.port == address.port and _is_one(there, address)):
        return
    raise ConfigError(
        f"this process is connected to the Ray cluster at {there}, and {address} is another one; a process speaks with "
        "one cluster"
    )


def _is_one(one: Address, other: Address) -> bool:
    if other.is_loopback or one.host == other.host:
        return True
    try:
        return socket.gethostbyname(one.host) == socket.gethostbyname(other.host)
    except OSError:
        return False


@contextmanager
def _own_signals() -> Iterator[None]:
    """Leave SIGTERM to whom it belongs to: Ray takes it when it connects, here and in its own library."""
    before = signal.getsignal(signal.SIGTERM)
    is_ended = False
    try:
        yield
    except SystemExit as ended:
        if ended.code != signal.SIGTERM:
            raise
        is_ended = True  # Ray took a signal that came meanwhile
    finally:
        if threading.current_thread() is threading.main_thread() and before is not None:
            signal.signal(signal.SIGTERM, before)
    if is_ended:
        signal.raise_signal(signal.SIGTERM)
        raise KeyboardInterrupt


def _first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
