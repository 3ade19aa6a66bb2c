"""Several threads call one model, load and free others, and no access of ours races."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from intarsia.backends import registry
from intarsia.config import RunSettings, Spin
from tests.unit.runtime.cpp.conftest import Builds, run
from tests.unit.runtime.cpp.prepared import LAYERS, branches, whole, written

THREADS, CALLS = 8, 1000
# Engines are not compiled for the tool, which so does not see what orders their threads; we are.
SUPPRESSED = "\n".join(f"called_from_lib:{name}" for name in ("libonnxruntime.so", "libopenvino", "libtbb"))


@pytest.mark.parametrize("kind", ["thread", "address"])
@pytest.mark.parametrize("plan", ["c", "branches", "mix"])
def test_eight_threads(tmp_path: Path, built: Builds, folders: str, kind: str, plan: str) -> None:
    path = _plan(tmp_path / "m.intarsia", plan)
    (tmp_path / "suppressed").write_text(SUPPRESSED, encoding="utf-8")
    # The tool wants its own places in memory, which a random layout may take.
    still = ["setarch", "-R"] if shutil.which("setarch") else []
    told = run(
        [*still, built(kind) / "threads", path, THREADS, CALLS],
        TSAN_OPTIONS=f"suppressions={tmp_path / 'suppressed'}:halt_on_error=0:exitcode=66",
        ASAN_OPTIONS="detect_leaks=1",
        LSAN_OPTIONS=f"suppressions={_leaks(tmp_path)}",
        INTARSIA_ENGINE_FOLDERS=folders,
    )
    assert told.splitlines()[-1] == "0 wrong" or "0 wrong" in told


def _plan(path: Path, plan: str) -> Path:
    if plan == "c":
        return whole(path, "c")
    for name in ("onnxruntime", "openvino"):
        if not registry.probe(name).usable:
            pytest.skip(f"{name} is not here")
    if plan == "branches":
        parts = [("c", ["first"]), ("c", ["left"]), ("onnxruntime", ["right"]), ("c", ["last"])]
        return written(path, parts, RunSettings(threads=2, spin=Spin.NEVER, parallel=True), branches())
    return written(
        path, [("openvino", LAYERS[:2]), ("onnxruntime", LAYERS[2:5]), ("c", LAYERS[5:])], RunSettings(threads=2)
    )


def _leaks(folder: Path) -> Path:
    """What engines keep to the end of the process."""
    path = folder / "leaks"
    path.write_text("leak:libonnxruntime\nleak:libopenvino\nleak:libtbb\n", encoding="utf-8")
    return path
