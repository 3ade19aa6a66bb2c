"""What a gauge counts: in a process of its own, since the tests' own process grows and shrinks as it likes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from intarsia.cost.timing import memory
from intarsia.cost.timing.memory import Memory, MemoryGauge

SCRIPT = """
import mmap, subprocess, sys
from intarsia.cost.timing.memory import MemoryGauge
gauge = MemoryGauge()
held = b"x" * 40_000_000
gone = b"y" * 80_000_000
del gone
file = open(sys.argv[1], "rb")
mapped = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
read = sum(mapped[place] for place in range(0, len(mapped), 4096))
child = subprocess.Popen([sys.executable, "-c", "z = b'z' * 30_000_000; print(); input()"], stdin=-1, stdout=-1)
child.stdout.readline()
found = gauge.read()
child.communicate(b"\\n")
print(found.peak, found.steady)
"""

TOUCHES = """
import mmap, sys
from intarsia.cost.timing.memory import MemoryGauge
file = open(sys.argv[1], "rb")
mapped = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
gauge = MemoryGauge()
read = sum(mapped[place] for place in range(0, len(mapped), 4096))
print(gauge.read().steady)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux maps pages when it is asked to")
def test_what_was_mapped_before_is_no_growth_when_it_is_touched(tmp_path: Path) -> None:
    """As libraries are in a forked process, which has touched no page of theirs."""
    library = tmp_path / "library.so"
    library.write_bytes(b"w" * 20_000_000)
    done = subprocess.run([sys.executable, "-c", TOUCHES, library], check=True, capture_output=True, text=True)
    assert int(done.stdout) < 5e6


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the peak")
def test_growth_is_counted_mapped_and_private_and_of_child_processes(tmp_path: Path) -> None:
    weights = tmp_path / "weights.bin"
    weights.write_bytes(b"w" * 20_000_000)
    done = subprocess.run([sys.executable, "-c", SCRIPT, weights], check=True, capture_output=True, text=True)
    peak, steady = map(int, done.stdout.split())
    assert 90e6 < steady < 130e6  # 40 held, 20 mapped, 30 and an interpreter in the child
    assert peak - steady > 15e6  # 120 held at one time before the file and the child were there


def test_where_the_system_tells_no_peak_it_is_what_is_held(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(memory, "_PROCESSES", tmp_path)
    found = MemoryGauge().read()
    assert found.peak == found.steady


def test_nothing_is_never_less_than_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    gauge = MemoryGauge()
    monkeypatch.setattr(gauge, "_start", 2**60)
    assert gauge.read() == Memory(peak=0, steady=0)
