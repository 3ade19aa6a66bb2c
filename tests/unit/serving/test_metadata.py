from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper

from intarsia.config import RunSettings, Spin
from intarsia.errors import FeedError, UnsupportedError
from intarsia.graph import load_model
from intarsia.graph.ranges import SizeRange
from intarsia.partitioning import Partition
from intarsia.runtime import (
    Artifact,
    Bucket,
    CompiledModel,
    attach_report,
    build,
    plan_of,
    write_artifact,
    write_buckets,
)
from intarsia.serving.loaded import Loading
from intarsia.serving.metadata import metadata_of
from intarsia.target import Target
from tests.unit.graph.models import info, model


def artifact(path: Path, dtype: int = TensorProto.FLOAT, instances: int = 1) -> Path:
    """A model on the reference whose output's length only a run knows."""
    nodes = [helper.make_node("NonZero", ["x"], ["y"]), helper.make_node("Identity", ["x"], ["z"])]
    outputs = [info("y", (2, "n"), TensorProto.INT64), info("z", (2, 3), dtype)]
    graph = load_model(model(nodes, [info("x", (2, 3), dtype)], outputs))
    part = Partition(target=Target("reference"), nodes=tuple(node.id for node in graph.nodes))
    settings = RunSettings(threads=1, spin=Spin.NEVER, instances=instances)
    write_artifact(path, graph, build(graph, plan_of(graph, [part], settings)))
    attach_report(path, {})
    return path


def test_an_open_dimension_is_minus_one(tmp_path: Path) -> None:
    with CompiledModel(Artifact(artifact(tmp_path / "m.intarsia"))) as model_:
        found = metadata_of("m", "1", model_)
    assert [each.as_json() for each in found.inputs] == [{"name": "x", "datatype": "FP32", "shape": [2, 3]}]
    assert [(each.name, each.datatype, each.shape) for each in found.outputs] == [
        ("y", "INT64", (2, -1)),
        ("z", "FP32", (2, 3)),
    ]


def test_a_model_of_open_sizes_tells_so_and_takes_each_size_in_its_range(tmp_path: Path) -> None:
    nodes = [helper.make_node("Relu", ["x"], ["y"], "relu")]
    graph = load_model(model(nodes, [info("x", ("n", 3))], [info("y", ("n", 3))]), {"n": "1..9"})
    part = Partition(target=Target("reference"), nodes=("relu",))
    plan = plan_of(graph, [part], RunSettings(threads=1, spin=Spin.NEVER))
    bucket = Bucket(ranges={"n": SizeRange(low=1, high=9)}, sizes={"n": 5}, plan=plan)
    write_buckets(tmp_path / "m.intarsia", graph, [(bucket, build(graph, plan))])
    loaded = Loading()("m", "1", tmp_path / "m.intarsia")
    assert [each.shape for each in (*loaded.metadata.inputs, *loaded.metadata.outputs)] == [(-1, 3), (-1, 3)]
    (instance,) = loaded.instances
    for length in (1, 9):
        assert instance({"x": np.ones((length, 3), np.float32)})["y"].shape == (length, 3)
    with pytest.raises(FeedError, match=r"n may be 1\.\.9"):
        instance({"x": np.ones((10, 3), np.float32)})
    loaded.close()


def test_a_type_that_the_protocol_lacks_is_named(tmp_path: Path) -> None:
    file = artifact(tmp_path / "m.intarsia", TensorProto.COMPLEX64)
    with (
        CompiledModel(Artifact(file)) as model_,
        pytest.raises(UnsupportedError, match="x is complex64, for which"),
    ):
        metadata_of("m", "1", model_)


def test_a_copy_is_loaded_so_that_the_file_may_be_written_over(tmp_path: Path) -> None:
    file = artifact(tmp_path / "m.intarsia")
    loaded = Loading(instances=2)("m", "1", file)
    file.write_bytes(b"nothing")
    assert len(loaded.instances) == 2
    for instance in loaded.instances:
        assert instance({"x": np.ones((2, 3), np.float32)})["y"].shape == (2, 6)
    loaded.close()


@pytest.mark.parametrize(("recorded", "stated", "loads"), [(3, None, 3), (3, 2, 2), (1, None, 1)])
def test_it_is_loaded_as_often_as_its_plan_says_or_the_command(
    tmp_path: Path, recorded: int, stated: int | None, loads: int
) -> None:
    file = artifact(tmp_path / "m.intarsia", instances=recorded)
    assert ("instances" in Artifact(file).manifest.json()) == (recorded > 1)
    loaded = Loading(instances=stated)("m", "1", file)
    assert (len(loaded.instances), loaded.facts["instances"]) == (loads, loads)
    loaded.close()
