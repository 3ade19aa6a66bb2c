"""A session from ONNX to a microcontroller, as it happened: ``python -m benchmarks.microcontroller_session``.

Types the commands of ``docs/microcontrollers.md`` in an empty folder, and writes what came back to
``benchmarks/results/microcontroller_session.txt``, which `benchmarks.write_tables` puts into the page.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import onnx

from networks import micro

RESULTS = Path(__file__).parent / "results" / "microcontroller_session.txt"
NETWORK = "kws"
FLAGS = "-std=c99 -Wall -Wextra -Wpedantic -Wconversion -Werror -O3 -mcpu=cortex-m4 -mthumb"
COMMANDS = (
    f"intarsia compile {NETWORK}.onnx --target arm/mps2-an386 --executor aot --runtime crt",
    f"intarsia export {NETWORK}.intarsia {NETWORK}",
    f"arm-none-eabi-gcc {FLAGS} -c {NETWORK}/{NETWORK}.c -o {NETWORK}.o",
    f"arm-none-eabi-gcc {FLAGS} -c {NETWORK}/{NETWORK}_weights.c -o {NETWORK}_weights.o",
    f"arm-none-eabi-size {NETWORK}.o {NETWORK}_weights.o",
)
LIMIT_S = 900.0


def session(folder: Path) -> str:
    """What was typed and what came back.

    Raises:
        RuntimeError: A command failed; the message ends with what it printed.
    """
    onnx.save(micro.build(NETWORK), folder / f"{NETWORK}.onnx")
    environment = {**os.environ, "COLUMNS": "120", "XDG_CACHE_HOME": str(folder / ".cache")}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    lines = []
    for command in COMMANDS:
        words = command.split()
        own = [sys.executable, "-m", *words] if words[0] == "intarsia" else words
        done = subprocess.run(
            own, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=LIMIT_S,
            text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            raise RuntimeError(f"{command} ended with {done.returncode}:\n{done.stdout}")
        lines += [f"$ {command}", *(line.rstrip() for line in done.stdout.splitlines()), ""]
    return "\n".join(lines)


def main() -> None:
    """Record it."""
    with tempfile.TemporaryDirectory() as folder:
        RESULTS.write_text(session(Path(folder)), encoding="utf-8")
    print(RESULTS.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
