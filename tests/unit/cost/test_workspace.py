"""A workspace holds what workers need; only what dead processes left is swept."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from intarsia.cost.recorded import VALUES, recorded_values
from intarsia.cost.store import Store
from intarsia.cost.workspace import Workspace
from intarsia.graph import Graph, open_graph


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "records.sqlite")


def test_only_what_the_dead_left_is_removed(store: Store) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    work = store.folder / "work"
    dead, alive, own, strange = (
        work / name for name in (f"{ended.pid}-x", f"{os.getppid()}-x", f"{os.getpid()}-x", "z")
    )
    for folder in (dead, alive, own, strange):
        folder.mkdir(parents=True)
        (folder / "weights.bin").touch()
    workspace = Workspace(store)
    assert [folder.exists() for folder in (dead, alive, own, strange)] == [False, True, True, True]
    assert workspace.folder.parent == work
    assert workspace.folder.name.startswith(f"{os.getpid()}-")


def test_two_of_one_process_do_not_share(store: Store) -> None:
    first, second = Workspace(store), Workspace(store)
    assert first.folder != second.folder
    first.remove()
    first.remove()
    assert not first.folder.exists()
    assert second.folder.is_dir()


def test_workers_find_graph_and_values(store: Store, graph: Graph) -> None:
    workspace = Workspace(store)
    workspace.save(graph)
    workspace.compute_reference(graph, {"b"}, seed=0)
    opened = open_graph((workspace.folder / "graph.onnx").read_bytes(), workspace.folder / "weights.bin")
    assert opened.content_hash() == graph.content_hash()
    assert set(recorded_values(workspace.folder / VALUES, ["x", "b", "y", "a"])) == {"x", "b", "y"}


def test_keeping_one_file_leaves_the_cached_answers_alone(store: Store, graph: Graph) -> None:
    workspace = Workspace(store)
    workspace.save(graph)
    workspace.compute_reference(graph, set(), seed=0)
    answers = (workspace.folder / VALUES).resolve()
    (workspace.folder / "compiled").mkdir()
    (workspace.folder / "compiled" / "blob").touch()
    artifact = workspace.folder / "single.itz"
    artifact.write_bytes(b"artifact")
    workspace.keep_only(artifact)
    assert list(workspace.folder.iterdir()) == [artifact]
    assert recorded_values(answers, ["y"])["y"].dtype == np.float32
