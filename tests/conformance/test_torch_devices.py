"""What can be seen of PyTorch on another device than the CPU without one: its device ``meta`` has shapes, no memory."""

from __future__ import annotations

import numpy as np
import pytest

from intarsia.backends import registry
from intarsia.backends.contract import DeviceValue
from intarsia.backends.lowering.lower import lower
from intarsia.backends.torch.backend import TensorCall, prepared
from intarsia.backends.torch.device_memory import TensorMemory
from intarsia.backends.torch.kernels import NATIVES
from intarsia.graph import extract
from intarsia.target import Target
from tests.conformance.cases import Case
from tests.conformance.conftest import graph_of
from tests.conformance.operator_cases import OPERATOR_CASES


@pytest.fixture(scope="module", autouse=True)
def _torch() -> None:
    found = registry.probe("torch")
    if not found.usable:
        pytest.skip(f"torch: {found.reason}")


@pytest.mark.engine
@pytest.mark.parametrize("case", OPERATOR_CASES, ids=lambda case: case.name)
def test_no_kernel_leaves_the_device(case: Case) -> None:
    graph, backend = graph_of(case.name), registry.get("torch")
    if backend.capability(graph, Target("torch -base=cuda")).refusals:
        return
    import torch

    model = extract(graph, (node.id for node in graph.nodes))
    program = lower(model, NATIVES)
    weights = {name: model.weights[name].array() for name in program.weights}
    run = prepared(program, weights, [value.name for value in model.inputs], "meta")
    given = [torch.zeros(v.shape or (), dtype=getattr(torch, v.dtype or ""), device="meta") for v in model.inputs]
    assert [(result.device.type, tuple(result.shape)) for result in run(*given)] == [
        ("meta", value.shape) for value in model.outputs
    ]


@pytest.mark.engine
def test_a_value_goes_from_step_to_step_as_it_lies_there() -> None:
    meta = {"inputs": [["x", "float32", [2, 3]]], "outputs": [["y", "float32", [2, 3]]]}
    memory = TensorMemory("torch", "cpu")
    step = TensorCall("torch", lambda x: [x + 1], meta, memory=memory)
    brought, between, made = DeviceValue(), DeviceValue(), DeviceValue()
    source, destination = np.zeros((2, 3), np.float32), np.zeros((2, 3), np.float32)
    calls = [
        memory.upload(source, brought),
        step.bind({"x": brought}, {"y": between}),
        step.bind({"x": between}, {"y": made}),
        memory.download(made, destination),
    ]
    for start in (1, 5):
        source[...] = start
        for call in calls:
            call()
        assert (destination == start + 2).all()
        assert (source == start).all()
