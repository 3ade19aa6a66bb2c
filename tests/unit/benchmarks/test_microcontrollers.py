"""The figures of microcontrollers: the floor of activations, the tables, what a .tflite can say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from benchmarks import tflite_arena
from benchmarks.microcontroller_tables import bytes_beside, instructions, memory
from benchmarks.microcontrollers import activation_floor
from intarsia.graph import load_model
from networks import micro


@pytest.mark.parametrize(("name", "floor"), [("ad", 768), ("kws", 16_000), ("ic", 49_152), ("vww", 55_296)])
def test_the_floor_is_the_one_that_is_published(name: str, floor: int, tmp_path: Path) -> None:
    onnx.save(micro.build(name), tmp_path / "model.onnx")
    assert activation_floor(load_model(tmp_path / "model.onnx")) == floor


def test_what_was_not_measured_is_an_empty_cell() -> None:
    counted = {"instructions": 50, "workspace_bytes": 1000, "code_bytes": 3, "weights_bytes": 4, "stack_bytes": 5}
    absent = {"absent": "not here"}
    board = {"own": counted, "cmsis": absent, "chosen": counted}
    entry = {
        "floor": 900,
        "microtvm": 2000,
        "tflite_micro": absent,
        "boards": {"mps2-an386": board, "mps3-an547": board | {"cmsis": counted | {"instructions": 100}}},
    }
    found = {"networks": {"ad": entry}}
    assert list(memory(found))[1] == ("anomaly detection", "**1,000**", "1,000", "", "900", "", "2,000")
    _, first, second = instructions(found)
    assert first == ("anomaly detection", "Cortex-M4", "", "50", "**50**", "", "")
    assert second[2:] == ("100", "50", "**50**", "0.50", "0.50")
    assert list(bytes_beside(found))[1][2:] == ("3", "4", "5")


def test_without_the_package_the_arena_is_absent(tmp_path: Path) -> None:
    onnx.save(micro.build("ad"), tmp_path / "model.onnx")
    graph = load_model(tmp_path / "model.onnx")
    feeds = {"spectrum": np.zeros((1, 640), np.float32)}
    assert "no Python" in tflite_arena.measure(graph, tmp_path, None, feeds)["absent"]
