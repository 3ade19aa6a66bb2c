from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from onnx import TensorProto, helper

from intarsia.config import RunSettings, Spin
from intarsia.graph import load_model
from intarsia.partitioning import Partition
from intarsia.runtime import attach_report, build, plan_of, write_artifact
from intarsia.serving.tensors.datatypes import BY_DATATYPE
from intarsia.target import Target
from tests.artifacts import written
from tests.serving.process import Calls, Running, Web, serving
from tests.unit.graph.models import info, model

ONNX_TYPES = {
    "float16": TensorProto.FLOAT16,
    "float32": TensorProto.FLOAT,
    "float64": TensorProto.DOUBLE,
    "bfloat16": TensorProto.BFLOAT16,
    "bool": TensorProto.BOOL,
    "string": TensorProto.STRING,
    **{name.lower(): getattr(TensorProto, name) for name in ("INT8", "INT16", "INT32", "INT64")},
    **{name.lower(): getattr(TensorProto, name) for name in ("UINT8", "UINT16", "UINT32", "UINT64")},
}


def identities(path: Path) -> Path:
    """A model on the reference that gives back one tensor of each datatype: ``FP32`` as ``out_FP32``."""
    kinds = {datatype: ONNX_TYPES[dtype] for datatype, dtype in BY_DATATYPE.items()}
    nodes = [helper.make_node("Identity", [name], [f"out_{name}"]) for name in kinds]
    inputs = [info(name, (2, 2), kind) for name, kind in kinds.items()]
    outputs = [info(f"out_{name}", (2, 2), kind) for name, kind in kinds.items()]
    graph = load_model(model(nodes, inputs, outputs))
    part = Partition(target=Target("reference"), nodes=tuple(node.id for node in graph.nodes))
    write_artifact(path, graph, build(graph, plan_of(graph, [part], RunSettings(threads=1, spin=Spin.NEVER))))
    attach_report(path, {})
    return path


@pytest.fixture(scope="session")
def artifacts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ``net.intarsia``, two layers, and ``types.intarsia``, one tensor of each datatype."""
    folder = tmp_path_factory.mktemp("served")
    written(folder / "net.intarsia")
    identities(folder / "types.intarsia")
    return folder


@pytest.fixture(scope="session")
def running(artifacts: Path) -> Iterator[Running]:
    """One server for all tests that end no server; ``net`` may have no body above 2 MiB."""
    with serving(
        str(artifacts / "net.intarsia"), f"types={artifacts / 'types.intarsia'}", "--max-body", "2MiB"
    ) as found:
        yield found


@pytest.fixture
def web(running: Running) -> Iterator[Web]:
    with Web(running.http) as found:
        yield found


@pytest.fixture
def calls(running: Running) -> Iterator[Calls]:
    with Calls(running.grpc) as found:
        yield found
