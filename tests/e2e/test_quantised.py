"""Quantised and half-precision models over all engines: each ships, and agrees as far as its own arithmetic says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from _pytest.mark import ParameterSet

import intarsia
from intarsia.cost.records.store import Store
from intarsia.evaluation.verification import verify_artifact
from intarsia.graph import load_model
from intarsia.runtime.executors.drawn_feeds import graph_feeds, varied_feeds
from intarsia.runtime.verify import deviation
from networks import quantised
from networks.quantised.answers import unoptimised
from tests.e2e.little_measuring import measure_little

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
BATCHES = (1, 4, 8)
ALIKE = (
    *("residual-qoperator-all", "residual-mixed", "mobile-qdq-tensor-int8", "mobile-fp16-borders", "superres-qdq-int8"),
    *("vit-qdq-tensor", "vit-bf16", "encoder-fp16", "decoder-int4-zero-points", "gru-dynamic"),
)
"""Of these, which are much like others, none is compiled unless it is large; of the others one batch is."""
RANGES = ("mobile-qdq-channel", "encoder-dynamic")
Arrays = dict[str, np.ndarray]


def cases() -> list[ParameterSet]:
    found = []
    for number, name in enumerate(quantised.NAMES):
        for place, batch in enumerate(BATCHES):
            is_usual = name not in ALIKE and place == number % len(BATCHES)
            found.append(pytest.param(name, batch, id=f"{name}-{batch}", marks=() if is_usual else pytest.mark.large))
    return found


@pytest.fixture(autouse=True)
def _little_measuring(monkeypatch: pytest.MonkeyPatch) -> None:
    measure_little(monkeypatch)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("quantised") / "store.sqlite"


def agrees(compiled: intarsia.CompiledModel, expected: Arrays, feeds: Arrays, allowed: float) -> None:
    """Each of the two may differ by what is allowed from what the model says."""
    actual = compiled(feeds)
    assert set(actual) == set(expected)
    for output, value in expected.items():
        assert value.astype(np.float64).std() > 0, output
        assert deviation(output, actual[output], value).error <= 2 * allowed, output


@pytest.mark.parametrize(("name", "batch"), cases())
def test_it_ships_and_agrees(name: str, batch: int, store: Path) -> None:
    model = quantised.build(name, batch)
    graph = load_model(model)
    with intarsia.compile(model, budget=1, store=store) as compiled:
        report = compiled.report
        assert report["verified"] is True
        assert 0 <= report["max_rel_error"] <= report["allowed_error"] < 0.2
        for row in report["singles"]:
            assert "failure" in row or 0 <= row["max_rel_error"] <= row["allowed_error"], row["target"]
        feeds = graph_feeds(graph, 0)
        agrees(compiled, unoptimised(model, feeds), feeds, report["allowed_error"])
        for check in verify_artifact(compiled.artifact, Store(store), [5], {}):
            assert check.is_right, check
            assert not check.unchecked


@pytest.mark.parametrize("name", RANGES)
def test_a_range_of_batches_ships_and_agrees(name: str, store: Path) -> None:
    model = quantised.build(name, "batch")
    with intarsia.compile(model, budget=2, store=store, shapes={"batch": "1..8"}) as compiled:
        report = compiled.report
        assert report["verified"] is True
        assert 0 <= report["max_rel_error"] <= report["allowed_error"] < 0.2
        for batch in BATCHES:
            fixed = quantised.build(name, batch)
            graph = load_model(fixed)
            feeds = varied_feeds(graph, batch)
            agrees(compiled, unoptimised(fixed, feeds), feeds, report["allowed_error"])
