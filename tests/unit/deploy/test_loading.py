"""A deployed model as a server loads it: on its machines, called once, and freed on all of them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from intarsia.config import Deployment
from intarsia.deploy.loading import DeployedLoading
from intarsia.errors import ArtifactError, WorkerUnreachableError
from intarsia.runtime.artifact.trust import OWN
from tests.artifacts import written
from tests.deployed import divided
from tests.fake_ray import FakeRay

THERE: Any = {"targets": ["reference"], "runtime": "ray -label=machine=b"}
DEPLOYMENT = Deployment.of({"machines": {"a": "onnxruntime", "b": THERE}})


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> FakeRay:
    fake = FakeRay("b")
    monkeypatch.setitem(sys.modules, "ray", fake)
    return fake


def test_it_is_loaded_on_its_machines_and_has_answered_once(ray: FakeRay, tmp_path: Path) -> None:
    path = divided(tmp_path).path
    loading = DeployedLoading.of(path, DEPLOYMENT, OWN)
    loaded = loading("net", "1", path)
    assert [each.as_json() for each in loaded.metadata.inputs] == [{"name": "x", "datatype": "FP32", "shape": [4, 32]}]
    assert (loaded.facts["machines"], loaded.facts["instances"]) == (["a", "b"], 4)
    assert len(loaded.instances) == loading.instances
    assert [name for name, _ in ray.actors[0].retries].count("run") == 1
    feeds = {"x": np.ones((4, 32), np.float32)}
    first, *others = (each(feeds)["y"] for each in loaded.instances)
    assert all(np.array_equal(first, each) for each in others)
    assert not ray.killed
    loaded.close()
    assert ray.killed == ray.actors


def test_one_that_does_not_load_leaves_nothing_behind(ray: FakeRay, tmp_path: Path) -> None:
    path = divided(tmp_path).path
    loading = DeployedLoading.of(path, DEPLOYMENT, OWN)
    ray.alive.clear()
    with pytest.raises(WorkerUnreachableError, match="no node that is alive has the label machine=b"):
        loading("net", "1", path)


def test_an_artifact_of_one_machine_is_refused(ray: FakeRay, tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match="an artifact of one machine"):
        DeployedLoading.of(written(tmp_path / "net.intarsia"), DEPLOYMENT, OWN)
