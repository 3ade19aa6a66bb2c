"""What C prints meanwhile is not heard, what Python prints is, and nothing is lost afterwards."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

BEGIN = """
import ctypes, os, threading
from intarsia.backends.mnn.silence import silence

libc = ctypes.CDLL(None)

def c_prints(text):
    libc.puts(text.encode())
    libc.fflush(None)
"""
ONE = """
with silence():
    c_prints("from C, meanwhile")
    print("from Python, meanwhile", flush=True)
c_prints("from C, afterwards")
"""
TWO_OVERLAP = """
first_in, second_in, first_out = threading.Event(), threading.Event(), threading.Event()

def first():
    with silence():
        first_in.set()
        second_in.wait()
    first_out.set()

thread = threading.Thread(target=first)
thread.start()
first_in.wait()
with silence():
    second_in.set()
    first_out.wait()
    c_prints("from C, meanwhile")
thread.join()
c_prints("from C, afterwards")
"""
FORK = """
inside, done = threading.Event(), threading.Event()

def other():
    with silence():
        inside.set()
        done.wait()

thread = threading.Thread(target=other)
thread.start()
inside.wait()
child = os.fork()
if child == 0:
    c_prints("from C, in the child")
    with silence():
        c_prints("from C, in the child, meanwhile")
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
done.set()
thread.join()
c_prints("from C, afterwards")
"""

pytestmark = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library: MNN is heard")


@pytest.mark.parametrize(
    ("program", "heard"),
    [
        (ONE, ["from Python, meanwhile", "from C, afterwards"]),
        (TWO_OVERLAP, ["from C, afterwards"]),
        (FORK, ["from C, in the child", "from C, afterwards"]),
    ],
    ids=["one thread", "two threads that overlap", "a fork meanwhile"],
)
def test_what_is_heard(program: str, heard: list[str]) -> None:
    done = subprocess.run([sys.executable, "-c", BEGIN + program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == heard
