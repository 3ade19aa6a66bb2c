"""Ray, played in this process: two nodes."""

from __future__ import annotations

import sys

import pytest

from intarsia.remote.actors.node_place import NodePlace
from tests.fake_ray import FakeRay


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> FakeRay:
    fake = FakeRay("a", "b")
    monkeypatch.setitem(sys.modules, "ray", fake)
    return fake


@pytest.fixture
def place() -> NodePlace:
    return NodePlace(label=("machine", "a"), machine="desktop", timeout=5.0)
