"""Whole networks through the command line, in processes of their own, on the engines that are installed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import networks

ROOT = Path(__file__).parents[2]
FAULTY = ROOT / "tests" / "faulty_engine"


@dataclass(frozen=True)
class Run:
    """What a command came to."""

    code: int
    out: str
    err: str

    def json(self) -> dict[str, Any]:
        assert self.code == 0, self.err
        report: dict[str, Any] = json.loads(self.out)
        return report


def command(*arguments: object, plugin: bool = False) -> tuple[list[str], Mapping[str, str]]:
    """The command line and the environment; ``plugin`` installs the engine that fails on demand."""
    path = [str(ROOT / "src"), *([str(FAULTY)] if plugin else [])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path)}
    return [sys.executable, "-m", "intarsia", *map(str, arguments)], environment


@pytest.fixture(scope="session")
def intarsia() -> Callable[..., Run]:
    """Runs ``intarsia`` with these arguments."""

    def run(*arguments: object, plugin: bool = False) -> Run:
        line, environment = command(*arguments, plugin=plugin)
        done = subprocess.run(line, env=environment, capture_output=True, text=True, check=False)
        return Run(code=done.returncode, out=done.stdout, err=done.stderr)

    return run


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Models and stores of one test session."""
    return tmp_path_factory.mktemp("e2e")


@pytest.fixture(scope="session")
def tiny(folder: Path) -> Path:
    """A network of about one millisecond."""
    return networks.save("tiny", folder)
