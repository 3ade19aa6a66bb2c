"""``intarsia serve --ray``: what reaches Ray Serve, and what is refused since it would have no effect there."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from intarsia.addresses import Address
from intarsia.serving.replicas import cluster_server
from intarsia.serving.replicas.cluster_server import Cluster
from intarsia.serving.replicas.scale import Scale
from intarsia.serving.server import Endpoints
from tests.artifacts import written
from tests.cli_fakes import invoke


class Noted:
    """Takes what the server on a cluster takes, and is ready at once."""

    made: dict[str, Any] = {}  # noqa: RUF012 - filled anew by each

    def __init__(self, files: Any, http: Address, cluster: Cluster, **settings: Any) -> None:
        Noted.made = {"files": files, "http": http, "cluster": cluster, **settings}

    def run(self, on_listening: Any, on_ready: Any) -> None:
        on_listening(Endpoints(http=Noted.made["http"], grpc=None))
        on_ready()


@pytest.fixture
def _noted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_server, "ClusterServer", Noted)


@pytest.mark.usefixtures("_noted")
def test_what_is_asked_for_reaches_the_cluster() -> None:
    flags = ("--instances", "3", "--queue", "5", "--log-requests", "--grpc", "off", "--reload-every", "0")
    done = invoke("serve", "a.intarsia", "--ray", "10.0.0.1:6379", "--replicas", "2..4", *flags)
    assert (done.exit_code, done.stdout) == (0, "http: http://127.0.0.1:8000\nready: a\n")
    made = Noted.made
    assert made["cluster"] == Cluster(address=Address("10.0.0.1", 6379), scale=Scale(least=2, most=4))
    assert (made["files"], made["loading"].instances, made["limits"].waiting) == ({"a": Path("a.intarsia")}, 3, 5)
    assert made["log_requests"] is True


@pytest.mark.usefixtures("_noted")
def test_without_an_address_it_is_a_cluster_of_this_machine_alone() -> None:
    assert invoke("serve", "a.intarsia", "--ray", "--json").exit_code == 0
    assert Noted.made["cluster"] == Cluster(address=None, scale=None)


@pytest.mark.usefixtures("_noted")
@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("a.intarsia", "--ray", "--grpc", "127.0.0.1:8001"), "--ray speaks HTTP alone"),
        (("a.intarsia", "--ray", "--http", "off"), "--http off leaves nothing"),
        (("a.intarsia", "--ray", "--reload-every", "2"), "--ray does not look at the files again"),
        (("a.intarsia", "--replicas", "2"), "say --ray too"),
        (("a.intarsia", "--ray", "--replicas", "4..2"), "is no number of replicas"),
        (("a.intarsia", "--ray", "--http", "0.0.0.0:8000"), "can be reached from other machines"),
        (("--ray", "a.intarsia"), "an artifact stands before --ray"),
    ],
)
def test_what_has_no_effect_on_ray_is_refused(flags: tuple[str, ...], words: str) -> None:
    done = invoke("serve", *flags)
    assert done.exit_code == 2
    assert words in " ".join(done.stderr.split())


def test_a_missing_ray_serve_is_told_with_what_installs_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    monkeypatch.setitem(sys.modules, "ray", None)
    done = invoke("serve", str(written(tmp_path / "a.intarsia")), "--ray")
    assert done.exit_code == 3
    assert "pip install 'intarsia[ray-serve]'" in " ".join(done.stderr.split())
