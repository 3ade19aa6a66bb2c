"""A plan of one partition leaves as its engine's own files; a mix names its engines and the way out."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from intarsia.config import RunSettings
from intarsia.errors import PlanError
from intarsia.graph import load_model
from intarsia.partitioning import Partition
from intarsia.runtime import Artifact, CompiledModel, build, export, plan_of, write_artifact
from intarsia.runtime.plan import Plan, Step
from intarsia.target import Target
from tests.unit.graph.models import two_layers


def test_a_mix_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    steps = tuple(
        Step(target=Target(name), nodes=(name,), inputs=(), outputs=()) for name in ("onnxruntime", "openvino")
    )
    plan = Plan(steps=steps, settings=RunSettings(threads=1), inputs=(), outputs=())
    model = cast(
        "CompiledModel",
        SimpleNamespace(
            plan=plan, buckets=(), artifact=SimpleNamespace(path="mix.itz", check_code=tuple, is_source=False)
        ),
    )
    with pytest.raises(PlanError, match=r"mix\.itz: the plan has 2 partitions on onnxruntime, openvino; .*single"):
        export(model, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_one_partition_leaves_whole(tmp_path: Path) -> None:
    graph = load_model(two_layers())
    whole = Partition(target=Target("reference"), nodes=tuple(node.id for node in graph.nodes))
    plan = plan_of(graph, [whole], RunSettings(threads=1))
    write_artifact(tmp_path / "one.itz", graph, build(graph, plan))
    with CompiledModel(Artifact(tmp_path / "one.itz")) as model:
        files = export(model, tmp_path / "new" / "out")
    assert [file.parent for file in files] == [tmp_path / "new" / "out"]
    assert [node.op_type for node in load_model(files[0]).nodes] == [node.op_type for node in graph.nodes]
