"""Every operator case on a GPU of NVIDIA's, for the engine that runs there; without one, skipped with the reason."""

from __future__ import annotations

import numpy as np
import pytest

from intarsia.backends import registry
from intarsia.graph.dtypes import numpy_dtype
from intarsia.search.team import absence
from intarsia.target import Target
from tests.conformance.cases import Case
from tests.conformance.conftest import expected, graph_of
from tests.conformance.judge import differences
from tests.conformance.operator_cases import OPERATOR_CASES
from tests.conformance.worker import SETTINGS

GPU = Target("torch -base=cuda")


def faults(case: Case) -> list[str]:
    """What is wrong with the answer; nothing if the case is refused."""
    graph, backend = graph_of(case.name), registry.get("torch")
    if backend.capability(graph, GPU).refusals:
        return []
    model = graph.extract(node.id for node in graph.nodes)
    artifact = backend.compile(model, GPU, SETTINGS)
    weights = {name: model.weights[name].array() for name in artifact.weights}
    outputs = {v.name: np.zeros(v.shape or (), numpy_dtype(v.dtype or "")) for v in model.outputs}
    executable = backend.load(artifact, weights, GPU, SETTINGS)
    executable.bind(case.feeds("a"), outputs)()
    executable.close()
    wanted = expected(case.name, "a")
    return [fault for name, array in outputs.items() for fault in differences(array, wanted[name])]


@pytest.mark.engine
def test_torch_refuses_or_answers_rightly_on_a_gpu() -> None:
    reason = absence(GPU)
    if reason is not None:
        pytest.skip(reason)
    found = {case.name: faults(case) for case in OPERATOR_CASES}
    assert {name: what for name, what in found.items() if what} == {}
