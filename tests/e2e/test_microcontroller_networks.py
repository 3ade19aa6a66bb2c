"""The networks for microcontrollers, as C: on this machine under the sanitizers, and on emulated boards."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import networks
from intarsia.backends.c.network import known_of, network, prepared
from intarsia.backends.c.processor import Processor
from intarsia.backends.contract import compiler_flags
from intarsia.backends.lowering.integer.lower import lower_integers
from intarsia.codegen import arena, harness, programs
from intarsia.codegen.boards.board import EMULATED
from intarsia.codegen.memory.liveness import Liveness
from intarsia.graph import load_model
from intarsia.graph.submodel import extract
from intarsia.target import Target
from networks import micro
from networks.quantised.answers import exact_session
from tests.unit.codegen.smallest import smallest
from tests.unit.codegen.tools import BOARDS, CC

if TYPE_CHECKING:
    from intarsia.codegen.module import SourceModule

pytestmark = pytest.mark.e2e

PROCESSORS = {
    "mps2-an386": Processor(architecture="arm", pointer_bytes=4, has_dsp=True),
    "mps2-an500": Processor(architecture="arm", pointer_bytes=4, has_dsp=True),
    "mps3-an547": Processor(architecture="arm", pointer_bytes=4, has_dsp=True, has_mve=True),
}
FLOOR = {"kws": 16_000, "ic": 49_152, "vww": 55_296, "ad": 768}
"""Bytes of the largest operand and result that are alive together, without one lying over the other."""
SEEDS = {"kws": 4, "ic": 4, "vww": 3, "ad": 8}


@cache
def built(name: str) -> onnx.ModelProto:
    return networks.build(name)


def module_of(model: onnx.ModelProto, processor: Processor) -> SourceModule:
    graph = load_model(model)
    sub = extract(graph, graph.position)
    program = lower_integers(sub, frozenset({"sigmoid", "softmax"}))
    weights = {name: sub.weights[name].array() for name in program.weights}
    return network(*prepared(program, known_of(program, weights)), processor)


def program_of(module: SourceModule, *flags: str) -> harness.Program:
    made = programs.program_of(module, flags=flags)
    return replace(made, what=replace(made.what, strict=True, link=flags))


def feeds_of(model: onnx.ModelProto, count: int) -> list[list[np.ndarray]]:
    return [list(networks.feeds(model, seed).values()) for seed in range(count)]


def expected_of(model: onnx.ModelProto, feeds: list[list[np.ndarray]]) -> np.ndarray:
    session = exact_session(model.SerializeToString())
    (source,) = session.get_inputs()
    return np.stack([session.run(None, {source.name: each})[0] for (each,) in feeds])


def step_of(model: onnx.ModelProto) -> float:
    """What one step of the output is."""
    (last,) = (node for node in model.graph.node if node.output[0] == model.graph.output[0].name)
    (scale,) = (tensor for tensor in model.graph.initializer if tensor.name == last.input[1])
    return float(numpy_helper.to_array(scale).reshape(-1)[0])


def check(name: str, found: np.ndarray, expected: np.ndarray) -> None:
    if name not in micro.QUANTISED:
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-5)
        return
    steps = np.rint((found - expected) / step_of(built(name)))
    assert np.abs(steps).max() <= 1
    assert (steps == 0).mean() >= 0.995


@CC
@pytest.mark.parametrize("vectors", [False, True], ids=["portable", "vectors"])
@pytest.mark.parametrize("name", micro.NAMES)
def test_on_this_machine_under_the_sanitizers(name: str, vectors: bool) -> None:
    model, target = built(name), Target("c")
    feeds = feeds_of(model, SEEDS.get(name, 4))
    processor, flags = (Processor.of(target), compiler_flags(target)) if vectors else (Processor(), ())
    sanitizers = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-O1", *flags)
    outcome = harness.run(program_of(module_of(model, processor), *sanitizers), feeds)
    check(name, np.stack([result for (result,) in outcome.results]), expected_of(model, feeds))


@BOARDS
@pytest.mark.parametrize("board", PROCESSORS)
@pytest.mark.parametrize("name", micro.NAMES)
def test_on_a_board(name: str, board: str) -> None:
    model = built(name)
    feeds = feeds_of(model, 2)
    outcome = harness.run(program_of(module_of(model, PROCESSORS[board])), feeds, board=EMULATED[board])
    check(name, np.stack([result for (result,) in outcome.results]), expected_of(model, feeds))


@pytest.mark.parametrize("board", PROCESSORS)
@pytest.mark.parametrize("name", micro.QUANTISED)
def test_the_workspace_is_at_the_floor_or_below(name: str, board: str) -> None:
    planned = arena.plan(module_of(built(name), PROCESSORS[board]))
    assert planned.size <= 1.05 * FLOOR[name]


@pytest.mark.parametrize("board", PROCESSORS)
@pytest.mark.parametrize("name", micro.NAMES)
def test_the_workspace_is_near_the_lower_bound_or_the_smallest_there_is(name: str, board: str) -> None:
    module, planned = arena.laid_out(module_of(built(name), PROCESSORS[board]))
    if planned.size > 1.02 * planned.floor:  # what a call may do in place cannot always be done by all calls at once
        live = Liveness(module)
        assert planned.size == smallest(live.items, live.conflicts, planned.alignment, planned.size)
