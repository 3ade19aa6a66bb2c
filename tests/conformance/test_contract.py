"""What every engine must keep to, whatever it computes."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from intarsia.backends import registry
from intarsia.backends.contract import Availability, Backend
from intarsia.target import Target
from tests.conformance.boundary_cases import SMALL_NET
from tests.conformance.conftest import Ask

STAGES = ("probe", "refusal", "compile", "load", "export", "variants", "kernel_times", "environment", "capability")


@pytest.fixture(scope="session")
def facts(ask: Ask) -> dict[str, Any]:
    """What the engine's process found out on a net that every engine takes."""
    answer = ask("contract", SMALL_NET)
    assert "error" not in answer, answer["error"]
    assert "refused" not in answer, answer["refused"]
    return answer


@pytest.mark.parametrize("name", registry.names())
def test_probe_never_raises(name: str) -> None:
    found = registry.get(name).probe()
    assert isinstance(found, Availability)
    assert found.version if found.usable else found.reason


@pytest.mark.parametrize("name", registry.names())
def test_stages_have_the_signatures_of_the_contract(name: str) -> None:
    backend = registry.get(name)
    for stage in STAGES:
        ours = list(inspect.signature(getattr(backend, stage)).parameters)
        assert ours == list(inspect.signature(getattr(Backend, stage)).parameters)[1:]


@pytest.mark.parametrize("name", registry.names())
def test_what_a_backend_says_of_itself(name: str) -> None:
    backend = registry.get(name)
    assert backend.name == name
    assert Target(name).kind.name == name
    assert backend.licence
    assert all(gap.what and gap.evidence for gap in backend.gaps)
    assert not vars(backend)


@pytest.mark.engine
def test_compiling_twice_gives_the_same(facts: dict[str, Any]) -> None:
    assert facts["same_weights"]
    assert facts["same_meta"]
    assert facts["weights_known"]


@pytest.mark.engine
def test_capability_is_pure(facts: dict[str, Any]) -> None:
    assert facts["same_capability"]


@pytest.mark.engine
def test_signatures_are_those_of_the_graph(facts: dict[str, Any]) -> None:
    assert facts["inputs"] == [["x", "float32", [1, 16, 12, 12]]]
    assert facts["outputs"] == [["y", "float32", [1, 24, 6, 6]]]


@pytest.mark.engine
def test_two_executables_keep_out_of_each_others_way(facts: dict[str, Any]) -> None:
    assert facts["alternately"]


@pytest.mark.engine
def test_feeds_are_followed_where_they_lie(facts: dict[str, Any]) -> None:
    assert facts["follows"]


@pytest.mark.engine
def test_variants_are_targets_of_the_same_kind(facts: dict[str, Any]) -> None:
    assert facts["variants_are_of_this_kind"]


@pytest.mark.engine
def test_what_its_artifacts_ship_as_code_is_declared(facts: dict[str, Any]) -> None:
    """Callers may refuse machine code, and believe `Backend.machine_code`."""
    assert facts["undeclared_code"] == []


@pytest.mark.engine
def test_export_writes_files(facts: dict[str, Any]) -> None:
    assert facts["exported"]
    assert all(facts["exported"])
