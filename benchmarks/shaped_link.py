"""A port that passes everything on to another one, with the bandwidth and the delay of a link that is not here.

The program that does it is in C (``shaped_link.c``): the other end of a link takes no processor time of the machines.
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_SOURCE: Final = Path(__file__).with_suffix(".c")


@dataclass(frozen=True, kw_only=True)
class Shape:
    """What a link does.

    Attributes:
        bits_per_s: What it carries each way.
        delay_s: Until what was sent arrives.
    """

    bits_per_s: float
    delay_s: float


def built(folder: Path) -> Path:
    """The program, built in a folder by the system's C compiler."""
    program = folder / "shaped_link"
    options = ("-O2", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-pthread")
    subprocess.run(["cc", *options, str(_SOURCE), "-o", str(program)], check=True)
    return program


class ShapedLink:
    """Listens on loopback, and passes on to a port there; as a context manager it ends with the block."""

    def __init__(self, program: Path, port: int, shape: Shape) -> None:
        self._process = subprocess.Popen(
            [program, str(port), repr(shape.bits_per_s), repr(shape.delay_s)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        self.address = f"127.0.0.1:{int(self._process.stdout.readline())}"

    def __enter__(self) -> ShapedLink:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()
