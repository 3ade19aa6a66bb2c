"""What loading and running an artifact imports: numpy, the plan's engines, and of ours no stage that compiles.

Nor does Python compile methods of dataclasses anew at each start: those that every run makes are light.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from intarsia.backends import registry
from intarsia.config import RunSettings
from intarsia.graph import load_model
from intarsia.partitioning import Partition, linear_order
from intarsia.runtime import attach_report, build, plan_of, write_artifact
from intarsia.target import Target

pytestmark = [pytest.mark.e2e]

_RUN = """
import json, sys
import numpy
{engines}
before = set(sys.modules)
import intarsia
model = intarsia.load(sys.argv[1])
model({{value.name: numpy.ones(value.shape, value.dtype) for value in model.inputs}})
found = set(sys.modules) - before
ours = sorted(name for name in found if name.partition(".")[0] == "intarsia")
others = sorted({{name.partition(".")[0] for name in found}} - set(sys.stdlib_module_names) - {{"intarsia"}})
compiled = sorted(
    (name, word)
    for name in ours
    for word, value in vars(sys.modules[name]).items()
    if isinstance(value, type) and value.__module__ == name and hasattr(value, "__dataclass_fields__")
    and value.__init__.__code__.co_filename == "<string>"
)
print(json.dumps([ours, others, compiled, "pathlib" in found]))
model.close()
"""
_ENGINE = MappingProxyType(
    {
        "onnxruntime": "import onnxruntime",
        "openvino": "sys.modules['openvino_telemetry'] = None; import openvino",
        "winograd": "import onnxruntime",
        "c": "",
    }
)
OTHERS = frozenset({"xxhash"})
"""What is imported beside numpy and the engines: the digest of the file."""

EVERY = [
    "intarsia",
    "intarsia.backends",
    "intarsia.backends.contract",
    "intarsia.backends.contract.artifact",
    "intarsia.backends.contract.backend",
    "intarsia.backends.contract.buffers",
    "intarsia.backends.contract.device_memory",
    "intarsia.backends.contract.embedding",
    "intarsia.backends.contract.executable",
    "intarsia.backends.contract.forked",
    "intarsia.backends.contract.guard",
    "intarsia.backends.contract.metadata",
    "intarsia.backends.contract.native",
    "intarsia.backends.contract.node_facts",
    "intarsia.backends.contract.options",
    "intarsia.backends.contract.processor",
    "intarsia.backends.contract.shared_memory",
    "intarsia.backends.contract.slots",
    "intarsia.backends.contract.traits",
    "intarsia.backends.registry",
    "intarsia.config",
    "intarsia.config.emulated",
    "intarsia.config.settings",
    "intarsia.errors",
    "intarsia.extras",
    "intarsia.files",
    "intarsia.files.caches",
    "intarsia.forks",
    "intarsia.json_types",
    "intarsia.lazy",
    "intarsia.light_dataclass",
    "intarsia.registered",
    "intarsia.runtime",
    "intarsia.runtime.artifact",
    "intarsia.runtime.artifact.artifact",
    "intarsia.runtime.artifact.checks",
    "intarsia.runtime.artifact.container",
    "intarsia.runtime.artifact.known",
    "intarsia.runtime.artifact.machine",
    "intarsia.runtime.artifact.manifest",
    "intarsia.runtime.artifact.manifest_reading",
    "intarsia.runtime.artifact.trust",
    "intarsia.runtime.artifact.zip_table",
    "intarsia.runtime.dtypes",
    "intarsia.runtime.environment",
    "intarsia.runtime.executors",
    "intarsia.runtime.executors.arrays",
    "intarsia.runtime.executors.device_values",
    "intarsia.runtime.executors.executor",
    "intarsia.runtime.executors.feeds",
    "intarsia.runtime.executors.output_buffer",
    "intarsia.runtime.executors.parallel_levels",
    "intarsia.runtime.executors.pinning",
    "intarsia.runtime.executors.private_weights",
    "intarsia.runtime.executors.transfers",
    "intarsia.runtime.executors.turns",
    "intarsia.runtime.loading",
    "intarsia.runtime.model",
    "intarsia.runtime.nested_artifacts",
    "intarsia.runtime.plan",
    "intarsia.target",
    "intarsia.target.device_index",
    "intarsia.target.cores",
    "intarsia.target.kinds",
    "intarsia.target.kinds.engine_choices",
    "intarsia.target.stored",
    "intarsia.version",
    "intarsia.wording",
]
"""Of ours, whatever the engines are: of a target that is an engine and choices of words, the text is enough."""
OF_ANY_TARGET = [
    "intarsia.spec",
    "intarsia.spec.containers",
    "intarsia.spec.documents",
    "intarsia.spec.json_text",
    "intarsia.spec.similar_names",
    "intarsia.spec.problems",
    "intarsia.spec.reader",
    "intarsia.spec.schema",
    "intarsia.spec.tag_sources",
    "intarsia.spec.spec",
    "intarsia.spec.statements",
    "intarsia.spec.syntax",
    "intarsia.spec.tags",
    "intarsia.spec.types",
    "intarsia.target.aliases",
    "intarsia.target.facts",
    "intarsia.target.features",
    "intarsia.target.features.architectures",
    "intarsia.target.features.features",
    "intarsia.target.kinds.accelerators",
    "intarsia.target.kinds.catalogue",
    "intarsia.target.kinds.declare",
    "intarsia.target.kinds.devices",
    "intarsia.target.kinds.gpus",
    "intarsia.target.kinds.kind",
    "intarsia.target.kinds.memories",
    "intarsia.target.tags",
    "intarsia.target.target",
]
"""What reads any target. A program of C names a processor, which is a target that no table of words holds."""
OF_ONNXRUNTIME = [
    "intarsia.backends.native",
    "intarsia.backends.onnxruntime",
    "intarsia.backends.onnxruntime.backend",
    "intarsia.backends.onnxruntime.session",
    "intarsia.backends.onnxruntime.subbyte_types",
    "intarsia.backends.package_probe",
]
OF_OPENVINO = [
    "intarsia.backends.openvino",
    "intarsia.backends.openvino.backend",
    "intarsia.backends.openvino.executable",
    "intarsia.backends.openvino.model",
    "intarsia.backends.openvino.open_sizes",
    "intarsia.backends.openvino.rewrites",
    "intarsia.backends.package_probe",
]
OF_A_LIBRARY = [
    "intarsia.backends.contract.failures",
    "intarsia.backends.native",
    "intarsia.backends.native.library",
    "intarsia.backends.native.recipe",
    "intarsia.files.failures",
    "intarsia.files.leftovers",
    "intarsia.files.temporary",
    "intarsia.files.writing",
]
OF_WINOGRAD = [
    "intarsia.backends.native.bundled_library",
    "intarsia.backends.onnxruntime.offline_optimisation",
    "intarsia.backends.winograd",
]
OF_C = [
    "intarsia.backends.c",
    "intarsia.backends.c.backend",
    "intarsia.backends.c.executable",
    "intarsia.backends.c.machine",
    "intarsia.backends.contract.source",
    "intarsia.backends.lowering",
    "intarsia.backends.lowering.backend",
]
OF_PLAN: Mapping[tuple[str, ...], Sequence[str]] = MappingProxyType(
    {
        ("onnxruntime",): OF_ONNXRUNTIME,
        ("openvino",): OF_OPENVINO,
        ("winograd",): [*OF_ONNXRUNTIME, *OF_A_LIBRARY, *OF_WINOGRAD],
        ("c",): [*OF_A_LIBRARY, *OF_ANY_TARGET, *OF_C],
        ("openvino", "onnxruntime"): [*OF_OPENVINO, *OF_ONNXRUNTIME],
    }
)


@pytest.fixture(scope="module")
def tower(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two 3x3 convolutions of 32 channels, each with what follows it: something for every engine here."""
    rng = np.random.default_rng(0)
    weights = [
        numpy_helper.from_array(0.1 * rng.standard_normal((32, 32, 3, 3)).astype(np.float32), f"w{place}")
        for place in range(2)
    ]
    nodes = [
        helper.make_node("Conv", ["x", "w0"], ["a"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("Conv", ["b", "w1"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["y"]),
    ]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 32, 16, 16]) for name in ("x", "y")]
    graph = helper.make_graph(nodes, "tower", ends[:1], ends[1:], weights)
    path = tmp_path_factory.mktemp("tower") / "tower.onnx"
    path.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)]).SerializeToString())
    return path


@pytest.mark.parametrize("engines", OF_PLAN, ids="-".join)
def test_a_run_imports_exactly_these(tower: Path, tmp_path: Path, engines: tuple[str, ...]) -> None:
    for name in engines:
        registry.require(name)
    graph = load_model(tower)
    order = linear_order(graph)
    cuts = [len(order) * place // len(engines) for place in range(len(engines) + 1)]
    parts = [
        Partition(target=Target(name), nodes=tuple(order[low:high]))
        for name, low, high in zip(engines, cuts, cuts[1:], strict=False)
    ]
    artifact = tmp_path / "model.intarsia"
    write_artifact(artifact, graph, build(graph, plan_of(graph, parts, RunSettings(threads=1))))
    attach_report(artifact, {})  # which remembers the file, so that it is not loaded in another process first
    script = _RUN.format(engines="\n".join(_ENGINE[name] for name in engines))
    ran = subprocess.run([sys.executable, "-c", script, str(artifact)], check=True, capture_output=True, text=True)
    ours, others, compiled, has_pathlib = json.loads(ran.stdout)
    assert ours == sorted({*EVERY, *OF_PLAN[engines]})
    assert set(others) == OTHERS
    assert {name for name, _ in compiled} & set(EVERY) == set()
    if engines == ("onnxruntime",):  # other engines load it themselves
        assert not has_pathlib
