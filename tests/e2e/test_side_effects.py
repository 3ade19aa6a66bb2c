"""A compile on all engines that are here, and a run of what it made: nothing is connected to, nothing written aside."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.e2e.conftest import command
from tests.side_effects import COMPILER, as_user, built, effects, outside, watching

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


@pytest.mark.skipif(COMPILER is None, reason="the library that watches is built here, and there is no C++ compiler")
def test_a_compile_keeps_to_itself(tiny: Path, tmp_path: Path) -> None:
    log, home = tmp_path / "log", tmp_path / "home"
    allowed = (tmp_path / "work", tmp_path / "temporary", Path(os.environ["XDG_CACHE_HOME"]))
    for folder in (*allowed, home):
        folder.mkdir(exist_ok=True)
    artifact = tmp_path / "work" / "tiny.intarsia"
    own = {"HOME": str(home), "TMPDIR": str(tmp_path / "temporary"), "PYTHONDONTWRITEBYTECODE": "1"}
    for verb in (("compile", tiny, "--budget", 2, "-o", artifact), ("run", artifact, "--random")):
        line, environment = command(*verb)
        watched = {**as_user(environment), **own, **watching(built(tmp_path), log)}
        done = subprocess.run(line, env=watched, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    written = [effect.place for effect in effects(log) if effect.kind == "write"]
    assert any(place.startswith(str(artifact)) for place in written), "the library that watches was not loaded"
    assert outside(effects(log), *allowed) == []
