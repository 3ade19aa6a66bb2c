"""Files from elsewhere are loaded in a process that may die, once; what was made here is not."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from onnx import TensorProto, helper

import intarsia
from intarsia.config import RunSettings, Spin
from intarsia.errors import ArtifactError, BackendUnavailableError, LoadError
from intarsia.graph import load_model
from intarsia.partitioning import Partition
from intarsia.runtime import Artifact, attach_report, build, plan_of, write_artifact
from intarsia.runtime import rehearsal as module
from intarsia.runtime.rehearsal import rehearse
from intarsia.target import Target


@pytest.fixture
def artifact(tmp_path: Path) -> Path:
    """One that this machine made."""
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 3]) for name in ("x", "y")]
    proto = helper.make_graph([helper.make_node("Relu", ["x"], ["y"], "relu")], "g", ends[:1], ends[1:])
    graph = load_model(helper.make_model(proto, opset_imports=[helper.make_opsetid("", 21)]))
    plan = plan_of(
        graph, [Partition(target=Target("reference"), nodes=("relu",))], RunSettings(threads=1, spin=Spin.NEVER)
    )
    path = tmp_path / "m.intarsia"
    write_artifact(path, graph, build(graph, plan))
    attach_report(path, {})
    return path


@pytest.fixture
def elsewhere(artifact: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For a user whose cache does not know it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "other-cache"))


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The processes that are started."""
    calls: list[list[str]] = []
    run = subprocess.run

    def noting(command: list[str], **more: object) -> object:
        calls.append(command)
        return run(command, **more)  # type: ignore[call-overload]

    monkeypatch.setattr(subprocess, "run", noting)
    return calls


def test_what_was_made_here_is_loaded_at_once(artifact: Path, started: list[list[str]]) -> None:
    intarsia.load(artifact).close()
    assert started == []


@pytest.mark.usefixtures("elsewhere")
def test_a_file_from_elsewhere_is_loaded_in_another_process_once(
    artifact: Path, tmp_path: Path, started: list[list[str]]
) -> None:
    intarsia.load(artifact).close()
    assert len(started) == 1
    intarsia.load(artifact).close()
    copy = tmp_path / "copy.intarsia"
    copy.write_bytes(artifact.read_bytes())
    intarsia.load(copy).close()
    assert len(started) == 1, "the same file is known by what is in it"


@pytest.mark.usefixtures("elsewhere")
def test_who_trusts_a_file_loads_it_at_once(artifact: Path, started: list[list[str]]) -> None:
    intarsia.load(artifact, trusted=True).close()
    assert started == []


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "an engine ends with SIGSEGV when this is loaded"),
        ("import sys; print('no more', file=sys.stderr); sys.exit(3)", r"with status 3 \(no more\)"),
        ("print('loud')", "with status 0"),
        ("import os; os.write(1, b'\\0' + b'0' * 64)", "it was changed while it was looked at"),
        ("import time; time.sleep(600)", "do not finish loading it"),
    ],
)
def test_a_process_that_does_not_end_well_is_an_error_and_nothing_is_remembered(
    artifact: Path, monkeypatch: pytest.MonkeyPatch, program: str, words: str
) -> None:
    monkeypatch.setattr(module, "_PROGRAM", program)
    monkeypatch.setattr(module, "LIMIT_S", 3.0)
    for _ in range(2):
        with pytest.raises(ArtifactError, match=words):
            rehearse(Artifact(artifact))


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize(
    ("row", "error", "words"),
    [
        (["LoadError", "mnn", "no session"], LoadError, "^mnn failed at load: no session$"),
        (["BackendUnavailableError", None, "it is not here"], BackendUnavailableError, "^it is not here$"),
        (["KeyError", None, "'x'"], ArtifactError, "it cannot be loaded: KeyError: 'x'"),
    ],
)
def test_an_error_there_is_the_error_here(
    artifact: Path, monkeypatch: pytest.MonkeyPatch, row: list[str | None], error: type[Exception], words: str
) -> None:
    """A file that an engine refuses in one process may end another."""
    monkeypatch.setattr(module, "_PROGRAM", f"import os; os.write(1, {f'{chr(0)}failed {json.dumps(row)}'.encode()!r})")
    for _ in range(2):  # it is not remembered
        with pytest.raises(error, match=words):
            rehearse(Artifact(artifact))


def test_a_copy_that_is_saved_is_known(artifact: Path, tmp_path: Path, started: list[list[str]]) -> None:
    with intarsia.load(artifact) as model:
        model.save(tmp_path / "saved.intarsia")
    intarsia.load(tmp_path / "saved.intarsia").close()
    assert started == []
