"""An environment with only what a run needs: it loads and runs an artifact, and nothing that compiles came along."""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from importlib import metadata
from pathlib import Path

import pytest

from intarsia.backends import registry
from intarsia.config import RunSettings
from intarsia.graph import load_model
from intarsia.partitioning import Partition, linear_order
from intarsia.runtime import build, plan_of, write_artifact
from intarsia.target import Target

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
COMPILING = frozenset(
    {
        *("annotated-types", "click", "filelock", "jinja2", "markupsafe", "mpmath", "onnx", "onnx-ir", "psutil"),
        *("pydantic", "pydantic-core", "pygments", "pyyaml", "rich", "scipy", "sympy", "torch"),
    }
)
_RUN = """
import importlib.metadata, json, sys
import numpy, intarsia
with intarsia.load(sys.argv[1], trusted=True) as model:
    answer = model({value.name: numpy.ones(value.shape, value.dtype) for value in model.inputs})
try:
    intarsia.compile
except ImportError as error:
    told = str(error)
names = sorted(each.metadata["Name"].lower().replace("_", "-") for each in importlib.metadata.distributions())
print(json.dumps([{name: array.tolist() for name, array in answer.items()}, told, names]))
"""


def test_an_artifact_runs_where_nothing_compiles(tiny: Path, tmp_path: Path) -> None:
    engine = "onnxruntime"
    version = registry.require(engine).version
    graph = load_model(tiny)
    artifact = tmp_path / "model.intarsia"
    whole = [Partition(target=Target(engine), nodes=linear_order(graph))]
    write_artifact(artifact, graph, build(graph, plan_of(graph, whole, RunSettings(threads=1))))
    venv.create(tmp_path / "run", with_pip=True)
    python = str(tmp_path / "run" / "bin" / "python")
    pinned = [f"{engine}=={version}", f"numpy=={metadata.version('numpy')}"]
    install = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-compile"]
    subprocess.run([*install, f"{ROOT}[{engine}]", *pinned], check=True, capture_output=True)

    ran = subprocess.run([python, "-P", "-c", _RUN, str(artifact)], check=True, capture_output=True, text=True)
    answer, told, names = json.loads(ran.stdout)
    assert not COMPILING & set(names)
    assert {engine, "intarsia", "numpy"} <= set(names)
    assert "pip install 'intarsia[compile]'" in told

    here = subprocess.run(
        [sys.executable, "-c", _RUN.replace("intarsia.compile", "raise ImportError"), str(artifact)],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert answer == json.loads(here.stdout)[0]

    unknown = [python, "-P", "-c", "import intarsia, sys; intarsia.load(sys.argv[1])", str(artifact)]
    refused = subprocess.run(
        unknown, capture_output=True, text=True, check=False, env={"XDG_CACHE_HOME": str(tmp_path / "cache")}
    )
    assert "ArtifactError" in refused.stderr
    assert "trusted=True" in refused.stderr
