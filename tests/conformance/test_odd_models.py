"""Odd models on every engine: the right answer, a refusal with a reason, or an error of ours. Never a dead process."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from filelock import FileLock

from intarsia.backends import registry
from intarsia.graph import load_model
from intarsia.graph.reference.reference import evaluate
from intarsia.target import Target
from tests.conformance.arrays import load_arrays, save_arrays
from tests.conformance.judge import differences, faults
from tests.conformance.odd_cases import ODD_CASES, Arrays, OddCase, unknown_operator, write_large
from tests.conformance.process import EngineProcess

pytestmark = [pytest.mark.engine]
LARGE_ROWS = 800_000
"""Of 4,000 bytes: 3.2 GB, more than fits into one protobuf message, or into the offsets of a flatbuffer."""


@pytest.fixture(scope="module")
def process(target: Target) -> Iterator[EngineProcess]:
    with EngineProcess(str(target)) as process:
        yield process


def answered(process: EngineProcess, model: Path, feeds: Arrays, folder: Path) -> dict[str, Any]:
    results = folder / "results.npz"
    save_arrays(folder / "feeds.npz", dict(feeds))
    answer = process.ask(
        {"do": "run", "model": str(model), "feeds": [str(folder / "feeds.npz")], "results": str(results)}
    )
    if results.exists():
        answer["results"] = load_arrays(results)
    return answer


@cache
def expected(case: OddCase) -> dict[str, np.ndarray]:
    return evaluate(load_model(case.model), case.feeds)


@pytest.mark.parametrize("case", ODD_CASES, ids=lambda case: case.name)
def test_odd_model(engine: str, process: EngineProcess, tmp_path: Path, case: OddCase) -> None:
    (tmp_path / "model.onnx").write_bytes(case.model)
    answer = answered(process, tmp_path / "model.onnx", case.feeds, tmp_path)
    assert faults(answer, [expected(case)] * 2, registry.get(engine).traits.mutates_inputs) == []


def test_an_operator_of_an_unknown_domain_is_refused(process: EngineProcess, tmp_path: Path) -> None:
    case = unknown_operator()
    (tmp_path / "model.onnx").write_bytes(case.model)
    answer = answered(process, tmp_path / "model.onnx", case.feeds, tmp_path)
    assert answer["refused"]["Mystery_1"]


@pytest.mark.slow
def test_three_gigabytes_of_weights(
    engine: str, process: EngineProcess, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    model, feeds, want = write_large(tmp_path, LARGE_ROWS)
    # An engine may hold it three times over: not two of them at one time.
    with FileLock(tmp_path_factory.getbasetemp().parent / "large.lock"):
        answer = answered(process, model, feeds, tmp_path)
        process.stop()
    if "refused" in answer:
        assert all(answer["refused"].values())
    elif "error" in answer:
        assert answer["error"].startswith(("CompileError", "LoadError")), answer["error"]
    else:
        assert differences(answer["results"]["0/y"], want) == []
