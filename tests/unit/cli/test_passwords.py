"""The password of a URL is overwritten where the system shows the arguments of a process."""

from __future__ import annotations

import subprocess
import sys

import pytest

from intarsia.cli.passwords import secrets

SCRIPT = """
import sys
from pathlib import Path
from intarsia.cli.passwords import hide_passwords
hide_passwords()
print(Path("/proc/self/cmdline").read_bytes().split(bytes(1))[3:-1], sys.argv[1:])
"""


@pytest.mark.parametrize(
    ("argument", "hidden"),
    [
        ("postgresql://u:secret@h/d", "postgresql://u:******@h/d"),
        ("--store=postgres://u:s%40c@h:1/d?sslmode=require", "--store=postgres://u:*****@h:1/d?sslmode=require"),
        ("postgresql://h/d?password=secret&user=u", "postgresql://h/d?password=******&user=u"),
        ("postgresql://u@h/d", "postgresql://u@h/d"),
        ("postgresql://u:a/b@c?d@h/d", "postgresql://u:*******@h/d"),
        ("https://u:known@h/d", "https://u:known@h/d"),
        ("u:known@h", "u:known@h"),
    ],
)
def test_passwords_are_overwritten(argument: str, hidden: str) -> None:
    arguments = b"python\0" + argument.encode() + b"\0-q\0"
    found = bytearray(arguments)
    for start, stop in secrets(arguments):
        found[start:stop] = b"*" * (stop - start)
    assert bytes(found) == b"python\0" + hidden.encode() + b"\0-q\0"


def test_other_processes_do_not_see_them() -> None:
    line = [sys.executable, "-c", SCRIPT, "--store", "postgresql://ü:geheim@h/d", "-q"]
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    seen = ["--store", "postgresql://ü:******@h/d", "-q"]
    assert done.stdout.strip() == f"{[each.encode() for each in seen]} {line[3:]}"
