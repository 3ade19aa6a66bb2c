"""The engine ethos-u without Vela: what it says, and what it asks for."""

from __future__ import annotations

import pytest

from intarsia.backends.ethos_u import vela
from intarsia.backends.ethos_u.backend import EthosUBackend
from intarsia.target import Target

ENGINE = EthosUBackend()


def test_without_vela_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vela, "PACKAGE", "no-such-compiler")
    monkeypatch.setattr(vela, "MODULE", "no_such_compiler")
    lack = ENGINE.source_lack(Target("ethos-u"))
    assert lack == "ethos-u takes part, and no-such-compiler is not installed; pip install 'intarsia[ethos-u]'"


def test_options_of_another_compiler_are_not_ignored() -> None:
    lack = ENGINE.source_lack(Target("ethos-u -enable_cascader=true"))
    assert lack is not None
    assert lack.startswith("ethos-u: enable_cascader is an option of another compiler")


def test_it_runs_nowhere_and_says_so() -> None:
    assert ENGINE.runs_nowhere.startswith("estimated, not run")
    assert not ENGINE.probe().usable
    assert ENGINE.probe_loading().usable
