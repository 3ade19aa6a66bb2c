"""Every test of a verb runs on fakes, in an empty folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli_fakes import Fakes


@pytest.fixture
def fakes(monkeypatch: pytest.MonkeyPatch) -> Fakes:
    made = Fakes()
    made.install(monkeypatch)
    return made


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path
