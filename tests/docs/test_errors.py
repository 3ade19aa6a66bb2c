"""``docs/errors.md`` has a section for every class of errors, with an example that is really raised, and a cure.

What stands between a section's marks is written by ``pytest tests/docs --regenerate``; the cures are written by hand.
"""

from __future__ import annotations

import inspect
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from intarsia import errors
from tests.docs.raised import EXAMPLES

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "errors.md"
BUILT_ELSEWHERE = {
    "BackendTimeoutError",
    "BackendCrashError",
    "MissingStageError",
    "MemoryLimitError",
    "LatencyLimitError",
    "NoCoverError",
    "Interrupted",
    *(name for name in vars(errors) if name.startswith("Worker")),
}
"""Classes whose messages are not written where they are raised, so that there is no list to show."""
SECTION = re.compile(
    r"^### (?P<name>\w+)\n\n<!-- raised -->\n(?P<shown>.*?)<!-- end -->\n\n(?P<cure>.*?)(?=^#|\Z)",
    re.MULTILINE | re.DOTALL,
)


def raisable() -> dict[str, type[BaseException]]:
    """Every class that is raised: those that others derive from are only caught."""
    found = {
        name: value
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, BaseException) and value.__module__ == errors.__name__
    }
    parents = {base for each in found.values() for base in each.__mro__[1:]}
    raised = {name for name, each in found.items() if each not in parents} | {"BackendUnavailableError"}
    return {name: each for name, each in found.items() if name in raised}


@pytest.fixture(scope="module")
def examples() -> Mapping[str, Mapping[str, Any]]:
    """What the example of each class ended with."""
    path = os.pathsep.join(map(str, (ROOT / "src", ROOT, ROOT / "tests" / "faulty_engine")))
    line = [sys.executable, "-m", "tests.docs.raised"]
    done = subprocess.run(line, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: Mapping[str, Mapping[str, Any]] = json.loads(done.stdout)
    return found


def shown(name: str, example: Mapping[str, Any]) -> str:
    """What a section says that follows from the class and its example."""
    error = getattr(errors, name)
    builtin = next(base.__name__ for base in error.__mro__ if base.__module__ == "builtins")
    means = " ".join((inspect.getdoc(error) or "").split("\n\n")[0].split())
    article = "an" if builtin[0] in "AEIO" else "a"
    kind = "" if builtin == "Exception" else f" It is {article} `{builtin}` too."
    text = f"{means} Exit code {example['exit_code']}.{kind}"
    return f"{text}\n\n```text\n>>> {EXAMPLES[name]}\n{name}: {example['message']}\n```\n\n"


def _with(section: re.Match[str], text: str) -> str:
    begin, end = (place - section.start() for place in section.span("shown"))
    return section[0][:begin] + text + section[0][end:]


def test_every_class_that_is_raised_has_an_example() -> None:
    assert set(EXAMPLES) == set(raisable())


def test_every_example_raises_its_class(examples: Mapping[str, Mapping[str, Any]]) -> None:
    assert {name: found["class"] for name, found in examples.items()} == {name: name for name in EXAMPLES}


def test_the_page_shows_what_was_raised(examples: Mapping[str, Mapping[str, Any]], pytestconfig: pytest.Config) -> None:
    page = PAGE.read_text(encoding="utf-8")
    wanted = SECTION.sub(lambda found: _with(found, shown(found["name"], examples[found["name"]])), page)
    if pytestconfig.getoption("regenerate"):
        PAGE.write_text(wanted, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == wanted


def test_every_class_has_a_section_with_a_cure() -> None:
    sections = {found["name"]: found for found in SECTION.finditer(PAGE.read_text(encoding="utf-8"))}
    assert list(sections) == list(EXAMPLES)
    assert [name for name, found in sections.items() if "**Cure.**" not in found["cure"]] == []
    listed = [name for name, found in sections.items() if f"{{error-messages}} {name}\n" in found["cure"]]
    assert set(listed) >= set(EXAMPLES) - BUILT_ELSEWHERE
