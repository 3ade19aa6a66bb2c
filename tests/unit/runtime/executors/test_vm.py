"""A plan for each bucket of sizes, over the reference engine: chosen by the feeds, stored once, right at any size."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import intarsia
from intarsia.config import RunSettings, Spin
from intarsia.errors import FeedError, PlanError
from intarsia.graph import Graph, SizeRange, load_model
from intarsia.partitioning import Partition
from intarsia.runtime import Artifact, Bucket, Plan, build, export, plan_of, write_buckets
from intarsia.runtime.artifact.container import Reader
from intarsia.target import Target

SETTINGS = RunSettings(threads=1, spin=Spin.NEVER)
SMALL, LARGE = SizeRange(low=1, high=4), SizeRange(low=5, high=9)
WIDTH = 600
"""Wide enough for a weight of its own place in the file."""


@pytest.fixture(scope="module")
def graph() -> Graph:
    """y = relu(a + b) * w, where a and b are both of open length."""
    nodes = [
        helper.make_node("Add", ["a", "b"], ["s"], "add"),
        helper.make_node("Relu", ["s"], ["r"], "relu"),
        helper.make_node("Mul", ["r", "w"], ["y"], "scale"),
    ]
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", WIDTH]) for name in ("a", "b", "y")]
    weights = [numpy_helper.from_array(np.arange(WIDTH, dtype=np.float32), "w")]
    proto = helper.make_graph(nodes, "open", values[:2], values[2:], weights)
    return load_model(helper.make_model(proto, opset_imports=[helper.make_opsetid("", 21)]), {"n": "1..9"})


def plan(graph: Graph, *partitions: tuple[str, ...]) -> Plan:
    return plan_of(
        graph, [Partition(target=Target("reference"), nodes=partition) for partition in partitions], SETTINGS
    )


def bucket(range_: SizeRange, how: Plan) -> Bucket:
    return Bucket(ranges={"n": range_}, sizes={"n": range_.middle}, plan=how)


@pytest.fixture(scope="module")
def written(graph: Graph, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two plans that have their last step in common."""
    path = tmp_path_factory.mktemp("vm") / "open.intarsia"
    plans = [plan(graph, ("add", "relu"), ("scale",)), plan(graph, ("add",), ("relu",), ("scale",))]
    buckets = [bucket(range_, how) for range_, how in zip((SMALL, LARGE), plans, strict=True)]
    write_buckets(path, graph, [(each, build(graph, each.plan)) for each in buckets])
    return path


def feeds(length: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(length)
    return {name: rng.standard_normal((length, WIDTH)).astype(np.float32) for name in ("a", "b")}


def wanted(given: Mapping[str, np.ndarray]) -> np.ndarray:
    result: np.ndarray = np.maximum(given["a"] + given["b"], 0) * np.arange(WIDTH, dtype=np.float32)
    return result


def test_each_call_runs_the_plan_of_its_size(written: Path) -> None:
    with intarsia.load(written) as model:
        assert [str(each) for each in model.buckets] == ["n=1..4", "n=5..9"]
        assert len(model.plan.steps) == 3
        executor = model.load()
        for length, steps in ((2, 2), (9, 3), (1, 2), (4, 2), (5, 3), (2, 2)):
            given = feeds(length)
            np.testing.assert_array_equal(model(given)["y"], wanted(given))
            assert len(executor.plan.steps) == steps
            assert len(model.profile(given, runs=1)) == steps


def test_it_can_be_fed_traced_and_read_like_any_executor(written: Path) -> None:
    with intarsia.load(written) as model:
        executor, given = model.load(), feeds(3)
        executor.feed(given)
        seen = {name: array for _, values in executor.trace() for name, array in values.items()}
        np.testing.assert_array_equal(seen["r"], np.maximum(given["a"] + given["b"], 0))
        executor.call()
        np.testing.assert_array_equal(executor.results()["y"], wanted(given))
        np.testing.assert_array_equal(executor.value("a"), given["a"])


def test_what_buckets_share_is_stored_once(written: Path) -> None:
    artifact = Artifact(written)
    assert [len(each.plan.steps) for each in artifact.buckets] == [2, 3]
    assert len(artifact.manifest.steps) == 4
    assert len(Reader(written).read("weights.bin")) < 2 * WIDTH * 4
    assert [each.ranges for each in artifact.buckets] == [{"n": SMALL}, {"n": LARGE}]
    assert [value.shape for value in intarsia.load(written).sample_inputs] == [(7, WIDTH)] * 2


@pytest.mark.parametrize(
    ("shapes", "told"),
    [
        (((10, WIDTH), (10, WIDTH)), r"a\[n,600\] was given the shape \[10,600\]: n may be 1\.\.9"),
        (((0, WIDTH), (0, WIDTH)), r"n may be 1\.\.9"),
        (((3, WIDTH), (4, WIDTH)), r"b\[n,600\] was given the shape \[4,600\], but n is 3 elsewhere"),
        (((3, 599), (3, WIDTH)), r"a\[n,600\] was given the shape \[3,599\]"),
        (((3, 1, WIDTH), (3, WIDTH)), r"a\[n,600\] was given the shape \[3,1,600\]"),
    ],
)
def test_wrong_sizes_are_told_and_reach_no_engine(
    written: Path, shapes: tuple[tuple[int, ...], ...], told: str
) -> None:
    given = {name: np.zeros(shape, np.float32) for name, shape in zip("ab", shapes, strict=True)}
    with intarsia.load(written) as model, pytest.raises(FeedError, match=told):
        model(given)


def test_wrong_names_and_types_are_told_as_ever(written: Path) -> None:
    with intarsia.load(written) as model:
        with pytest.raises(FeedError, match="has no input 'c'"):
            model({**feeds(2), "c": np.zeros(1)})
        with pytest.raises(FeedError, match="was given as float64"):
            model({name: array.astype(np.float64) for name, array in feeds(2).items()})


def test_equal_plans_share_their_engines(graph: Graph, tmp_path: Path) -> None:
    path, whole = tmp_path / "one.intarsia", plan(graph, ("add", "relu", "scale"))
    buckets = [bucket(range_, whole) for range_ in (SMALL, LARGE)]
    write_buckets(path, graph, [(each, build(graph, whole)) for each in buckets])
    assert len(Artifact(path).manifest.steps) == 1
    with intarsia.load(path) as model:
        for length in (2, 8):
            np.testing.assert_array_equal(model(feeds(length))["y"], wanted(feeds(length)))
        assert [file.name for file in export(model, tmp_path / "native")] == ["model.onnx"]


def test_plans_that_differ_by_size_are_not_one_engine_s_files(written: Path, tmp_path: Path) -> None:
    with intarsia.load(written) as model, pytest.raises(PlanError, match="depends on the sizes"):
        export(model, tmp_path)
