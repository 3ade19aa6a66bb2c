"""An artifact whose engine is not installed: every verb says which extra installs it, and leaves nothing behind."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.e2e.conftest import ROOT
from tests.e2e.plan_forms import engines, write

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
HIDDEN: Mapping[str, tuple[str, ...]] = {
    "mnn": ("MNN", "_tools"),
    "ncnn": ("ncnn",),
    "onnxruntime": ("onnxruntime",),
    "openvino": ("openvino",),
}
"""What is hidden of an engine: an import of it fails as if it were not there."""
VERBS: Mapping[str, tuple[str, ...]] = {
    "export": ("export", "{}", "native"),
    "run": ("run", "{}", "--random"),
    "verify": ("verify", "{}"),
    "bench": ("bench", "{}", "--budget", "1"),
}
LOAD = "import intarsia, sys; intarsia.load(sys.argv[1])"


@pytest.fixture(scope="module")
def artifacts(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    return write(tmp_path_factory.mktemp("artifacts"))


def without(engine: str, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A Python program on a machine without this engine."""
    (folder / "hidden").mkdir()
    lines = ["import sys", *(f"sys.modules[{name!r}] = None" for name in HIDDEN[engine])]
    (folder / "hidden" / "sitecustomize.py").write_text("\n".join(lines), encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (folder / "hidden", ROOT / "src")))}
    line = [sys.executable, *arguments]
    return subprocess.run(line, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("engine", HIDDEN)
def test_every_verb_says_what_to_install(engine: str, verb: str, artifacts: Mapping[str, Path], tmp_path: Path) -> None:
    if engine not in engines():
        pytest.skip(f"{engine} is not here in any case")
    path = str(artifacts[engine])
    done = without(engine, tmp_path, "-m", "intarsia", *(word.format(path) for word in VERBS[verb]))
    assert done.returncode == 3, done.stderr
    assert f"pip install 'intarsia[{engine}]'" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "native").exists()


@pytest.mark.parametrize("engine", HIDDEN)
def test_loading_in_python_says_so_too(engine: str, artifacts: Mapping[str, Path], tmp_path: Path) -> None:
    if engine not in engines():
        pytest.skip(f"{engine} is not here in any case")
    done = without(engine, tmp_path, "-c", LOAD, str(artifacts[engine]))
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("intarsia.errors.BackendUnavailableError: ")
    assert f"pip install 'intarsia[{engine}]'" in last
