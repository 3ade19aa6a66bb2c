"""Networks built for other processors by the product, and run and verified under QEMU."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest

from intarsia import load
from networks import folded_resnet18, micro
from networks.probe import feeds
from networks.quantised.answers import exact_session
from tests.cli_fakes import invoke
from tests.unit.codegen.tools import AARCH64, ARMHF, RISCV64

pytestmark = [pytest.mark.e2e, pytest.mark.engine]
ARM64 = "c -mtriple=aarch64-linux-gnu -mcpu=cortex-a72"


AHEAD = ("--executor", "aot", "--runtime", "crt")


def check(model: onnx.ModelProto, target: str, folder: Path, *stated: str) -> None:
    """Compile by the command, verify by the command, and compare with ONNX Runtime."""
    path, artifact = folder / "model.onnx", folder / "model.intarsia"
    onnx.save(model, path)
    done = invoke("compile", str(path), "--target", target, *stated, "-o", str(artifact))
    assert done.exit_code == 0, done.output
    assert "which is an emulator: nothing is timed" in done.output
    assert ("written as a program for it" in " ".join(done.output.split())) is not bool(stated)
    done = invoke("verify", str(artifact), "--json")
    assert done.exit_code == 0, done.output
    answer = json.loads(done.output)
    assert answer["is_right"]
    assert answer["timing"] is None
    given = feeds(model, 3)
    (right,) = exact_session(model.SerializeToString()).run(None, given)
    with load(artifact) as loaded:
        (found,) = loaded(given).values()
    apart = np.abs(found - right).max() / np.abs(right).max()
    allowed = max(each["allowed"] for check in answer["checks"] for each in check["outputs"])
    assert apart <= allowed
    assert np.corrcoef(found.ravel(), right.ravel())[0, 1] > 0.99


@pytest.mark.parametrize(
    ("build", "target"),
    [
        pytest.param(folded_resnet18.in_float, ARM64, marks=AARCH64),
        pytest.param(folded_resnet18.in_integers, ARM64, marks=[AARCH64, pytest.mark.large]),
        pytest.param(folded_resnet18.in_float, "riscv/visionfive-2", marks=[RISCV64, pytest.mark.large]),
        pytest.param(folded_resnet18.in_integers, "riscv/visionfive-2", marks=[RISCV64, pytest.mark.large]),
    ],
)
def test_resnet18_of_small_pictures_agrees(
    build: Callable[[int], onnx.ModelProto], target: str, tmp_path: Path
) -> None:
    check(build(64), target, tmp_path, *AHEAD)


@pytest.mark.large
@pytest.mark.timeout(1800)  # emulated, each takes five minutes or more
@pytest.mark.parametrize(
    "target",
    [pytest.param("arm/rasp4b64", marks=AARCH64), pytest.param("riscv/visionfive-2", marks=RISCV64)],
)
@pytest.mark.parametrize("build", [folded_resnet18.in_float, folded_resnet18.in_integers])
def test_resnet18_agrees(build: Callable[[int], onnx.ModelProto], target: str, tmp_path: Path) -> None:
    check(build(224), target, tmp_path)


@pytest.mark.parametrize(
    "target",
    [
        pytest.param("arm/rasp4b64", marks=[AARCH64, pytest.mark.large]),
        pytest.param("arm/rasp4b", marks=[ARMHF, pytest.mark.large]),
        pytest.param("riscv/visionfive-2", marks=RISCV64),
    ],
)
def test_a_small_network_agrees_on_other_processors(target: str, tmp_path: Path) -> None:
    check(micro.build("cnn1d"), target, tmp_path, *AHEAD)


@pytest.mark.parametrize(
    "target",
    [
        pytest.param("nvidia/jetson-nano", marks=AARCH64),
        pytest.param("arm/rasp4b", marks=ARMHF),
        pytest.param("risc-v", marks=RISCV64),
    ],
)
def test_a_processor_that_is_not_here_gets_a_program_without_being_told_how(target: str, tmp_path: Path) -> None:
    check(micro.build("kws"), target, tmp_path)
