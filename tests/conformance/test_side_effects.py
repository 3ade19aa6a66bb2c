"""No engine connects to anything or writes outside our cache while a model is compiled for it, loaded and run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from intarsia.target import Target
from tests.conformance.boundary_cases import SMALL_NET
from tests.conformance.conftest import sent
from tests.conformance.process import EngineProcess
from tests.side_effects import COMPILER, as_user, effects, outside, watching
from tests.side_effects import built as built_in

pytestmark = [pytest.mark.engine]


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if COMPILER is None:
        pytest.skip("what engines do is watched by a library that is built here, and there is no C++ compiler")
    return built_in(tmp_path_factory.mktemp("library"))


def test_an_engine_keeps_to_itself(
    target: Target, library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, cache = tmp_path / "log", Path(os.environ["XDG_CACHE_HOME"])
    allowed = (tmp_path / "work", tmp_path / "temporary", cache)
    for folder in allowed:
        folder.mkdir(exist_ok=True)
    (tmp_path / "home").mkdir()
    own = {
        "HOME": str(tmp_path / "home"),
        "TMPDIR": str(tmp_path / "temporary"),
        "PYTHONDONTWRITEBYTECODE": "1",
        **watching(library, log),
    }
    with EngineProcess(str(target), as_user(os.environ) | own) as process:
        answer = sent(process, "contract", SMALL_NET, tmp_path / "work")
    assert "error" not in answer, answer["error"]
    assert list(effects(log)), "the library that watches was not loaded"
    assert outside(effects(log), *allowed) == []


@pytest.mark.parametrize(
    ("line", "seen"),
    [
        ("open('home/x', 'w').close()", "write {folder}/home/x"),
        ("import os; os.mkdir('home/x')", "write {folder}/home/x"),
        ("import os; os.rename('a', 'b')", "write {folder}/b"),
        ("import socket; socket.create_connection(('127.0.0.1', 9))", "connect 127.0.0.1"),
        ("import ctypes; ctypes.CDLL(None).fopen(b'home/x', b'w')", "write {folder}/home/x"),
        ("import subprocess as s; s.run(['touch', 'home/x'])", "write {folder}/home/x"),
    ],
)
def test_what_would_be_seen(library: Path, tmp_path: Path, line: str, seen: str) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "a").touch()
    log = tmp_path / "log"
    subprocess.run(
        [sys.executable, "-c", line],
        cwd=tmp_path,
        env=os.environ | watching(library, log),
        capture_output=True,
        check=False,
    )
    found = [f"{effect.kind} {effect.place}" for effect in outside(effects(log), tmp_path / "work")]
    assert seen.format(folder=tmp_path) in found
