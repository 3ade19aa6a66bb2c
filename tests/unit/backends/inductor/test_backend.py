"""What is said of PyTorch's compiler without it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from intarsia.backends import registry
from intarsia.backends.contract import Availability
from intarsia.backends.inductor import backend
from intarsia.backends.inductor.backend import InductorBackend
from intarsia.backends.native import library
from intarsia.config import RunSettings, Spin
from intarsia.graph import load_model
from intarsia.target import Target
from tests.conformance.cases import Feed, one


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "installed", lambda package, extra: Availability(usable=True, version="2.13.0"))


def test_it_is_found_by_its_file() -> None:
    assert isinstance(registry.get("inductor"), InductorBackend)


@pytest.mark.usefixtures("here")
def test_without_a_compiler_it_says_what_installs_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "find_compiler", lambda: None)
    found = InductorBackend().probe()
    assert (found.usable, found.fix) == (False, "apt-get install g++")
    assert "C++ compiler" in (found.reason or "")


@pytest.mark.usefixtures("here")
def test_with_a_compiler_it_is_usable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "find_compiler", lambda: ("/usr/bin/g++",))
    assert InductorBackend().probe().version == "2.13.0"


def test_it_refuses_in_its_own_name() -> None:
    x = Feed(shape=(2, 3), dtype="uint32", low=0, high=9)
    graph = load_model(one("ReduceMax", "a", {"x": x}).model())
    (reason,) = registry.get("inductor").capability(graph, Target("inductor")).refusals.values()
    assert reason.startswith("inductor has no reduce_max of uint32")


def test_it_adds_unsigned_integers_but_no_constants_of_them() -> None:
    x = Feed(shape=(2, 3), dtype="uint32", low=0, high=9)
    added = load_model(one("Add", "a", {"x": x, "b": x}).model())
    assert registry.get("inductor").capability(added, Target("inductor")).refusals == {}
    held = load_model(one("Add", "a", {"x": x, "w": np.ones((2, 3), np.uint32)}).model())
    (reason,) = registry.get("inductor").capability(held, Target("inductor")).refusals.values()
    assert reason == "inductor folds no constants of unsigned integers"


def test_what_it_writes_lies_in_our_cache() -> None:
    wanted = registry.get("inductor").environment(RunSettings(threads=2, spin=Spin.NEVER))
    assert Path(wanted["TORCHINDUCTOR_CACHE_DIR"] or "").parts[-2:] == ("intarsia", "inductor")
    assert wanted["OMP_WAIT_POLICY"] == "passive"
