"""Engines that no backend drives say what they would take."""

from __future__ import annotations

import pytest

from intarsia.backends import registry
from intarsia.backends.coreml.backend import CoremlBackend
from intarsia.backends.operator_tables import unsupported
from intarsia.target import KINDS
from intarsia.target.kinds.catalogue import ENGINES


def test_every_engine_kind_is_driven_or_says_what_it_needs() -> None:
    assert {*registry.names(), *registry.unsupported_names()} >= {kind.name for kind in ENGINES}
    assert not {*registry.names()} & {*registry.unsupported_names()}
    assert unsupported._NEEDS.keys() <= {kind.name for kind in ENGINES}


def test_a_kind_says_that_it_runs_if_a_backend_runs_it() -> None:
    assert "only built here" in (CoremlBackend().probe().reason or "")
    with_backend = {kind.name for kind in ENGINES} - {*registry.unsupported_names(), "coreml", "cmsis-nn", "ethos-u"}
    assert {kind.name for kind in ENGINES if kind.runs_on} == with_backend
    assert [name for name in with_backend if not {*registry.probe(name).devices} <= {*KINDS[name].runs_on}] == []


@pytest.mark.parametrize("name", registry.unsupported_names())
def test_none_of_them_is_usable(name: str) -> None:
    found = registry.probe(name)
    assert not found.usable
    assert (found.reason or "").startswith("described only: Intarsia has no backend for it")


@pytest.mark.parametrize("name", registry.unsupported_names())
def test_no_command_is_told_to_cure_that(name: str) -> None:
    found = registry.probe(name)
    assert found.fix is None
    assert "install " not in (found.reason or "")
