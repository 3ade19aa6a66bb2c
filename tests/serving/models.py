"""The models that the protocol's tests ask for: ``net``, two layers, and identities of datatypes."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from onnx import TensorProto, helper

from intarsia.config import RunSettings, Spin
from intarsia.graph import load_model
from intarsia.partitioning import Partition
from intarsia.runtime import attach_report, build, plan_of, write_artifact
from intarsia.serving.tensors.datatypes import BF16, BY_DATATYPE
from intarsia.target import Target
from tests.artifacts import written
from tests.unit.graph.models import info, model

FP16 = "FP16"
DATATYPES = tuple(datatype for datatype in BY_DATATYPE if datatype not in (FP16, BF16))
"""Those of ``types``. The two floats of 16 bits have models of their own: not every server takes them as JSON."""
_OTHERS = {
    "FP32": TensorProto.FLOAT,
    "FP64": TensorProto.DOUBLE,
    BF16: TensorProto.BFLOAT16,
    "BYTES": TensorProto.STRING,
}


def identities(datatypes: Iterable[str]) -> Any:
    """A model that gives back one tensor of each datatype: ``FP32`` as ``out_FP32``."""
    kinds = {each: _OTHERS.get(each) or getattr(TensorProto, each.replace("FP", "FLOAT")) for each in datatypes}
    nodes = [helper.make_node("Identity", [name], [f"out_{name}"]) for name in kinds]
    inputs = [info(name, (2, 2), kind) for name, kind in kinds.items()]
    return model(nodes, inputs, [info(f"out_{name}", (2, 2), kind) for name, kind in kinds.items()])


def on_reference(path: Path, proto: Any) -> Path:
    """An artifact of a model, whole on the reference."""
    graph = load_model(proto)
    part = Partition(target=Target("reference"), nodes=tuple(node.id for node in graph.nodes))
    write_artifact(path, graph, build(graph, plan_of(graph, [part], RunSettings(threads=1, spin=Spin.NEVER))))
    attach_report(path, {})
    return path


def protocol_models(folder: Path) -> Path:
    """The folder, with the artifacts that the protocol's tests ask for."""
    written(folder / "net.intarsia")
    on_reference(folder / "types.intarsia", identities(DATATYPES))
    for datatype in (FP16, BF16):
        on_reference(folder / f"{datatype.lower()}.intarsia", identities([datatype]))
    return folder


def protocol_files(folder: Path) -> list[str]:
    """Those artifacts, as a command takes them."""
    return [str(folder / f"{name}.intarsia") for name in ("net", "types", "fp16", "bf16")]
