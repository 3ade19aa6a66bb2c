"""Engines that no backend drives say what they would take."""

from __future__ import annotations

from importlib import metadata

import pytest

from intarsia.backends import registry, unsupported
from intarsia.target.kinds.catalogue import ENGINES


def test_every_engine_kind_is_driven_or_says_what_it_needs() -> None:
    assert {*registry.names(), *registry.unsupported_names()} >= {kind.name for kind in ENGINES}
    assert not {*registry.names()} & {*registry.unsupported_names()}
    assert unsupported._NEEDS.keys() <= {kind.name for kind in ENGINES}


@pytest.mark.parametrize("name", registry.unsupported_names())
def test_none_of_them_is_usable(name: str) -> None:
    found = registry.probe(name)
    assert not found.usable
    assert (found.reason or "").startswith("described only, as no backend drives it: it needs ")


def test_what_of_it_is_installed_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "version", lambda package: "10.4")
    found = unsupported.unsupported("tensorrt")
    assert (found.version, found.fix) == ("10.4", None)
    assert "tensorrt 10.4 is installed" in (found.reason or "")


def test_what_is_missing_is_told_with_the_command_that_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(package: str) -> str:
        raise metadata.PackageNotFoundError(package)

    monkeypatch.setattr(metadata, "version", absent)
    monkeypatch.setattr(unsupported, "devices_here", lambda device_type: ())
    found = unsupported.unsupported("tensorrt")
    assert (found.version, found.fix) == (None, "pip install tensorrt")
    assert "no cuda device" in (found.reason or "")
