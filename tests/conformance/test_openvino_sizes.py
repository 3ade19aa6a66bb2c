"""OpenVINO at open sizes: right at any size after any other, and a reason where it cannot be."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import onnx
import pytest

from intarsia.backends import registry
from intarsia.backends.contract import BoundCall, Executable, Slot
from intarsia.backends.openvino import loader as openvino_loader
from intarsia.config import RunSettings
from intarsia.errors import ExecutionError
from intarsia.graph import Graph, extract, load_model
from intarsia.graph.reference.reference import evaluate
from intarsia.target import Target
from tests.conformance.cases import Case, f32, i64, node
from tests.conformance.judge import differences
from tests.conformance.size_cases import SIZE_CASES, SizeCase

pytestmark = [pytest.mark.engine]

TARGET = Target("openvino")
CALLS = 12
ORDERS = 2


@pytest.fixture(autouse=True)
def _installed() -> None:
    found = registry.probe("openvino")
    if not found.usable:
        pytest.skip(f"openvino: {found.reason}")


class Bound:
    """A whole graph on OpenVINO, loaded afresh, for any sizes."""

    def __init__(self, graph: Graph, threads: int = 1) -> None:
        backend, settings = registry.get("openvino"), RunSettings(threads=threads)
        assert dict(backend.capability(graph, TARGET).refusals) == {}
        model = extract(graph, [each.id for each in graph.nodes])
        artifact = backend.compile(model, TARGET, settings)
        weights = {name: weight.array() for name, weight in model.weights.items()}
        self.executable: Executable = backend.load(artifact, weights, TARGET, settings)
        self._inputs = {value.name: Slot() for value in model.inputs}
        self._outputs = {value.name: Slot() for value in model.outputs if value.shape is None}
        fixed = {
            value.name: np.empty(value.shape or (), "float32") for value in model.outputs if value.shape is not None
        }
        self._call: BoundCall = self.executable.bind(self._inputs, {**self._outputs, **fixed})

    def run(self, feeds: Mapping[str, np.ndarray]) -> dict[str, np.ndarray | None]:
        """The outputs of open shape."""
        for name, array in feeds.items():
            self._inputs[name].array = array
        self._call()
        return {name: slot.array for name, slot in self._outputs.items()}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("case", SIZE_CASES, ids=lambda case: case.name)
def test_any_size_is_right_after_any_other(case: SizeCase, threads: int) -> None:
    graph = load_model(case.model, case.shapes)
    for seed in range(ORDERS):
        rng = np.random.default_rng(seed)
        bound = Bound(graph, threads)
        first = [{name: low for name, (low, _) in case.ranges.items()}] if seed == 0 else []
        last = [{name: high for name, (_, high) in case.ranges.items()}]
        for sizes in [*first, *case.order(rng, CALLS), *last]:
            feeds = case.feeds(rng, sizes)
            results = bound.run(feeds)
            assert results
            for name, want in evaluate(graph, feeds).items():
                got = results[name]
                assert got is not None
                assert differences(got, want) == [], f"{name} at {sizes}, order {seed}"
        bound.executable.close()


def test_exported_it_takes_any_size_too(tmp_path: Path) -> None:
    case = SIZE_CASES[0]
    graph, settings = load_model(case.model, case.shapes), RunSettings(threads=1)
    registry.get("openvino").export(extract(graph, [each.id for each in graph.nodes]), TARGET, settings, tmp_path)
    shutil.copy(openvino_loader.__file__, tmp_path / "loader.py")
    found = spec_from_file_location("loader", tmp_path / "loader.py")
    assert found is not None
    assert found.loader is not None
    loader = module_from_spec(found)
    found.loader.exec_module(loader)
    run, rng = loader.load(), np.random.default_rng(0)
    for seq in (1, 200, 2, 64, 1):
        feeds = case.feeds(rng, {"batch": 2, "seq": seq})
        results = run(feeds)
        for name, want in evaluate(graph, feeds).items():
            assert differences(results[name], want) == [], f"{name} at {seq}"


UNEVEN = Case(
    name="uneven",
    nodes=(node("Reshape", "x shape", "r"), node("ReduceSum", "r axis", "y")),
    inputs={"x": f32(8, 3)},
    weights={"shape": i64(-1, 4, 3), "axis": i64(0)},
)


def opened(case: Case, **names: str) -> Graph:
    """The case with a name for the first dimension of some inputs, and a range for each name."""
    model = onnx.load_from_string(case.model())
    for value in model.graph.input:
        if value.name in names:
            value.type.tensor_type.shape.dim[0].dim_param = names[value.name]
    for value in model.graph.output:
        value.type.tensor_type.ClearField("shape")
    del model.graph.value_info[:]
    return load_model(model, dict.fromkeys(names.values(), "1..16"))


@pytest.mark.parametrize("threads", [1, 2])
def test_sizes_that_do_not_fit_the_model_are_an_error_and_the_next_call_is_right(threads: int) -> None:
    graph = opened(UNEVEN, x="n")
    bound = Bound(graph, threads)
    rng = np.random.default_rng(0)
    for rows, fits in ((8, True), (7, False), (12, True), (5, False), (4, True)):
        feeds = {"x": rng.standard_normal((rows, 3)).astype(np.float32)}
        if fits:
            bound.run(feeds)
        else:
            with pytest.raises(ExecutionError):
                bound.run(feeds)


REFUSED = {
    "ceil_mode may keep a window": (
        Case(
            name="pool",
            nodes=(node("MaxPool", "x", "y", kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1),),
            inputs={"x": f32(2, 3, 7, 7)},
        ),
        {"x": "n"},
    ),
    "as a constant where sizes are open": (
        Case(name="kernel", nodes=(node("Conv", "x w", "y"),), inputs={"x": f32(2, 3, 7, 7), "w": f32(4, 3, 3, 3)}),
        {"x": "n", "w": "m"},
    ),
    "depends on what values hold": (
        Case(
            name="found",
            nodes=(node("NonZero", "x", "i"), node("Relu", "x", "y")),
            inputs={"x": f32(4)},
            outputs=("i",),
        ),
        {"x": "n"},
    ),
    "only into equal parts": (
        Case(
            name="split",
            nodes=(node("Split", "x", "a b c", num_outputs=3), node("Concat", "c b a", "y", axis=0)),
            inputs={"x": f32(7)},
        ),
        {"x": "n"},
    ),
    "along another axis": (
        Case(name="slope", nodes=(node("PRelu", "x s", "y"),), inputs={"x": f32(3, 4, 5)}, weights={"s": (5,)}),
        {"x": "n"},
    ),
}


@pytest.mark.parametrize("reason", REFUSED)
def test_what_it_cannot_do_at_open_sizes_is_refused_with_a_reason(reason: str) -> None:
    case, names = REFUSED[reason]
    refusals = registry.get("openvino").capability(opened(case, **names), TARGET).refusals
    assert any(reason in told for told in refusals.values()), dict(refusals)
