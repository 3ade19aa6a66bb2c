"""The models that the protocol's tests ask for: ``net``, two layers, and identities of datatypes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from intarsia.config import RunSettings, Spin
from intarsia.graph import load_model
from intarsia.graph.ranges import SizeRange
from intarsia.partitioning import Partition
from intarsia.runtime import Bucket, attach_report, build, plan_of, write_artifact, write_buckets
from intarsia.serving.tensors.datatypes import BF16, BY_DATATYPE
from intarsia.target import Target
from tests.artifacts import written
from tests.unit.graph.models import info, model, two_layers

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


def batched(path: Path, seed: int = 0, batch: int = 16) -> Callable[[np.ndarray], np.ndarray]:
    """Write two layers on the reference that take any rows of 32 numbers up to a batch; what they answer to some."""
    proto = two_layers(seed)
    for value in (*proto.graph.input, *proto.graph.output):
        value.type.tensor_type.shape.dim[0].dim_param = "N"
    graph = load_model(proto, {"N": f"1..{batch}"})
    part = Partition(target=Target("reference"), nodes=tuple(node.id for node in graph.nodes))
    plan = plan_of(graph, [part], RunSettings(threads=1, spin=Spin.NEVER, batch=batch))
    bucket = Bucket(ranges={"N": SizeRange(low=1, high=batch)}, sizes={"N": batch // 2}, plan=plan)
    write_buckets(path, graph, [(bucket, build(graph, plan))])
    attach_report(path, {})
    first, second = (numpy_helper.to_array(each) for each in proto.graph.initializer)
    return lambda x: np.maximum(np.maximum(x @ first, 0) @ second, 0)


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
