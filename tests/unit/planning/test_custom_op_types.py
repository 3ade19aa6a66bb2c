"""A model without custom operators is planned without a process."""

from __future__ import annotations

import pytest

from intarsia.graph import load_model
from intarsia.planning import custom_op_types as module
from intarsia.planning.custom_op_types import ask_types
from intarsia.target import Target
from tests.unit.graph.models import two_layers


def test_a_model_without_custom_operators_starts_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    monkeypatch.setattr(module, "custom_op_types", lambda *each: asked.append(each))
    graph = load_model(two_layers())
    assert ask_types(graph, [Target("reference")], lambda _: pytest.fail("it is normalised already")) == (graph, None)
    assert asked == []
