"""Two processors of one machine: a pipeline whose stages, with all threads of their engines, keep to their cores."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.conftest import ROOT, Run
from tests.unit.graph.models import two_layers

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(
        not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) < 2, reason="this takes two cores"
    ),
]

OBSERVED = """
import glob, json, re, sys
import numpy as np
import intarsia

model = intarsia.load(sys.argv[1])
rng = np.random.default_rng(0)
feeds = [{"x": rng.standard_normal((4, 32)).astype(np.float32)} for _ in range(9)]
wanted = [model(each) for each in feeds]
before = set(glob.glob("/proc/self/task/*"))
bound = set()
right = True
for number, answer in enumerate(model.stream(iter(feeds))):
    right &= all(np.array_equal(answer[name], wanted[number][name]) for name in answer)
    for path in set(glob.glob("/proc/self/task/*")) - before:
        try:
            bound.add(re.search("Cpus_allowed_list:\\\\t(.*)", open(path + "/status").read()).group(1))
        except OSError:
            continue
print(json.dumps([right, sorted(bound)]))
"""


def test_each_stage_of_a_pipeline_keeps_to_its_processor(intarsia: Callable[..., Run], tmp_path: Path) -> None:
    model, placed, artifact = tmp_path / "net.onnx", tmp_path / "devices.json", tmp_path / "net.intarsia"
    model.write_bytes(two_layers().SerializeToString())
    nodes = {"first": "llvm:0", "relu": "llvm:0", "MatMul_2": "llvm:1", "Relu_3": "llvm:1"}
    placed.write_text(json.dumps({"nodes": nodes}))
    machine = {"targets": ["llvm:0", "llvm:1"], "libraries": ["onnxruntime"], "executor": "pipeline"}
    line = ("compile", model, "--target", json.dumps(machine), "--constraints", placed, "--budget", 4, "-o", artifact)
    report = intarsia(*line, "--json").json()
    assert "its stages are bound to cpu:0, cpu:1, as devices are planned" in report["reason"]
    done = subprocess.run(
        [sys.executable, "-c", OBSERVED, str(artifact)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    right, bound = json.loads(done.stdout or f'["{done.stderr[-500:]}", []]')
    assert right is True
    assert len(bound) == 2
