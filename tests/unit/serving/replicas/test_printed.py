"""What replicas print, among the lines of the command's own log."""

from __future__ import annotations

import json

import pytest

from intarsia.serving.replicas.printed import ReplicaLog


def test_a_line_of_a_replica_tells_its_process_and_any_other_comes_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    lines = [json.dumps({"event": "ready"}), "an engine speaks", json.dumps([1]), json.dumps({"x": 1})]
    ReplicaLog("intarsia")({"actor_name": "ServeReplica:intarsia:intarsia", "pid": 7, "lines": lines})
    told, *others = capsys.readouterr().err.splitlines()
    assert json.loads(told) == {"event": "ready", "process": 7}
    assert others == lines[1:]


@pytest.mark.parametrize("actor", [None, "ServeController", "ServeReplica:other:intarsia"])
def test_other_processes_of_the_cluster_are_not_heard(capsys: pytest.CaptureFixture[str], actor: str | None) -> None:
    ReplicaLog("intarsia")({"actor_name": actor, "pid": 7, "lines": ["secret"]})
    assert capsys.readouterr().err == ""
