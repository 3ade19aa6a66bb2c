"""A new user's first session, as it happened: ``python -m benchmarks.first_session [REPOSITORY]``.

Follows ``docs/start.md`` to the letter, beside a fresh clone and with an empty home, and writes what was typed, what
came back and how long it took to ``docs/first-session.md``. The clone is of this repository if no other is named. Where
Chromium is installed, the report is opened in it, and what it shows is kept as a picture.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path

ROOT = Path(__file__).parents[1]
START = ROOT / "docs" / "start.md"
PAGE = ROOT / "docs" / "first-session.md"
PICTURE = ROOT / "docs" / "figures" / "first-session-report.png"
STEP = re.compile(r"^    (?P<command>\S[^\n]*)$|^```python\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)
SOURCE = "intarsia"
"""The folder that the page starts beside."""
LIMIT_S = 1800.0
WIDTH = 120
"""Columns of the terminal that commands think they write to."""
BROWSER_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One command, and the code that was written to a file before it, if it runs that."""

    command: str
    code: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """A step that was taken, with what it printed."""

    step: Step
    output: str
    code: int
    seconds: float


def steps(page: str) -> Iterator[Step]:
    """What a page asks its reader to type. Its blocks of Python are files that are run."""
    numbers = count(1)
    for found in STEP.finditer(page):
        if found["command"] is not None:
            yield Step(command=found["command"])
        else:
            yield Step(command=f"python block{next(numbers)}.py", code=found["code"])


def walked(found: Iterator[Step], home: Path) -> Iterator[Done]:
    """Take the steps one after the other, each in a shell of its own that goes on where the one before stopped.

    Raises:
        RuntimeError: A step failed; the message ends with what it printed.
    """
    folder, environment = home, _environment(home)
    for step in found:
        command = step.command
        if step.code:
            (folder / command.split()[1]).write_text(step.code, encoding="utf-8")
        begun = time.monotonic()
        line = f"{command}\nstatus=$?\npwd > {home}/.folder\nenv -0 > {home}/.environment\nexit $status"
        done = subprocess.run(
            ["bash", "-c", line],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=LIMIT_S,
            text=True,
            check=False,
        )
        yield Done(step=step, output=done.stdout, code=done.returncode, seconds=time.monotonic() - begun)
        if done.returncode:
            raise RuntimeError(f"{command} ended with {done.returncode}:\n{done.stdout}")
        folder = Path((home / ".folder").read_text(encoding="utf-8").strip())
        told = (home / ".environment").read_text(encoding="utf-8").split("\0")
        environment = dict(each.split("=", 1) for each in told if "=" in each)


def _environment(home: Path) -> Mapping[str, str]:
    """What a login brings, and where pip finds its packages; nothing else of the process that records this."""
    kept = {name: value for name, value in os.environ.items() if name.startswith("PIP_") or name.endswith("_proxy")}
    search = [path for path in os.environ["PATH"].split(os.pathsep) if "venv" not in path]
    return {**kept, "HOME": str(home), "PATH": os.pathsep.join(search), "COLUMNS": str(WIDTH), "LANG": "C.UTF-8"}


def rendered(found: list[Done], home: Path) -> str:
    """The page."""
    from intarsia.runtime.artifact.machine import this_machine
    from intarsia.target.cores import thread_budget

    machine, total = this_machine(), sum(done.seconds for done in found)
    when = f"{time.strftime('%d %B %Y')}, on {machine.cpu} ({machine.architecture})"
    shown = "\n".join(_shown(done) for done in found).replace(str(home), "~")
    return f"""\
# A first session

We followed [five minutes](start.md) to the letter, beside a fresh copy of the source. Below stand the commands that
were typed, what each of them printed, and the seconds that it took; all together took {total:.0f} s. The Python files
are the blocks of that page. The [glossary](glossary.md) explains the words of the output.

[benchmarks/first_session.py](../benchmarks/first_session.py) recorded this on {when},
{thread_budget()} threads, Python {platform.python_version()}.

```text
{shown.rstrip()}
```
{_picture()}"""


def _shown(done: Done) -> str:
    lines = [f"$ {done.step.command}", *(line.rstrip() for line in done.output.splitlines())]
    return "\n".join([*lines, f"[{done.seconds:.1f} s]", ""])


def _picture() -> str:
    if not PICTURE.exists():
        return ""
    return f"\nThe report in the browser:\n\n![The report of the model](figures/{PICTURE.name})\n"


def photographed(page: Path) -> bool:
    """Whether Chromium is here, and drew the report."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None:
        return False
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1280,1100"]
    line = [browser, *flags, "--virtual-time-budget=4000", f"--screenshot={PICTURE}", page.as_uri()]
    PICTURE.parent.mkdir(exist_ok=True)
    return subprocess.run(line, capture_output=True, timeout=BROWSER_S, check=False).returncode == 0


def main() -> None:
    """Walk, then write the page."""
    repository = sys.argv[1] if len(sys.argv) > 1 else str(ROOT)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        # As it is committed, without what was built here.
        subprocess.run(["git", "clone", "-q", repository, str(home / SOURCE)], check=True)
        found = []
        for done in walked(steps(START.read_text(encoding="utf-8")), home):
            print(_shown(done), flush=True)
            found.append(done)
        for report in home.rglob("model.html"):
            print(f"{PICTURE}: {'drawn' if photographed(report) else 'no Chromium here'}")
        PAGE.write_text(rendered(found, home), encoding="utf-8")


if __name__ == "__main__":
    main()
