"""The networks of `networks.micro` as C on emulated boards, against ONNX Runtime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from intarsia import Target
from intarsia.backends.c.choose import kernels_for
from intarsia.backends.c.network import known_of, prepared
from intarsia.backends.c.processor import Processor
from intarsia.backends.lowering.integer.lower import lower_integers
from intarsia.codegen import call_counts
from intarsia.graph import extract, load_model
from intarsia.runtime.aot.place import place_of
from intarsia.search.boards.answers import Answers
from intarsia.search.boards.candidates import Candidates, candidates_of
from intarsia.search.boards.placement import place
from networks import micro
from networks.quantised.answers import exact_session
from tests.unit.codegen.test_programs import run
from tests.unit.codegen.tools import AARCH64, BOARDS, RISCV64

pytestmark = [pytest.mark.e2e, pytest.mark.engine]
BOARD_NAMES = ("mps2-an386", "mps3-an547")
SAMPLES = 3
Feeds = list[dict[str, np.ndarray]]


def lowered(name: str, target: Target, folder: Path) -> tuple[Candidates, onnx.ModelProto, Feeds]:
    model = micro.build(name)
    path = folder / f"{name}.onnx"
    onnx.save(model, path)
    graph = load_model(path)
    whole = extract(graph, (node.id for node in graph.nodes))
    program = lower_integers(whole, frozenset({"sigmoid", "softmax"}))
    known = known_of(program, {each: whole.weights[each].array() for each in program.weights})
    rng = np.random.default_rng(7)
    feeds = [
        {value.name: rng.standard_normal(value.shape).astype(value.dtype) for value in whole.inputs}
        for _ in range(SAMPLES)
    ]
    return candidates_of(*prepared(program, known), Processor.of(target), {"c": kernels_for}), model, feeds


def check(found: Any, model: onnx.ModelProto, feeds: Feeds, *, name: str) -> None:
    session = exact_session(model.SerializeToString())
    names = [output.name for output in session.get_outputs()]
    for results, each in zip(found, feeds, strict=True):
        for output, right in zip(names, session.run(None, each), strict=True):
            if name in micro.QUANTISED:
                steps = np.unique(np.abs(right[right != 0])) if right.size > 1 else np.ones(1)
                step = np.diff(np.concatenate([[0.0], steps])).min()  # of the scale of the last quantiser
                assert np.abs(results[output] - right).max() <= max(1.01 * step, 1 / 128 * np.abs(right).max())
            else:
                np.testing.assert_allclose(results[output], right, rtol=1e-4, atol=1e-5 * np.abs(right).max())


@BOARDS
@pytest.mark.parametrize("board", BOARD_NAMES)
@pytest.mark.parametrize("name", micro.NAMES)
def test_a_network_agrees_with_onnx_runtime_on_a_board(name: str, board: str, tmp_path: Path) -> None:
    target = Target(f"arm/{board}")
    candidates, model, feeds = lowered(name, target, tmp_path)
    machine = place_of(target)
    assert machine.board is not None
    found = call_counts.count(candidates.module({}), feeds, machine.board)
    check(found.results, model, feeds, name=name)
    assert found.total > 10_000
    assert 0 < found.stack_bytes < 8192


@BOARDS
@pytest.mark.parametrize("board", BOARD_NAMES)
def test_the_chosen_kernels_execute_no_more_than_the_first_guess(board: str, tmp_path: Path) -> None:
    target = Target(f"arm/{board}")
    candidates, model, feeds = lowered("kws", target, tmp_path)
    machine = place_of(target)
    assert machine.board is not None
    first = call_counts.count(candidates.module({}), feeds[:1], machine.board)
    answers = Answers(values=first.results[0])
    engines = {"c": kernels_for}
    found = place(candidates.program, candidates.known, Processor.of(target), engines, machine.board, feeds[0], answers)
    assert found.instructions <= first.total * 1.001
    assert abs(found.predicted - found.instructions) <= found.instructions / 100
    check([found.results], model, feeds[:1], name="kws")


@pytest.mark.parametrize(
    "target",
    [pytest.param("arm/rasp4b64", marks=AARCH64), pytest.param("riscv/visionfive-2", marks=RISCV64)],
)
@pytest.mark.parametrize("name", ["ic", "gru"])
def test_a_network_agrees_with_onnx_runtime_on_another_processor(name: str, target: str, tmp_path: Path) -> None:
    candidates, model, feeds = lowered(name, Target(target), tmp_path)
    check(run(candidates.module({}), feeds, target), model, feeds, name=name)
