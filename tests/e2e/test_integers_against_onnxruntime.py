"""Quantised networks deeper than 15 layers: the engine `c` against ONNX Runtime computing in integers too.

At most one step off, and equal in 99.5 % of the elements. For int8 ONNX Runtime is told to stay in int8. By default it
takes values to uint8 where they have one reader, and computes the layers between int8 and uint8 in float32: in networks
whose weights are drawn that changes about every fifth output by one step. `docs/microcontrollers.md` has the numbers.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

from intarsia.backends.c.network import network, prepared_of
from intarsia.graph import load_model
from intarsia.graph.submodel import extract
from networks.probe import feeds
from networks.quantised.deep import drawn, quantised, resnet18
from tests.unit.backends.c.running import VECTORS, run_module

pytestmark = pytest.mark.skipif(
    shutil.which("gcc") is None, reason="there is no C compiler; apt-get install gcc libc6-dev"
)
FLAGS = ("-O2", "-ffp-contract=off")
FORMS = [(dtype, per_channel) for dtype in ("uint8", "int8") for per_channel in (False, True)]

ENTRIES = {"int8": "session.qdqisint8allowed", "uint8": "session.x64quantprecision"}
"""What keeps ONNX Runtime in int8, and what keeps its uint8 from saturating on processors without VNNI."""


@pytest.mark.parametrize(("dtype", "per_channel"), FORMS)
@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(each, marks=pytest.mark.large) for each in (2, 3))])
def test_drawn_networks(seed: int, dtype: str, per_channel: bool, tmp_path: Path) -> None:
    check(quantised(drawn(seed), dtype, per_channel=per_channel), dtype, tmp_path)


@pytest.mark.large
@pytest.mark.parametrize(("dtype", "per_channel"), FORMS)
def test_resnet18(dtype: str, per_channel: bool, tmp_path: Path) -> None:
    check(quantised(resnet18(), dtype, per_channel=per_channel), dtype, tmp_path)


def check(model: onnx.ModelProto, dtype: str, folder: Path) -> None:
    options = onnxruntime.SessionOptions()
    options.add_session_config_entry(ENTRIES[dtype], "1")
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    graph = load_model(model)
    module = network(*prepared_of(extract(graph, graph.position)), VECTORS)
    for seed in range(2):
        given = feeds(model, seed)
        (right,) = session.run(None, given)
        (found,) = run_module(module, given, folder, FLAGS).values()
        assert len(np.unique(right)) > min(10, right.size // 4)
        apart = np.abs(found.astype(np.int64) - right.astype(np.int64))
        assert apart.max() <= 1
        assert (apart == 0).mean() >= 0.995
