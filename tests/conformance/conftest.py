"""Expands the suite: engine tests over every registered engine, row tests over a case file.

An engine that is not here is skipped with its own reason.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from intarsia.backends import registry
from intarsia.graph import Graph, load_model
from intarsia.graph.reference.reference import evaluate
from intarsia.target import Target
from intarsia.target.detect import lack
from tests.conformance.arrays import load_arrays, save_arrays
from tests.conformance.boundary_cases import BOUNDARY_CASES, EMBEDDING_NET
from tests.conformance.cases import Case
from tests.conformance.convolution_cases import CONVOLUTION_CASES
from tests.conformance.operator_cases import OPERATOR_CASES
from tests.conformance.process import EngineProcess
from tests.conformance.rows.row import Row, read_rows
from tests.conformance.suite import everywhere, target_of

REQUIRED = frozenset(filter(None, os.environ.get("INTARSIA_REQUIRE_BACKENDS", "").split(",")))
"""Engines whose absence is a failure. Read when the suite is collected, before tests lose sight of such variables."""
CASES = {case.name: case for case in (*OPERATOR_CASES, *BOUNDARY_CASES, *CONVOLUTION_CASES, EMBEDDING_NET)}

DATA = Path(__file__).parent / "data"
OWN_ROWS = DATA / "cases.json"
VARIATIONS = DATA / "variations.json"
"""More rows of the same forms: no executor may lean on the rows that it was written for."""

Ask = Callable[[str, Case], dict[str, Any]]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "row" in metafunc.fixturenames:
        rows = read_rows(Path(metafunc.config.getoption("cases") or OWN_ROWS))
        metafunc.parametrize("row", rows, ids=str)
    if "variation" in metafunc.fixturenames:
        metafunc.parametrize("variation", read_rows(VARIATIONS), ids=str)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Who brings a case file wants its rows, not the engines' minutes."""
    if not config.getoption("cases"):
        return
    engines = [item for item in items if item.path.parent == Path(__file__).parent and item.path.name != "test_rows.py"]
    config.hook.pytest_deselected(items=engines)
    items[:] = [item for item in items if item not in engines]


@pytest.fixture(scope="session")
def rows(pytestconfig: pytest.Config) -> tuple[Row, ...]:
    """The rows of the case file of this run."""
    return read_rows(Path(pytestconfig.getoption("cases") or OWN_ROWS))


@pytest.fixture(scope="session")
def own_rows() -> tuple[Row, ...]:
    """All rows that are kept here, whatever file this run takes."""
    return (*read_rows(OWN_ROWS), *read_rows(VARIATIONS))


@pytest.fixture(scope="session", params=everywhere())
def target(request: pytest.FixtureRequest) -> Target:
    """Each engine that is usable here, on the CPU and on each other type of device that it was built for."""
    place = target_of(request.param)
    name = place.kind.name
    found = registry.probe(name)
    if not found.usable:
        if name in REQUIRED:
            pytest.fail(f"{name} is required: {found.reason}")
        pytest.skip(f"{name}: {found.reason}")
    reason = lack(place.device_type)
    if reason is not None:
        pytest.skip(f"{name}: {reason}")
    return place


@pytest.fixture(scope="session")
def engine(target: Target) -> str:
    """The name of the target's engine."""
    return target.kind.name


@pytest.fixture(scope="session")
def ask(target: Target, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    """Sends a case to the engine's own process; the answer has the arrays of each turn under ``results``."""
    folder = tmp_path_factory.mktemp(target.kind.name)
    with EngineProcess(str(target)) as process:

        def send(stage: str, case: Case) -> dict[str, Any]:
            return sent(process, stage, case, folder)

        yield send


def sent(process: EngineProcess, stage: str, case: Case, folder: Path) -> dict[str, Any]:
    """What the engine's process answers to a case."""
    model, results = folder / "model.onnx", folder / "results.npz"
    model.write_bytes(case.model())
    results.unlink(missing_ok=True)
    feeds = []
    for turn in ("a", "b"):
        path = folder / f"{turn}.npz"
        save_arrays(path, case.feeds(turn))
        feeds.append(str(path))
    request = {"do": stage, "model": str(model), "feeds": feeds, "results": str(results), "folder": str(folder)}
    answer = process.ask(request)
    if results.exists():
        answer["results"] = load_arrays(results)
    return answer


@cache
def graph_of(name: str) -> Graph:
    """The normalised graph of a case."""
    return load_model(CASES[name].model())


@cache
def expected(name: str, turn: str) -> dict[str, np.ndarray]:
    """What the reference computes for a case."""
    return evaluate(graph_of(name), CASES[name].feeds(turn))
