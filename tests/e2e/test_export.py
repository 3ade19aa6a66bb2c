"""An exported single-engine plan runs where that engine is alone, and answers bit for bit as the artifact does."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from intarsia.backends import registry
from intarsia.config import RunSettings
from intarsia.graph import load_model
from intarsia.partitioning import Partition
from intarsia.runtime import Artifact, CompiledModel, build, export, plan_of, write_artifact
from intarsia.runtime.artifact.exported_run import seeded
from intarsia.target import Target

pytestmark = [pytest.mark.e2e, pytest.mark.engine]
PACKAGES = {
    "onnxruntime": "onnxruntime",
    "openvino": "openvino",
    "mnn": "MNN",
    "ncnn": "ncnn",
    "winograd": "onnxruntime",
}
ALONE = """\
import runpy, sys
for name in {others!r}:
    sys.modules[name] = None
sys.path.insert(0, {folder!r})
sys.argv = ["run.py", *{arguments!r}]
runpy.run_path({folder!r} + "/run.py", run_name="__main__")
"""


def alone(engine: str, folder: Path, *arguments: str) -> str:
    """Run the exported program where neither Intarsia nor any other engine can be imported."""
    others = ["intarsia", "onnx", "onnx_ir", *({*PACKAGES.values()} - {PACKAGES[engine]})]
    script = ALONE.format(others=others, folder=str(folder), arguments=arguments)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("engine", PACKAGES)
def test_it_answers_bit_for_bit_as_the_artifact_does(engine: str, tiny: Path, tmp_path: Path) -> None:
    found = registry.probe(engine)
    if not found.usable:
        pytest.skip(f"{engine}: {found.reason}")
    graph = load_model(tiny)
    whole = Partition(target=Target(engine), nodes=tuple(node.id for node in graph.nodes))
    path = tmp_path / "m.intarsia"
    write_artifact(path, graph, build(graph, plan_of(graph, [whole], RunSettings(threads=1))))
    with CompiledModel(Artifact(path)) as model:
        files = export(model, tmp_path / "out")
        assert all(file.is_file() for file in files)
        facts = json.loads((tmp_path / "out" / "run.json").read_text())
        expected = model(seeded(facts["inputs"]))
    shown = alone(engine, tmp_path / "out", "--output", str(tmp_path / "results"), "--runs", "2")
    assert "the median of 2 runs" in shown
    for number, value in enumerate(facts["outputs"]):
        np.testing.assert_array_equal(np.load(tmp_path / "results" / f"{number}.npy"), expected[value["name"]])
