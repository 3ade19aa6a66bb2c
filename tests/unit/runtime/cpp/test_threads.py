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
# ONNX Runtime is not compiled for the tool, which so does not see what orders its threads; we are. At the end of the
# process it unlocks a mutex of its own that the tool never saw.
# The same of mutexes that its threads wait with. What two threads access at one time is told in any case.
SUPPRESSED = "called_from_lib:libonnxruntime.so\nmutex:__run_exit_handlers\nmutex:std::condition_variable::wait\n"


@pytest.mark.parametrize(
    ("kind", "plan"),
    [
        *((kind, plan) for kind in ("thread", "address") for plan in ("branches", "inside a session")),
        *(pytest.param(kind, "c", marks=pytest.mark.large) for kind in ("thread", "address")),
        ("plain", "mix"),  # OpenVINO opens libraries in a way that no sanitizer takes
    ],
)
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
    assert "0 wrong" in told


def _plan(path: Path, plan: str) -> Path:
    if plan == "c":
        return whole(path, "c")
    for name in ("winograd", "openvino") if plan == "mix" else ("winograd",):
        if not registry.probe(name).usable:
            pytest.skip(f"{name} is not here")
    if plan == "branches":
        several = [("c", ["first"]), ("c", ["left"]), ("onnxruntime", ["right"]), ("c", ["last"])]
        return written(path, several, RunSettings(threads=2, spin=Spin.NEVER, parallel=True), branches())
    if plan == "inside a session":
        parts = [("winograd", LAYERS[:2]), ("c", LAYERS[2:3]), ("winograd", LAYERS[3:])]
        return written(path, parts, RunSettings(threads=2, embed=True))
    mix = [("openvino", LAYERS[:2]), ("onnxruntime", LAYERS[2:5]), ("c", LAYERS[5:])]
    return written(path, mix, RunSettings(threads=2))


def _leaks(folder: Path) -> Path:
    """What ONNX Runtime keeps to the end of the process."""
    path = folder / "leaks"
    path.write_text("leak:libonnxruntime\n", encoding="utf-8")
    return path
