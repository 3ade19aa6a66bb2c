"""What loading and running an artifact imports: nothing beside the engine that docs/ship.md does not name."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from benchmarks.install_sizes import RUN
from intarsia.config import RunSettings
from intarsia.graph import load_model
from intarsia.partitioning import Partition, linear_order
from intarsia.runtime import build, plan_of, write_artifact
from intarsia.target import Target

pytestmark = [pytest.mark.e2e]

_RUN = """
import json, sys
before = set(sys.modules)
import intarsia
from intarsia.runtime import random_feeds
with intarsia.load(sys.argv[1]) as model:
    model(random_feeds(model.sample_inputs, 0))
print(json.dumps(sorted({name.split(".")[0] for name in set(sys.modules) - before} - set(sys.stdlib_module_names))))
"""


@pytest.mark.parametrize("engine", ["onnxruntime", "openvino", "mnn"])
def test_a_run_imports_only_what_the_page_names(tiny: Path, tmp_path: Path, engine: str) -> None:
    graph = load_model(tiny)
    artifact = tmp_path / "model.intarsia"
    whole = [Partition(target=Target(engine), nodes=linear_order(graph))]
    write_artifact(artifact, graph, build(graph, plan_of(graph, whole, RunSettings(threads=1))))
    ran = subprocess.run([sys.executable, "-c", _RUN, str(artifact)], check=True, capture_output=True, text=True)
    owners = metadata.packages_distributions()
    loaded = {owner for module in json.loads(ran.stdout) for owner in owners.get(module, ())}
    own = {"intarsia", engine, "openvino-telemetry", "MNN", "packaging", "flatbuffers"}
    named = {name.replace("_", "-").lower() for name in loaded}
    assert "numpy" in named
    assert named - set(RUN) <= {name.lower() for name in own}
