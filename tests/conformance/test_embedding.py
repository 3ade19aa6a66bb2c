"""Each engine's pieces inside one session of the engine that can hold them, against the reference."""

from __future__ import annotations

from typing import Any

import pytest

from intarsia.backends import registry
from intarsia.target import Target
from tests.conformance.boundary_cases import EMBEDDING_NET
from tests.conformance.conftest import Ask, expected
from tests.conformance.judge import faults


@pytest.fixture(scope="module")
def answer(engine: str, ask: Ask) -> dict[str, Any]:
    """What the engine's process found out."""
    found = registry.get("onnxruntime")
    if not found.probe().usable or found.embedding() is None:
        pytest.skip("no engine here can hold pieces of others")
    return ask("embed", EMBEDDING_NET)


@pytest.mark.engine
def test_partitions_inside_another_engine_answer_rightly(answer: dict[str, Any]) -> None:
    want = [expected(EMBEDDING_NET.name, turn) for turn in ("a", "b", "a")]
    assert faults(answer, want, may_mutate=False) == []


@pytest.mark.engine
def test_a_partition_that_fails_is_reported_as_it_failed(answer: dict[str, Any]) -> None:
    assert answer["failure"] == "ExecutionError: test failed at run: on purpose"


@pytest.mark.engine
def test_what_a_session_that_holds_others_ships_as_code_is_declared(answer: dict[str, Any]) -> None:
    assert answer["undeclared_code"] == []


@pytest.mark.engine
def test_an_engine_that_says_it_follows_blocks_is_handed_blocks(target: Target, answer: dict[str, Any]) -> None:
    backend = registry.get(target.kind.name)
    follows = backend.traits.follows_ports and backend.follows_blocks(backend.variants(target)[0])
    assert answer["blocked"] == follows
