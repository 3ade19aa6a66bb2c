"""Each engine in another interpreter, whose process it shares memory with: the same contract, the same answers."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from intarsia.backends import registry
from intarsia.target import Target
from tests.conformance.boundary_cases import BOUNDARY_CASES, EMBEDDING_NET, SMALL_NET
from tests.conformance.cases import Case
from tests.conformance.conftest import Ask, expected, sent
from tests.conformance.judge import faults
from tests.conformance.process import EngineProcess
from tests.elsewhere import make_interpreter


@pytest.fixture(scope="session")
def interpreter(tmp_path_factory: pytest.TempPathFactory) -> str:
    """One that finds all that is installed here."""
    paths = [Path(entry) for entry in sys.path if entry]
    return make_interpreter(tmp_path_factory.mktemp("there") / "venv", paths)


@pytest.fixture(scope="module")
def ask_there(target: Target, interpreter: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    """As ``ask``, of the engine in that interpreter. What is compiled by no package is the same in all of them."""
    if "python" not in target.kind.options:
        pytest.skip(f"{target.kind.name} is installed for no interpreter")
    folder = tmp_path_factory.mktemp(target.kind.name)
    with EngineProcess(str(target.with_options({"python": interpreter}))) as process:
        yield lambda stage, case: sent(process, stage, case, folder)


@pytest.mark.engine
def test_it_is_the_same_engine(engine: str, interpreter: str) -> None:
    assert registry.probe(f"{engine}{registry.AWAY}{interpreter}") == registry.probe(engine)


@pytest.mark.engine
@pytest.mark.parametrize("case", BOUNDARY_CASES, ids=lambda case: case.name)
def test_boundary(engine: str, ask_there: Ask, case: Case) -> None:
    answer = ask_there("run", case)
    want = [expected(case.name, turn) for turn in ("a", "b", "a")]
    assert faults(answer, want, registry.get(engine).traits.mutates_inputs) == []


@pytest.mark.engine
def test_contract(ask_there: Ask) -> None:
    facts = ask_there("contract", SMALL_NET)
    assert "error" not in facts
    claims = (
        "same_weights",
        "same_meta",
        "weights_known",
        "same_capability",
        "alternately",
        "variants_are_of_this_kind",
    )
    assert {claim: facts[claim] for claim in claims} == dict.fromkeys(claims, True)
    assert facts["outputs"] == [["y", "float32", [1, 24, 6, 6]]]
    assert facts["exported"]
    assert all(facts["exported"])


@pytest.mark.engine
def test_its_partitions_inside_another_engine_answer_rightly(ask_there: Ask) -> None:
    found = registry.get("onnxruntime")
    if not found.probe().usable or found.embedding() is None:
        pytest.skip("no engine here can hold pieces of others")
    answer = ask_there("embed", EMBEDDING_NET)
    want = [expected(EMBEDDING_NET.name, turn) for turn in ("a", "b", "a")]
    assert faults(answer, want, may_mutate=False) == []
    assert not answer["blocked"]
