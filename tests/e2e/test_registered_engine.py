"""An engine that the running program registers is compiled for and measured in processes that start anew."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import intarsia
from intarsia import registered
from intarsia.backends import registry
from intarsia.target import KINDS
from tests.e2e.little_measuring import measure_little
from tests.unit.backends.test_registration import SOURCE
from tests.unit.graph.models import two_layers

pytestmark = [pytest.mark.e2e]


@pytest.fixture
def _home_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "home_made.py").write_text(SOURCE, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv(registered.VARIABLE, "[]")
    measure_little(monkeypatch)
    with KINDS.scope():
        import home_made  # type: ignore[import-not-found]

        intarsia.register_engine(home_made.HomeMade)
        yield
    del sys.modules["home_made"]
    registry.refresh()


@pytest.mark.usefixtures("_home_made")
def test_it_is_measured_in_processes_that_start_anew(tmp_path: Path) -> None:
    settings = {"store": str(tmp_path / "store"), "partition": "single", "budget": 1}
    with intarsia.compile(two_layers(), "home-made", **settings) as compiled:  # type: ignore[arg-type]
        assert [str(step.target) for step in compiled.plan.steps] == ["home-made"]
