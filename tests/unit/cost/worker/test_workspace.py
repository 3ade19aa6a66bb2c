"""A workspace holds what workers need; only what dead processes left is swept."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from intarsia.cost.records.store import Store
from intarsia.cost.reference.reference_io import VALUES, recorded_values
from intarsia.cost.worker.workspace import Workspace
from intarsia.graph import Graph, open_graph, save_graph
from intarsia.graph.fingerprint import content_hash

HOLDER = """
import sys
from pathlib import Path
from intarsia.cost.records.store import Store
from intarsia.cost.worker.workspace import Workspace
work = Workspace(Store(Path(sys.argv[1])))
(work.folder / "weights.bin").touch()
print(work.folder, flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "records.sqlite")


def test_only_what_the_dead_left_is_removed(store: Store) -> None:
    work = store.folder / "work"
    holder = [sys.executable, "-c", HOLDER, str(store.place)]
    living = subprocess.Popen(holder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    killed = subprocess.Popen(holder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert living.stdout is not None
    assert killed.stdout is not None
    alive, dead = Path(living.stdout.readline().strip()), Path(killed.stdout.readline().strip())
    killed.kill()
    killed.communicate()
    strange = work / "z"
    strange.mkdir()
    assert dead.is_dir()
    workspace = Workspace(store)
    assert [folder.exists() for folder in (dead, alive, strange)] == [False, True, True]
    assert workspace.folder.parent == work
    living.communicate("go on\n")
    assert living.returncode == 0
    assert set(work.iterdir()) == {strange, workspace.folder}


def test_it_goes_with_its_object(store: Store) -> None:
    folder = Workspace(store).folder
    gc.collect()
    assert not folder.exists()


def test_drafts_of_the_dead_go_from_the_cached_answers(store: Store, graph: Graph) -> None:
    Workspace(store).compute_reference(graph, set(), seed=0)
    (kept,) = (store.folder / "reference").iterdir()
    left = [folder / ".intarsia-1-01234567.tmp" for folder in (kept, kept.parent)]
    for path in left:
        path.touch()
    Workspace(store).compute_reference(graph, set(), seed=0)
    assert [path for path in left if path.exists()] == []


def test_two_of_one_process_do_not_share(store: Store) -> None:
    first, second = Workspace(store), Workspace(store)
    assert first.folder != second.folder
    assert first.folder.name.startswith(f"{os.getpid()}-")
    first.remove()
    first.remove()
    assert not first.folder.exists()
    assert second.folder.is_dir()


def test_workers_find_graph_and_values(store: Store, graph: Graph) -> None:
    workspace = Workspace(store)
    save_graph(graph, workspace.folder)
    workspace.compute_reference(graph, {"b"}, seed=0)
    opened = open_graph((workspace.folder / "graph.onnx").read_bytes(), workspace.folder / "weights.bin")
    assert content_hash(opened) == content_hash(graph)
    assert set(recorded_values(workspace.folder / VALUES, ["x", "b", "y", "a"])) == {"x", "b", "y"}


def test_keeping_one_file_leaves_the_cached_answers_alone(store: Store, graph: Graph) -> None:
    workspace = Workspace(store)
    save_graph(graph, workspace.folder)
    workspace.compute_reference(graph, set(), seed=0)
    answers = (workspace.folder / VALUES).resolve()
    (workspace.folder / "compiled").mkdir()
    (workspace.folder / "compiled" / "blob").touch()
    artifact = workspace.folder / "single.itz"
    artifact.write_bytes(b"artifact")
    workspace.keep_only(artifact)
    assert list(workspace.folder.iterdir()) == [artifact]
    assert recorded_values(answers, ["y"])["y"].dtype == np.float32
