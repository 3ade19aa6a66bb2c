"""Networks that TVM or IREE compiled for other processors, in programs of C, run and verified under QEMU."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import onnx
import pytest

from intarsia import load
from intarsia.backends import registry
from intarsia.codegen import processes
from networks import folded_resnet18, micro
from networks.probe import feeds
from networks.quantised.answers import exact_session
from tests.cli_fakes import invoke
from tests.unit.codegen.tools import AARCH64, RISCV64

pytestmark = [pytest.mark.e2e, pytest.mark.engine]
MAKE = shutil.which("make")
ARM64, RISCV = "llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72", "risc-v"


def need(engine: str) -> None:
    found = registry.get(engine).probe()
    if not found.usable:
        pytest.skip(str(found.reason))


def check(model: onnx.ModelProto, target: str, folder: Path) -> list[str]:
    """Compile by the command, verify by the command, and compare with ONNX Runtime: the engines of the program."""
    path, artifact = folder / "model.onnx", folder / "model.intarsia"
    onnx.save(model, path)
    done = invoke("compile", str(path), "--target", target, "-o", str(artifact))
    assert done.exit_code == 0, done.output
    assert "which is an emulator: nothing is timed" in done.output
    done = invoke("verify", str(artifact), "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.output)["is_right"]
    given = feeds(model, 3)
    right = exact_session(model.SerializeToString()).run(None, given)
    with load(artifact) as loaded:
        for found, wanted in zip(loaded(given).values(), right, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-3 * np.abs(wanted).max())
    done = invoke("export", str(artifact), str(folder / "project"), "--with-test")
    assert done.exit_code == 0, done.output
    facts = json.loads((folder / "project" / "memory.json").read_text())
    return list(dict.fromkeys(call["engine"] for call in facts["calls"]))


@pytest.mark.parametrize(
    ("engine", "target"),
    [
        pytest.param("tvm", ARM64, marks=AARCH64),
        pytest.param("tvm", RISCV, marks=[RISCV64, pytest.mark.large]),
        pytest.param("iree", ARM64, marks=[AARCH64, pytest.mark.large]),
        pytest.param("iree", RISCV, marks=RISCV64),
    ],
)
def test_resnet18_of_small_pictures_agrees_on_other_processors(engine: str, target: str, tmp_path: Path) -> None:
    need(engine)
    assert check(folded_resnet18.in_float(64), f"{engine}, {target}", tmp_path) == [engine]


@pytest.mark.large
@pytest.mark.timeout(1800)  # emulated, each takes five minutes or more
@pytest.mark.parametrize("target", [pytest.param(ARM64, marks=AARCH64), pytest.param(RISCV, marks=RISCV64)])
@pytest.mark.parametrize("engine", ["tvm", "iree"])
def test_resnet18_agrees_on_other_processors(engine: str, target: str, tmp_path: Path) -> None:
    need(engine)
    assert check(folded_resnet18.in_float(224), f"{engine}, {target}", tmp_path) == [engine]


@pytest.mark.skipif(MAKE is None, reason="make is not installed")
@pytest.mark.parametrize(
    ("engine", "target"),
    [pytest.param("tvm", RISCV, marks=RISCV64), pytest.param("iree", ARM64, marks=AARCH64)],
)
def test_the_exported_project_tests_itself(engine: str, target: str, tmp_path: Path) -> None:
    need(engine)
    assert check(micro.build("cnn1d"), f"{engine}, {target}", tmp_path) == [engine]
    done = processes.run(
        [str(MAKE), "test", "CFLAGS=-O2 -Wall -Wextra -Wpedantic -Wconversion -Werror"],
        name="make",
        timeout_s=300,
        folder=tmp_path / "project",
    )
    assert done.returncode == 0, done.stderr
