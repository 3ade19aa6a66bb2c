from __future__ import annotations

from importlib import util

import pytest

from intarsia.backends.openvino.backend import OpenVinoBackend
from intarsia.target import Target


def test_there_is_one_variant() -> None:
    target = Target("openvino")
    assert OpenVinoBackend().variants(target) == (target,)


def test_an_absent_engine_says_what_mends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(util, "find_spec", lambda name: None)
    found = OpenVinoBackend().probe()
    assert not found.usable
    assert found.fix == "pip install 'intarsia[openvino]'"
