"""A compile for an emulated board: its kernels are chosen by counting, and the report says so."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest

import intarsia
from intarsia.cost.records.store import Store
from intarsia.evaluation.instructions import are_emulated, count
from intarsia.runtime import Artifact
from intarsia.runtime.artifact.trust import OWN
from networks import micro
from tests.cli_fakes import invoke
from tests.unit.codegen.tools import AARCH64, BOARDS

pytestmark = [pytest.mark.e2e, BOARDS]


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "kws.onnx"
    onnx.save(micro.build("kws"), path)
    return path


def compiled(path: Path, store: Path, target: str, **more: object) -> intarsia.CompiledModel:
    config = {"targets": [target], "executor": "aot", "runtime": "crt"}
    return intarsia.compile(path, config, store=store, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("board", [pytest.param("mps2-an386", marks=pytest.mark.large), "mps3-an547"])
def test_kernels_are_chosen_by_counting(network: Path, board: str, tmp_path: Path) -> None:
    store = tmp_path / "records.sqlite"
    with compiled(network, store, f"arm/{board}") as model:
        counted = model.report["program"]["instructions"]
        assert counted["board"] == board
        assert counted["note"] == "instructions in QEMU, not cycles"
        assert counted["total"] > 100_000
        assert all(
            row["instructions"] <= other.get("instructions", np.inf)
            for row in counted["kernels"]
            for other in row["others"]
        )
        x = np.zeros(model.inputs[0].shape or (), np.float32)
        first = model({model.inputs[0].name: x})
    kept = {each.kind for each in Store(store).records().records}
    assert "instructions" in kept
    with compiled(network, store, f"arm/{board}") as again:
        assert again.report["program"]["instructions"]["programs_run"] == 1
        assert again.report["program"]["instructions"]["total"] == counted["total"]
        for name, array in again({again.inputs[0].name: x}).items():
            np.testing.assert_array_equal(array, first[name])


def test_a_model_that_is_too_large_is_refused_before_anything_runs(network: Path, tmp_path: Path) -> None:
    with pytest.raises(intarsia.errors.ConfigError, match=r"too large for the target: .* bytes are missing"):
        compiled(network, tmp_path / "records.sqlite", "c -mcpu=cortex-m4 -ram=sram:8192 -flash=1048576")


def test_a_host_counts_nothing(network: Path, tmp_path: Path) -> None:
    with compiled(network, tmp_path / "records.sqlite", "c") as model:
        assert model.report["program"]["instructions"] is None
        model.save(tmp_path / "here.intarsia")
    here = Artifact(tmp_path / "here.intarsia", OWN)
    assert not are_emulated([here])


@AARCH64
def test_programs_for_other_processors_are_compared_by_instructions(network: Path, tmp_path: Path) -> None:
    paths = []
    for target in ("arm/mps2-an386", "arm/rasp4b64"):
        with compiled(network, tmp_path / "records.sqlite", target) as model:
            paths.append(tmp_path / f"{target.rpartition('/')[2]}.intarsia")
            model.save(paths[-1])
    opened = [Artifact(path, OWN) for path in paths]
    assert are_emulated(opened)
    board, pi = count(opened, 0)
    assert (board["name"], board["place"]) == ("mps2-an386.intarsia", "QEMU's mps2-an386")
    assert pi["place"] == "qemu-aarch64"
    assert all(100_000 < each["instructions"] < 10_000_000 for each in (board, pi))
    found = invoke("bench", *map(str, paths), "--json")
    assert found.exit_code == 0, found.output
    answer = json.loads(found.output)
    assert [each["instructions"] for each in answer["plans"]] == [board["instructions"], pi["instructions"]]
