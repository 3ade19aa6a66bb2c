"""Turns: calls wait for each other, the end waits for the call that runs, and what is freed is freed once."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

from intarsia.errors import ClosedError
from intarsia.runtime.executors.turns import Turns

PATIENCE_S = 300.0


def test_the_end_comes_once_and_in_order() -> None:
    turns, told = Turns(), []
    turns.owns(lambda: told.append(1), lambda: told.append(2))
    assert turns.run(lambda: 7) == 7
    turns.close()
    turns.close()
    assert told == [1, 2]
    with pytest.raises(ClosedError, match="was closed; load it again"):
        turns.run(lambda: 7)


def test_one_that_fails_to_end_does_not_keep_the_next_from_it() -> None:
    turns, told = Turns(), []

    def fails() -> None:
        raise ArithmeticError("no end")

    turns.owns(fails, lambda: told.append(2))
    with pytest.raises(ArithmeticError):
        turns.close()
    assert told == [2]
    assert turns.is_closed


def test_closing_waits_for_the_call_that_runs() -> None:
    turns, begun, over, told = Turns(), threading.Event(), threading.Event(), []
    turns.owns(lambda: told.append("freed"))

    def act() -> None:
        begun.set()
        assert over.wait(PATIENCE_S)
        told.append("called")

    caller = threading.Thread(target=turns.run, args=(act,))
    caller.start()
    assert begun.wait(PATIENCE_S)
    closers = [threading.Thread(target=turns.close) for _ in range(3)]
    for thread in closers:
        thread.start()
    assert told == []
    over.set()
    for thread in (caller, *closers):
        thread.join(PATIENCE_S)
    assert told == ["called", "freed"]


def test_closing_from_inside_of_the_call_waits_for_its_end() -> None:
    turns, told = Turns(), []
    turns.owns(lambda: told.append("freed"))

    def act() -> str:
        turns.close()
        assert turns.is_closed
        assert told == []
        return "done"

    assert turns.run(act) == "done"
    assert told == ["freed"]


def test_a_call_from_inside_of_a_call_is_an_error() -> None:
    turns = Turns()
    with pytest.raises(ClosedError, match="at work on this very thread"):
        turns.run(lambda: turns.run(lambda: None))
    assert turns.run(lambda: 1) == 1


def test_what_a_call_raises_leaves_the_turns_open() -> None:
    turns = Turns()

    def act() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        turns.run(act)
    assert turns.run(lambda: 1) == 1


FORKED = """
import os, threading
from intarsia.errors import ClosedError
from intarsia.runtime.executors.turns import Turns

turns, closed, begun, over = Turns(), Turns(), threading.Event(), threading.Event()
turns.owns(lambda: print("freed", flush=True))
closed.close()
def act():
    begun.set()
    over.wait()
thread = threading.Thread(target=turns.run, args=(act,))
thread.start()
begun.wait()  # the lock is held by a thread that the child will not have
child = os.fork()
if not child:
    for each in (turns, closed):
        try:
            each.run(lambda: None)
        except ClosedError as error:
            print(error, flush=True)
    turns.close()
    os._exit(0)
os.waitpid(child, 0)
over.set()
thread.join()
turns.close()
"""
BETWEEN = """
import os, threading, time
from intarsia.runtime.executors.turns import Turns

turns, begun, calls = Turns(), threading.Event(), []
is_inside = False
def act():
    global is_inside
    is_inside = True
    begun.set()
    time.sleep(0.01)
    is_inside = False
def serve():
    while len(calls) < 10:
        turns.run(act)
        calls.append(1)
threads = [threading.Thread(target=serve) for _ in range(4)]
for thread in threads:
    thread.start()
begun.wait()
for _ in range(5):
    child = os.fork()
    if not child:
        os._exit(3 if is_inside else 0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
    Turns().run(lambda: None)
for thread in threads:
    thread.join()
"""
EXIT = """
import threading, time
from intarsia.runtime.executors.turns import Turns
import weakref

class Model:
    def __init__(self):
        self.turns = Turns()
        self.turns.owns(lambda: print("freed", flush=True))
        weakref.finalize(self, self.turns.finish)

model, begun = Model(), threading.Event()
def act():
    begun.set()
    time.sleep(0.5)
    print("called", flush=True)
def serve():
    while True:
        model.turns.run(act)
threading.Thread(target=serve, daemon=True).start()
begun.wait()
"""


def run(script: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=PATIENCE_S
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_a_fork_has_turns_of_its_own_and_frees_nothing() -> None:
    elsewhere, closed, freed = run(FORKED)
    assert "forked from" in elsewhere
    assert closed.startswith("the model was closed")
    assert freed == "freed"


def test_a_fork_comes_between_two_calls_and_the_calls_go_on() -> None:
    assert run(BETWEEN) == ["0"] * 5


def test_the_end_of_the_interpreter_waits_for_a_thread_in_a_call() -> None:
    *called, freed = run(EXIT)
    assert called
    assert set(called) == {"called"}
    assert freed == "freed"
