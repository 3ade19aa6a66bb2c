"""A fork is told to what lives, and waits for what must not be inherited."""

from __future__ import annotations

import subprocess
import sys

PATIENCE_S = 300.0
SCRIPT = """
import gc, os, threading
from intarsia.forks import NO_FORK, Forkable

class Told(Forkable):
    def __init__(self, name):
        self.name = name
    def after_fork(self):
        print(self.name, flush=True)

kept, gone = Told("kept"), Told("gone")
del gone
gc.collect()
held, over = threading.Event(), threading.Event()
def hold():
    with NO_FORK:
        held.set()
        over.wait()
        print("not held any more", flush=True)
holder = threading.Thread(target=hold)
holder.start()
held.wait()
threading.Timer(0.2, over.set).start()
child = os.fork()
if not child:
    with NO_FORK:
        os._exit(0)
os.waitpid(child, 0)
holder.join()
"""


def test_what_lives_is_told_and_a_fork_waits() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True, timeout=PATIENCE_S
    )
    assert done.stdout.splitlines() == ["not held any more", "kept"]


HALF_MADE = """
import os
from intarsia.forks import Forkable

class Late(Forkable):
    def __init__(self):
        if not os.fork():
            print("the child goes on", flush=True)
            os._exit(0)
        os.wait()
        self.name = "late"
    def after_fork(self):
        print(self.name, flush=True)

late = Late()
if not os.fork():
    os._exit(0)
os.wait()
"""


def test_what_is_half_made_is_not_told() -> None:
    done = subprocess.run(
        [sys.executable, "-c", HALF_MADE], capture_output=True, text=True, check=True, timeout=PATIENCE_S
    )
    assert (done.stdout.splitlines(), done.stderr) == (["the child goes on", "late"], "")
