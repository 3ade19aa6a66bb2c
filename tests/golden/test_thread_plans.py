"""How the machines of the design discussions divide a network, where no backend drives some of their engines.

Each transcript is the plan: which target runs which nodes, by priority. ``pytest tests/golden --regenerate`` writes
them anew; read the diff.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import onnx
import pytest
from click.testing import CliRunner
from onnx import helper

from intarsia.backends import registry
from intarsia.cli.main import cli
from intarsia.planning.request import Request, plan_compilation
from tests.golden.test_threads import ACL, BYOC, HETERO, MICRO, PLATFORM
from tests.unit.graph.models import info, model

PLANS = Path(__file__).parent / "thread_plans"
MACHINES: Mapping[str, object] = MappingProxyType(
    {
        "priority-list": "ethos-n77, acl, llvm mattr=+neon",
        "alias-acl": "acl",
        "composite-acl": ACL,
        "composite-hetero": HETERO,
        "compiler-beside-engine": "cuda -arch=sm_80 -compiler=tensorrt, cuda -arch=sm_80 -compiler=cutlass, "
        "cuda -arch=sm_80",
        "engine-and-base": "tensorrt, cuda -arch=sm_80",
        "byoc-myawesome-cuda": BYOC,
        "platform-tag": PLATFORM,
        "libraries-of-nvidia": "cudnn, cublas, cuda",
        "apple": "bnns, llvm",
        "adreno": "clml, opencl, llvm",
        "dpu": "vitis-ai, llvm",
        "marvell": "mrvl, llvm",
        "one-dnn": "dnnl, llvm",
    }
)


def network() -> onnx.ModelProto:
    """A quantised layer, a softmax, a layer and a classifier in float32."""
    rng = np.random.default_rng(0)
    weights = {
        "scale": np.array(0.1, np.float32),
        "zero": np.array(128, np.uint8),
        "w8": rng.integers(0, 255, (16, 16, 3, 3), np.uint8),
        "w": rng.standard_normal((32, 16, 3, 3)).astype(np.float32),
        "m": rng.standard_normal((32, 10)).astype(np.float32),
    }
    rows: list[tuple[str, str, str, str, dict[str, Any]]] = [
        ("enter", "QuantizeLinear", "x scale zero", "a", {}),
        ("data", "DequantizeLinear", "a scale zero", "b", {}),
        ("filter", "DequantizeLinear", "w8 scale zero", "f", {}),
        ("integers", "Conv", "b f", "c", {"pads": [1, 1, 1, 1], "kernel_shape": [3, 3]}),
        ("positive", "Relu", "c", "d", {}),
        ("again", "QuantizeLinear", "d scale zero", "e", {}),
        ("leave", "DequantizeLinear", "e scale zero", "g", {}),
        ("attention", "Softmax", "g", "h", {"axis": 1}),
        ("floats", "Conv", "h w", "i", {"kernel_shape": [3, 3]}),
        ("relu", "Relu", "i", "j", {}),
        ("pool", "GlobalAveragePool", "j", "k", {}),
        ("flatten", "Flatten", "k", "l", {}),
        ("classes", "MatMul", "l m", "n", {}),
        ("answer", "LogSoftmax", "n", "y", {}),
    ]
    nodes = [helper.make_node(op, reads.split(), [gives], id_, **extra) for id_, op, reads, gives, extra in rows]
    return model(nodes, [info("x", (1, 16, 8, 8))], [info("y", (1, 10))], weights)


@pytest.mark.parametrize("name", MACHINES)
def test_plan(name: str, pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "usable", lambda: ())  # a device stands for whatever generates code for it
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # target_host
        text = plan_compilation(Request(model=network(), target=MACHINES[name], threads=2)).plan_text
    path = PLANS / f"{name}.yaml"
    if pytestconfig.getoption("regenerate"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text


def test_no_plan_is_left_over() -> None:
    assert {path.stem for path in PLANS.iterdir()} == set(MACHINES)


@pytest.mark.parametrize(
    ("target", "needs"),
    [
        ("ethos-n77, acl, llvm mattr=+neon", ["an Ethos-N processor", "an Arm processor"]),
        ("acl", ["an Arm processor"]),
        ("tensorrt, cuda -arch=sm_80, llvm", ["an NVIDIA GPU"]),
        ("mrvl, llvm", ["a processor of Marvell's"]),
    ],
)
def test_what_cannot_be_had_here_is_named_and_the_plan_is_written(
    target: str, needs: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("model.onnx").write_bytes(network().SerializeToString())
    done = CliRunner().invoke(cli, ["compile", "model.onnx", "--target", target])
    assert done.exit_code == 3, done.output
    for need in needs:
        assert need in done.stderr
    assert "to compile for the rest, leave that out" in done.stderr
    assert Path("model.plan.yaml").exists()


def test_an_accelerator_that_takes_nothing_of_a_model_is_passed_over() -> None:
    relu = model([helper.make_node("Relu", ["x"], ["y"])], [info("x")], [info("y")])
    job = plan_compilation(Request(model=relu, target="ethos-n, reference, llvm"))
    assert job.missing == ()
    assert "one would need an Ethos-N processor" in job.absent["ethos-n"]


def test_the_microcontroller_needs_no_table() -> None:
    assert "ethos-u" in str(MICRO["targets"])
    assert "ethos-u" not in registry.unsupported_names()
