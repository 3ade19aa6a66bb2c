from __future__ import annotations

from importlib import util

import pytest

from intarsia.backends.package_probe import installed


def test_a_package_that_is_here_says_its_version() -> None:
    found = installed("numpy", "any")
    assert found.usable
    assert found.version


def test_one_that_is_not_says_what_installs_it() -> None:
    found = installed("no-such-package", "some", module="no_such_module")
    assert (found.usable, found.reason) == (False, "no-such-package is not installed")
    assert found.fix == "pip install 'intarsia[some]'"


def test_a_module_of_another_package_is_not_enough() -> None:
    assert not installed("no-such-package", "some", module="numpy").usable
    assert installed("no-such-package", "some", module="numpy", version=lambda: "7").version == "7"


def test_a_search_that_fails_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(name: str) -> None:
        raise ValueError("numpy.__spec__ is None")

    monkeypatch.setattr(util, "find_spec", broken)
    assert not installed("numpy", "any").usable
