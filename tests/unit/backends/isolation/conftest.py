"""An interpreter with a library that is not here, and the rules of its engine, which are in both."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from intarsia.backends import registry
from intarsia.target.kinds import catalogue
from tests.elsewhere import FAULTY, LIBRARY, RULES, dependencies, make_interpreter


@pytest.fixture(scope="session")
def interpreter(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Where ``away`` is whole, and ``faulty`` too."""
    return make_interpreter(tmp_path_factory.mktemp("there") / "venv", [*dependencies(), RULES, LIBRARY, FAULTY])


@pytest.fixture(autouse=True)
def _rules(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch, catalogue.KINDS.scope():
        for folder in (RULES, FAULTY):
            patch.syspath_prepend(folder)
        registry.refresh()
        catalogue._offered.cache_clear()
        yield
    registry.refresh()
    catalogue._offered.cache_clear()
