"""A replica without Ray: the application, its lifespan, and artifacts that come as bytes."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Any

import pytest

from intarsia.errors import ArtifactError
from intarsia.serving.access import Access
from intarsia.serving.limits import Limits
from intarsia.serving.loaded import Loading
from intarsia.serving.replicas.replica import Replica, ReplicaSettings
from tests.artifacts import written


def settings(path: Path, token: bytes | None = None) -> ReplicaSettings:
    return ReplicaSettings(
        files={"net": path},
        loading=Loading(),
        limits=Limits(timeout_s=5.0),
        access=Access(token=token),
        log_requests=False,
    )


def asked(replica: Replica, scope: dict[str, Any], *messages: str) -> list[dict[str, Any]]:
    """What it sends, when it receives messages of these types."""
    coming, sent = [{"type": each} for each in messages], []

    async def receive() -> dict[str, Any]:
        return coming.pop(0)

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    asyncio.run(replica(scope, receive, send))
    return sent


def got(replica: Replica, path: str) -> int:
    scope = {"type": "http", "method": "GET", "path": path, "headers": []}
    return int(asked(replica, scope, "http.request")[0]["status"])


def ended(replica: Replica) -> list[str]:
    return [each["type"] for each in asked(replica, {"type": "lifespan"}, "lifespan.startup", "lifespan.shutdown")]


def test_it_answers_until_its_lifespan_ends(tmp_path: Path) -> None:
    replica = Replica(settings(written(tmp_path / "net.intarsia"), token=b"secret"))
    assert got(replica, "/v2/health/ready") == 200
    assert got(replica, "/v2/models/net") == 401
    assert asked(replica, {"type": "websocket"}, "websocket.connect") == [{"type": "websocket.close", "code": 1000}]
    assert ended(replica) == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
    assert got(replica, "/v2/health/ready") == 400


def test_contents_take_the_place_of_files(tmp_path: Path) -> None:
    content = written(tmp_path / "net.intarsia").read_bytes()
    replica = Replica(settings(Path("/elsewhere/net.intarsia")), {"net": content})
    assert got(replica, "/v2/models/net/ready") == 200
    ended(replica)


def test_what_cannot_be_loaded_is_told_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(ArtifactError, match=r"net\.intarsia"):
        Replica(settings(Path("/elsewhere/net.intarsia")), {"net": b"no artifact"})
    assert [each for each in tmp_path.iterdir() if each.name.startswith("intarsia-")] == []
