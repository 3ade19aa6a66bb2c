"""Device plans as data."""

from __future__ import annotations

import json

from intarsia.config import CompilationConfig
from intarsia.devices import Constraint, dump_constraints, parse_constraints, plan_devices
from tests.fakes import fake_dag

CONFIG = CompilationConfig.of({"targets": ["cuda -arch=sm_80", "llvm"], "default_device": "cpu"})
GRAPH = fake_dag([[], [0]])


def test_a_plan_is_exported_with_its_reasons() -> None:
    plan = plan_devices(GRAPH, CONFIG, [Constraint.node("n0", "cuda")])
    gpu, cpu = "cuda:0 -target='cuda -arch=sm_80'", "cpu:0 -target=llvm"
    assert json.loads(json.dumps(plan.export())) == {
        "nodes": {
            "n0": {"device": gpu, "reason": "node 'n0' on 'cuda' (from Python)"},
            "n1": {"device": cpu, "reason": "no constraint reaches it, so it is on the default device"},
        },
        "inputs": {"x": gpu},
        "outputs": {"v1": cpu},
        "copies": [{"value": "v0", "source": gpu, "destination": cpu, "shares_memory": False}],
    }
    assert dict(plan.places) == {"n0": gpu, "n1": cpu}


def test_a_plan_written_to_a_file_is_the_plan_again() -> None:
    plan = plan_devices(GRAPH, CONFIG, [Constraint.node("n0", "cuda"), Constraint.outputs("cuda:1")])
    text = dump_constraints(plan.constraints)
    assert plan_devices(GRAPH, CONFIG, parse_constraints(text, "plan.yaml")) == plan
