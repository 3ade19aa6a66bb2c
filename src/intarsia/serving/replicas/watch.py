"""Looks at the application on the cluster while it runs: whether a replica starts, and how many there are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from intarsia.addresses import Address
from intarsia.errors import WorkerDiedError
from intarsia.remote.failures import error_of
from intarsia.serving.logs import tell
from intarsia.serving.replicas.address import status_at
from intarsia.serving.replicas.ending import Ending

UNABLE: Final = "a replica cannot start: "
"""What stands before an error of ours in the message of a replica that does not start."""
LOOK_S: Final = 0.5


class Watch:
    """Looks at the application while it runs, and tells how many replicas there are."""

    def __init__(self, serve: Any, name: str, address: Address, *, tls: bool) -> None:
        self._serve = serve
        self._name = name
        self._address = address
        self._tls = tls
        self._running = 0
        self._why = ""

    def until(self, ending: Ending, on_ready: Callable[[], object]) -> None:
        """Look until it is told to end.

        Raises:
            IntarsiaError: No replica starts.
        """
        is_ready = False
        while not ending.is_told:
            found = self._serve.status().applications.get(self._name)
            if found is None:
                raise WorkerDiedError("somebody ended the application on the cluster; start the server again")
            self._tell_running(found)
            if not is_ready:
                _raise_failure(found)
                self._tell_why(found)
                is_ready = found.status == "RUNNING" and self._answers()
                if is_ready:
                    on_ready()
            ending.wait(LOOK_S)

    def _tell_running(self, found: Any) -> None:
        running = sum(each.replica_states.get("RUNNING", 0) for each in found.deployments.values())
        if running != self._running:
            self._running = running
            tell("replicas", running=running)

    def _tell_why(self, found: Any) -> None:
        """Tell what replicas wait for, such as processors that others use."""
        why = " ".join(each.message for each in found.deployments.values() if each.message)
        if why and why != self._why:
            self._why = why
            tell("waiting", why=why)

    def _answers(self) -> bool:
        """Whether requests reach a replica from here; on another machine than this one nothing can be asked."""
        return status_at(self._address, "/v2/health/ready", tls=self._tls) in (200, None)


def _raise_failure(found: Any) -> None:
    if found.status not in ("DEPLOY_FAILED", "UNHEALTHY"):
        return
    text = "\n".join((found.message, *(each.message for each in found.deployments.values())))
    _, is_ours, told = text.partition(UNABLE)
    if is_ours:
        raise error_of(told.splitlines()[0], "a replica")
    raise WorkerDiedError(f"no replica starts: {text.strip()}")
