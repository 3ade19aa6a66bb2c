"""Variables are in place while engines load and put back afterwards, and a conflict is found before that."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intarsia.backends import registry
from intarsia.config import RunSettings
from intarsia.config.emulated import Emulated, InstructionSet
from intarsia.errors import ConfigError
from intarsia.runtime.environment import CORES, applied, load_environment, merged, worker_environment

SETTINGS = RunSettings(threads=2)
names = st.sampled_from(["A", "B", "C", "D"])
values = st.text("xyz", max_size=3)


class Wanting:
    """An engine of which only its variables are asked."""

    def __init__(self, wanted: Mapping[str, str | None]) -> None:
        self._wanted = wanted

    def environment(self, settings: RunSettings) -> Mapping[str, str | None]:
        assert settings.threads == SETTINGS.threads
        return self._wanted

    def masking(self, most: InstructionSet) -> Mapping[str, str]:
        return {"MOST": most.value}


def install(monkeypatch: pytest.MonkeyPatch, **engines: Mapping[str, str | None]) -> None:
    monkeypatch.setattr(registry, "get", lambda name, *, loading: Wanting(engines[name]))


def test_inside_and_after(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPIN_CHANGED", "before")
    monkeypatch.setenv("SPIN_REMOVED", "before")
    monkeypatch.delenv("SPIN_ADDED", raising=False)
    monkeypatch.delenv("SPIN_ABSENT", raising=False)
    with applied({"SPIN_CHANGED": "inside", "SPIN_REMOVED": None, "SPIN_ADDED": "inside", "SPIN_ABSENT": None}):
        found = [os.environ.get(name) for name in ("SPIN_CHANGED", "SPIN_REMOVED", "SPIN_ADDED", "SPIN_ABSENT")]
        assert found == ["inside", None, "inside", None]
        os.environ["SPIN_ABSENT"] = "set by a library that loads"
    found = [os.environ.get(name) for name in ("SPIN_CHANGED", "SPIN_REMOVED", "SPIN_ADDED", "SPIN_ABSENT")]
    assert found == ["before", "before", None, None]


def test_they_are_put_back_after_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPIN_CHANGED", "before")
    with pytest.raises(RuntimeError, match="does not load"), applied({"SPIN_CHANGED": "inside"}):
        raise RuntimeError("does not load")
    assert os.environ["SPIN_CHANGED"] == "before"


@given(st.dictionaries(names, values), st.dictionaries(names, st.none() | values))
def test_merged_holds_what_is_wanted_and_else_the_base(base: dict[str, str], wanted: dict[str, str | None]) -> None:
    before = dict(base)
    found = merged(base, wanted)
    assert base == before
    for name in {*base, *wanted}:
        assert found.get(name) == (wanted[name] if name in wanted else base[name])
    assert found.keys() <= {*base, *wanted}


def test_engines_that_agree_share_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, one={"POLICY": "passive", "BLOCK": None}, two={"POLICY": "passive"}, three={"OTHER": "1"})
    wanted = load_environment(["three", "two", "one", "one"], SETTINGS)
    assert wanted == {"POLICY": "passive", "BLOCK": None, "OTHER": "1"}
    assert load_environment([], SETTINGS) == {}


@pytest.mark.parametrize(("one", "two"), [("active", "passive"), ("active", None), (None, "active")])
def test_engines_that_disagree_cannot(monkeypatch: pytest.MonkeyPatch, one: str | None, two: str | None) -> None:
    install(monkeypatch, one={"POLICY": one}, two={"POLICY": two})
    with pytest.raises(ConfigError, match=f"one needs POLICY={one!r} and two needs POLICY={two!r}"):
        load_environment(["two", "one"], SETTINGS)


def test_only_a_process_that_measures_passes_itself_off_as_another_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, one={"A": "1"})
    weaker = replace(SETTINGS, emulated=Emulated(cores=1, instruction_set=InstructionSet.AVX))
    assert load_environment(["one"], weaker) == {"A": "1"}
    assert worker_environment(["one"], weaker) == {"A": "1", CORES: "1", "MOST": "AVX"}
    fewer = replace(SETTINGS, emulated=Emulated(cores=1))
    assert worker_environment(["one"], fewer) == {"A": "1", CORES: "1"}
    assert worker_environment(["one"], SETTINGS) == {"A": "1"}


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="only Linux binds processes to cores")
@pytest.mark.parametrize(("stated", "count"), [("1", 1), ("100000", None), ("", None), ("-1", None)])
def test_a_process_is_bound_to_as_many_cores_as_it_is_told(stated: str, count: int | None) -> None:
    code = (
        "import os; from intarsia.runtime.environment import bind_to_cores; bind_to_cores();"
        f"print(len(os.sched_getaffinity(0)), os.environ.get({CORES!r}))"
    )
    told = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | {CORES: stated}, capture_output=True, text=True, check=True
    )
    expected = len(os.sched_getaffinity(0)) if count is None else count
    assert told.stdout.split() == [str(expected), "None"]
