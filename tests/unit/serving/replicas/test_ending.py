"""Which signal ends a program in order, and which at once; each in a process of its own."""

from __future__ import annotations

import subprocess
import sys
import threading

import psutil

SCRIPT = """
import signal, subprocess, sys
from intarsia.serving.replicas.ending import Ending

with Ending() as ending:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], stdout=subprocess.DEVNULL)
    print(child.pid, flush=True)
    signal.raise_signal(signal.SIGTERM)
    ending.wait(600)
    assert ending.is_told
    {then}
child.kill()
"""


def ran(then: str) -> tuple[int, int]:
    """The exit code, and the process that it had started."""
    done = subprocess.run([sys.executable, "-c", SCRIPT.format(then=then)], stdout=subprocess.PIPE, check=False)
    return done.returncode, int(done.stdout)


def test_the_first_signal_is_remembered() -> None:
    code, _ = ran("pass")
    assert code == 0


def test_the_second_ends_the_program_at_once_with_what_it_started() -> None:
    code, child = ran("signal.raise_signal(signal.SIGINT)")
    assert code == 130
    pause = threading.Event()
    while is_alive(child):  # it is killed, which takes a moment
        pause.wait(0.005)


def is_alive(process: int) -> bool:
    try:
        return bool(psutil.Process(process).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
