"""Closing under calls, at the end of the interpreter and from inside of a call, with the engines that are here."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.conftest import ROOT
from tests.e2e.plan_forms import engines

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
PATIENCE_S = 500.0
FORMS = (*engines(), "mix", "branches", "pipeline", "embedded", "sizes", "away")
AT_EXIT = """
import sys, threading
from pathlib import Path
from tests.e2e.plan_forms import feeds, load, write

(path,) = write(Path(sys.argv[1]), sys.argv[2]).values()
model, begun = load(path), threading.Event()
def serve():
    for results in model.stream(feeds(0) for _ in iter(int, 1)):
        begun.set()
def call():
    while True:
        model(feeds(0))
        begun.set()
for act in (serve, call):
    threading.Thread(target=act, daemon=True).start()
begun.wait()
print("ends")
"""
BY_A_SIGNAL = """
import signal, sys
from pathlib import Path
from intarsia.errors import ClosedError
from tests.e2e.plan_forms import feeds, load, write

(path,) = write(Path(sys.argv[1]), sys.argv[2]).values()
model = load(path)
signal.signal(signal.SIGALRM, lambda *_: model.close())
signal.setitimer(signal.ITIMER_REAL, 0.05)
try:
    while True:
        model(feeds(0))
except ClosedError as error:
    print(error)
"""


def python(*arguments: object) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, *map(str, arguments)]
    return subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False, timeout=PATIENCE_S)


@pytest.mark.parametrize("form", FORMS)
def test_closing_waits_for_calls_of_other_threads(form: str, tmp_path: Path) -> None:
    done = python("-m", "tests.e2e.closing", tmp_path, "--form", form)
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout.splitlines()[-1])
    if not found:
        pytest.skip(f"{form}: not all of its engines are here")
    assert found == {form: []}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("script", "said"),
    [(AT_EXIT, "ends"), pytest.param(BY_A_SIGNAL, "the model was closed", marks=pytest.mark.large)],
)
def test_it_ends_as_programs_do(form: str, script: str, said: str, tmp_path: Path) -> None:
    from tests.e2e.plan_forms import write

    if not write(tmp_path, form):
        pytest.skip(f"{form}: not all of its engines are here")
    done = python("-c", script, tmp_path, form)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.splitlines()[-1].startswith(said)
    assert "Traceback" not in done.stderr
