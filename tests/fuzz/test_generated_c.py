"""Random small models through generated C, built as an export builds them, under the sanitizers: what they compute.

Models in fp32 agree with the reference. Quantised ones are held to it in two ways, by turns: every quantiser's result
is an output and within a step of what it was given; or the model is as it ships, and its outputs are within what its
own rounding leaves open.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import numpy as np
import onnx
import pytest

from intarsia.cost.reference.reference import leave_open
from intarsia.cost.reference.reference_io import record_values, recorded_tolerances
from intarsia.graph import Graph, load_model
from intarsia.graph.reference.reference import evaluate
from intarsia.graph.reference.stages import Judge, checked_values, exposing
from intarsia.runtime.verify import deviations
from networks.probe import feeds
from networks.quantised.integers import static
from tests.fuzz.generated_c import Written, run, written
from tests.fuzz.random_graphs import random_model

needs_compiler = pytest.mark.skipif(
    shutil.which("cc") is None, reason="there is no C compiler; apt-get install gcc libc6-dev"
)
MODELS, BATCH, SOON = 150, 14, 1
"""Of each sort; in one program; programs of each sort that `make test` builds."""
_TYPES: tuple[Literal["int8"], Literal["uint8"]] = ("int8", "uint8")
_BATCHES = [
    pytest.param(first, marks=[] if place < SOON else pytest.mark.large)
    for place, first in enumerate(range(0, MODELS, BATCH))
]


@needs_compiler
@pytest.mark.parametrize("first", _BATCHES)
def test_models_in_float_agree_with_the_reference(first: int, tmp_path: Path) -> None:
    made = [_written(seed, random_model(seed), tmp_path) for seed in range(first, min(first + BATCH, MODELS))]
    for each, found in zip(made, run(made, tmp_path), strict=True):
        right = evaluate(each.graph, each.feeds)
        wrong = [apart for apart in deviations(found, right) if not apart.is_acceptable]
        assert not wrong, f"{each.name}: {wrong[0]}"


@needs_compiler
@pytest.mark.parametrize("first", _BATCHES)
def test_quantised_models_agree_with_the_reference(first: int, tmp_path: Path) -> None:
    made = [_written(seed, _quantised(seed), tmp_path) for seed in range(first, min(first + BATCH, MODELS))]
    # A softmax by table may be a whole step off, which is more than rounding otherwise leaves open of an output.
    by_stages = {each.name for place, each in enumerate(made) if place % 2 or _has(each, "Softmax")}
    shown = [_exposed(each) if each.name in by_stages else each for each in made]
    for each, found in zip(made, run(shown, tmp_path), strict=True):
        is_shown = each.name in by_stages
        fault = _fault_of_stages(each, found) if is_shown else _fault_of_outputs(each, found, tmp_path / each.name)
        assert fault is None, f"{each.name}: {fault}"


def _written(seed: int, model: onnx.ModelProto, folder: Path) -> Written:
    path = folder / f"{seed}.onnx"
    onnx.save(model, path)
    return written(f"g{seed}", load_model(path), feeds(model, seed), seed)


def _has(each: Written, op_type: str) -> bool:
    return any(node.op_type == op_type for node in each.graph.nodes)


def _exposed(each: Written) -> Written:
    """The same with what every quantiser makes among its outputs."""
    graph = exposing(each.graph, checked_values(each.graph))
    return written(each.name, graph, each.feeds, int(each.name[1:]))


def _quantised(seed: int) -> onnx.ModelProto:
    """By ONNX Runtime's quantiser; the next model where it fails at one."""
    for attempt in range(20):
        try:
            return static(
                random_model(seed + 1000 * attempt, 9), per_channel=bool(seed % 2), activations=_TYPES[seed // 2 % 2]
            )
        except (IndexError, KeyError, TypeError, ValueError, RuntimeError):  # its own, for models that it does not take
            continue
    raise AssertionError(f"ONNX Runtime quantises none of the models from {seed} on")


def _fault_of_stages(each: Written, found: Mapping[str, np.ndarray]) -> str | None:
    judge = Judge(each.graph, {name: found[name] for name in checked_values(each.graph)})
    right = evaluate(each.graph, each.feeds, around=judge)
    # Shares of a softmax are counted in whole steps, as ONNX Runtime does, which its own tests hold it to.
    faults = [fault for fault in judge.faults if not _is_of_softmax(each.graph, fault.node)]
    if faults:
        return str(faults[0])
    outputs = {name: found[name] for name in each.graph.outputs}
    return next((str(apart) for apart in deviations(outputs, right) if not apart.is_acceptable), None)


def _is_of_softmax(graph: Graph, quantiser: str) -> bool:
    producer = graph.values[graph.node(quantiser).inputs[0]].producer
    return producer is not None and graph.nodes[producer].op_type == "Softmax"


def _fault_of_outputs(each: Written, found: Mapping[str, np.ndarray], folder: Path) -> str | None:
    right = evaluate(each.graph, each.feeds)
    record_values(folder, {**each.feeds, **right})
    leave_open(folder, each.graph, each.feeds, each.graph.outputs, 0.0)
    allowed = recorded_tolerances(folder)
    return next((str(apart) for apart in deviations(found, right, allowed) if not apart.is_acceptable), None)
