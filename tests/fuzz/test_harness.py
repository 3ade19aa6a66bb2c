"""The harness itself: a fuzzer that never fails shows nothing unless what it must notice is planted and found."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz.harness import Case, Outcome, faults, run_cases
from tests.fuzz.patience import ends

_PLUGIN = """
import os, signal, subprocess, time
act = os.environ["PLANTED"]
if act == "crash":
    os.kill(os.getpid(), signal.SIGSEGV)
elif act == "hang":
    time.sleep(600)
elif act == "write":
    open(os.environ["PLACE"], "w").close()
elif act == "delete":
    os.remove(os.environ["PLACE"])
elif act == "program":
    subprocess.run(["/bin/true"])
elif act == "library":
    import ctypes
    ctypes.CDLL(os.environ["PLACE"])
elif act == "trace":
    import traceback
    try:
        raise ValueError
    except ValueError:
        traceback.print_exc()
elif act == "control":
    print("\\x1b[31m")
elif act == "leave":
    os._exit(1)
"""


def _planted(folder: Path, act: str, place: Path, limit_s: float = 60.0) -> Outcome:
    """What is told of a command during which this happens: a plug-in that is there to be found does it."""
    plugin = folder / "plugin"
    (plugin / "planted-1.dist-info").mkdir(parents=True)
    (plugin / "planted.py").write_text(_PLUGIN)
    (plugin / "planted-1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: planted\nVersion: 1\n")
    (plugin / "planted-1.dist-info" / "entry_points.txt").write_text("[intarsia.kinds]\nplanted = planted:KINDS\n")
    environment = {"PYTHONPATH": str(plugin), "PLANTED": act, "PLACE": str(place)}
    case = Case(act, ("targets", "planted"), folder / "case")
    ((_, outcome),) = run_cases([case], limit_s=limit_s, workers=1, environment=environment)
    return outcome


def test_a_command_that_keeps_the_rules_has_no_faults(tmp_path: Path) -> None:
    cases = [
        Case("version", ("--version",), tmp_path / "version"),
        Case("missing", ("explain", "missing.intarsia"), tmp_path / "missing"),
        Case("unknown", ("unknown",), tmp_path / "unknown"),
    ]
    told = {case.name: outcome for case, outcome in run_cases(cases)}
    assert {name: outcome.exit_code for name, outcome in told.items()} == {"version": 0, "missing": 2, "unknown": 2}
    assert [fault for outcome in told.values() for fault in faults(outcome)] == []
    assert "missing.intarsia" in told["missing"].output


@pytest.mark.parametrize(
    ("act", "fault"),
    [
        ("crash", "ended by SIGSEGV"),
        ("write", "wrote {}"),
        ("delete", "os.remove {}"),
        ("program", "subprocess.Popen /bin/true"),
        ("library", "loaded {}"),
        ("trace", "a traceback"),
        ("control", "control characters on the terminal: '\\x1b'"),
        ("leave", "exit code 1"),
    ],
)
def test_what_is_planted_is_told(tmp_path: Path, act: str, fault: str) -> None:
    place = tmp_path / "outside"
    if act == "delete":
        place.touch()
    found = faults(_planted(tmp_path, act, place))
    assert any(fault.format(place) in each for each in found), found


def test_a_case_that_hangs_is_ended(tmp_path: Path) -> None:
    outcome = _planted(tmp_path, "hang", tmp_path, limit_s=3.0)
    assert (outcome.exit_code, outcome.signal) == (None, None)
    assert faults(outcome) == [f"no end within {outcome.seconds:.0f} s"]


@pytest.mark.skipif(not Path("/proc/self/schedstat").exists(), reason="the system does not tell of delays")
def test_waiting_for_a_processor_does_not_count() -> None:
    """Of four processes on one processor each waits for three times as long as it runs."""
    first = min(os.sched_getaffinity(0))
    program = f"import os, time; os.sched_setaffinity(0, [{first}])\nwhile time.process_time() < %s: pass"
    line = [sys.executable, "-c"]
    others = [subprocess.Popen([*line, program % 60]) for _ in range(3)]
    asked = subprocess.Popen([*line, program % 0.5])
    try:
        assert ends(asked.pid, 1.5)
        assert not ends(others[0].pid, 0.5)
    finally:
        for each in (asked, *others):
            each.kill()
            each.wait()


def test_one_case_is_nothing_to_the_next(tmp_path: Path) -> None:
    folders = [tmp_path / str(number) for number in range(5)]
    told = list(run_cases((Case(folder.name, ("config",), folder) for folder in folders), workers=2))
    assert sorted(case.name for case, _ in told) == [folder.name for folder in folders]
    assert all(not faults(outcome) for _, outcome in told), told
