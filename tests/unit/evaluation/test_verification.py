"""An artifact on the reference engine, in a worker: right, wrong, and fed with what it does not take."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from intarsia.backends.contract.failures import Cause
from intarsia.config import RunSettings
from intarsia.cost.records.store import Store
from intarsia.cost.worker.client import WorkerClient
from intarsia.cost.worker.protocol import Failed
from intarsia.errors import BackendCrashError, FeedError
from intarsia.evaluation.verification import verify_artifact
from intarsia.graph import Graph, load_model
from intarsia.partitioning import Partition
from intarsia.runtime import Artifact, build, plan_of, write_artifact
from intarsia.target import Target
from tests.unit.graph.models import two_layers

REFERENCE = Target("reference")


def written(path: Path, built_of: Graph, stored: Graph) -> Artifact:
    """An artifact in two partitions that runs one graph and says that it is another."""
    ids = [node.id for node in built_of.nodes]
    parts = [Partition(target=REFERENCE, nodes=tuple(nodes)) for nodes in (ids[:2], ids[2:])]
    write_artifact(path, stored, build(built_of, plan_of(built_of, parts, RunSettings(threads=1))))
    return Artifact(path)


@pytest.fixture
def records(tmp_path: Path) -> Store:
    return Store(tmp_path / "r.sqlite")


def test_each_seed_is_a_check_of_each_output(tmp_path: Path, records: Store) -> None:
    graph = load_model(two_layers())
    checks = verify_artifact(written(tmp_path / "m.intarsia", graph, graph), records, (1, 2), {})
    assert [check.inputs for check in checks] == ["seed 1", "seed 2"]
    assert all(check.is_right and [found.name for found in check.outputs] == ["y"] for check in checks)


def test_what_answers_wrongly_is_found_with_its_partition(tmp_path: Path, records: Store) -> None:
    graph = load_model(two_layers())
    other = two_layers()
    other.graph.node[3].op_type = "Sigmoid"
    artifact = written(tmp_path / "m.intarsia", graph, load_model(other))
    given = {"x": np.ones((4, 32), np.float32)}
    (check,) = verify_artifact(artifact, records, (1,), given)
    assert (check.inputs, check.is_right) == ("given", False)
    assert check.outputs[0].error > check.outputs[0].allowed
    assert check.guilty is not None
    assert check.guilty.startswith("partition 1 on reference is wrong: y: error")


def test_an_input_that_the_model_does_not_have_is_refused(tmp_path: Path, records: Store) -> None:
    graph = load_model(two_layers())
    artifact = written(tmp_path / "m.intarsia", graph, graph)
    with pytest.raises(FeedError, match="no input 'z'"):
        verify_artifact(artifact, records, (1,), {"z": np.ones(3, np.float32)})


def test_an_engine_that_fails_is_its_failure(tmp_path: Path, records: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def ask(*_: object) -> Failed:
        return Failed(stage="crash", reason="killed by SIGSEGV", cause=Cause.ENGINE)

    monkeypatch.setattr(WorkerClient, "ask", ask)
    graph = load_model(two_layers())
    with pytest.raises(BackendCrashError, match="crash: 2 nodes from first: killed by SIGSEGV"):
        verify_artifact(written(tmp_path / "m.intarsia", graph, graph), records, (1,), {})
