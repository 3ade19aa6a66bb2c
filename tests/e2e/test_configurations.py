"""What a configuration says is obeyed by real engines: order, nesting, devices, and what is missing here."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import intarsia
from intarsia import CompilationConfig, CompiledModel, Constraint, Target
from intarsia.backends.ethos_u import vela
from intarsia.devices import read_constraints
from intarsia.driver import Strategy, build, partition
from intarsia.errors import ConfigError, MissingStageError
from intarsia.graph import load_model, save_graph
from intarsia.graph.reference.reference import evaluate
from intarsia.partitioning import Partitioning, flattened, parse_plan
from intarsia.target import TAGS, register_tag
from tests.e2e.conftest import Run

pytestmark = [pytest.mark.e2e]

COMPOSITE = {"kind": "composite", "devices": ["mnn", "openvino"], "host": "llvm"}
BY_ORDER = [
    ("mnn", ("conv_1", "relu", "sign")),
    ("openvino", ("narrow", "trilu", "widen")),
    ("mnn", ("conv_2",)),
    ("onnxruntime", ("det",)),
    ("mnn", ("last",)),
]
"""Only OpenVINO has a Trilu of int16, and only ONNX Runtime a Det, so no engine runs all of it."""
ORT = "onnxruntime -optimization-level=all"
"""One setting, so that less is measured."""
NESTED = {"kind": "config", "targets": ["mnn", "openvino"]}
PLACED = {"targets": [NESTED, ORT], "devices": {"one": "cpu:0", "two": "cpu:1"}}
SHAPE = (1, 3, 8, 8)


@pytest.fixture(autouse=True)
def _tags_of_one_test() -> Iterator[None]:
    with TAGS.scope():
        yield


def made(nodes: Sequence[onnx.NodeProto], weights: Sequence[onnx.TensorProto]) -> onnx.ModelProto:
    """A model from x to y."""
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, s) for name, s in (("x", SHAPE), ("y", None)))
    graph = helper.make_graph(list(nodes), "test", [x], [y], list(weights))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


@pytest.fixture(scope="module")
def model(folder: Path) -> Path:
    """Convolutions, and between them operators that not every engine has."""
    rng = np.random.default_rng(0)
    shapes = {"w1": (4, 3, 3, 3), "w2": (4, 4, 3, 3), "w3": (4, 2)}
    weights = [numpy_helper.from_array(rng.standard_normal(s).astype(np.float32), n) for n, s in shapes.items()]
    nodes = [
        helper.make_node("Conv", ["x", "w1"], ["a"], "conv_1", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["a"], ["b"], "relu"),
        helper.make_node("Sign", ["b"], ["s"], "sign"),
        helper.make_node("Cast", ["s"], ["n"], "narrow", to=TensorProto.INT16),
        helper.make_node("Trilu", ["n"], ["t"], "trilu"),
        helper.make_node("Cast", ["t"], ["c"], "widen", to=TensorProto.FLOAT),
        helper.make_node("Conv", ["c", "w2"], ["d"], "conv_2", pads=[1, 1, 1, 1]),
        helper.make_node("Det", ["d"], ["e"], "det"),
        helper.make_node("MatMul", ["e", "w3"], ["y"], "last"),
    ]
    path = folder / "mixed.onnx"
    onnx.save(made(nodes, weights), path)
    return path


@pytest.fixture(scope="module")
def plain(folder: Path) -> Path:
    """What every engine takes."""
    weights = [numpy_helper.from_array(np.ones((3, 3, 1, 1), np.float32), "w")]
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"], "conv_1"),
        helper.make_node("Relu", ["a"], ["b"], "relu"),
        helper.make_node("Conv", ["b", "w"], ["y"], "conv_2"),
    ]
    path = folder / "plain.onnx"
    onnx.save(made(nodes, weights), path)
    return path


@pytest.fixture(scope="module")
def store(folder: Path) -> Path:
    return folder / "configurations.sqlite"


@pytest.fixture
def command(intarsia: Callable[..., Run]) -> Callable[..., Run]:
    """Runs ``intarsia``, whose name is the package's here."""
    return intarsia


def quantised() -> onnx.ModelProto:
    """A convolution on int8, from float input to float output."""
    rng = np.random.default_rng(0)
    arrays = {
        "scale": np.float32(0.1),
        "zero": np.int8(0),
        "w": rng.integers(-9, 9, (4, 3, 3, 3), dtype=np.int8),
    }
    weights = [numpy_helper.from_array(np.asarray(array), name) for name, array in arrays.items()]
    steps = [("QuantizeLinear", ["x"], "q", "enter"), ("DequantizeLinear", ["q"], "f", "dequantise")]
    steps += [("DequantizeLinear", ["w"], "wf", "weights")]
    nodes = [helper.make_node(op, [*reads, "scale", "zero"], [made], name) for op, reads, made, name in steps]
    nodes += [
        helper.make_node("Conv", ["f", "wf"], ["c"], "conv"),
        helper.make_node("QuantizeLinear", ["c", "scale", "zero"], ["r"], "quantise"),
        helper.make_node("DequantizeLinear", ["r", "scale", "zero"], ["y"], "leave"),
    ]
    return made(nodes, weights)


def shipped(model: Path, store: Path, target: Any, how: Strategy = "greedy", **settings: Any) -> CompiledModel:
    return intarsia.compile(model, target, partition=how, budget=0, store=store, threads=1, **settings)


def parts(found: Partitioning | CompiledModel) -> list[tuple[str, tuple[str, ...]]]:
    listed = found.partitions if isinstance(found, Partitioning) else found.plan.partitions
    return [(str(each.target), each.nodes) for each in listed]


def assert_right(compiled: CompiledModel, model: Path) -> None:
    feeds = {"x": np.random.default_rng(1).standard_normal(SHAPE).astype(np.float32)}
    wanted = evaluate(load_model(model), feeds)["y"]
    np.testing.assert_allclose(compiled(feeds)["y"], wanted, rtol=1e-3, atol=1e-3)


def test_a_composite_compiles_in_its_order(model: Path, store: Path) -> None:
    with shipped(model, store, COMPOSITE) as compiled:
        assert parts(compiled) == BY_ORDER
        assert_right(compiled, model)
        assert compiled.report["config"] == "mnn, openvino, llvm"


@pytest.mark.parametrize(
    "target",
    [
        {"kind": "composite", "devices": [{"kind": "composite", "devices": ["mnn"]}, "openvino"], "host": "llvm"},
        {"kind": "composite", "devices": ["mnn", {"kind": "composite", "devices": ["openvino", "llvm"]}]},
        "mnn, openvino, llvm",
    ],
)
def test_nested_composites_are_flattened_ones(model: Path, target: object) -> None:
    assert partition(model, target) == partition(model, COMPOSITE)
    assert parts(partition(model, target)) == BY_ORDER


def test_a_tag_that_names_a_composite(model: Path) -> None:
    register_tag("test/mixed", COMPOSITE)
    assert parts(partition(model, "test/mixed")) == BY_ORDER


@pytest.fixture(scope="module")
def placed(model: Path, folder: Path) -> Path:
    """The model with a constraint of its own, on its last node."""
    own = onnx.load(model)
    own.graph.node[-1].metadata_props.add(key="intarsia.device", value="one")
    path = folder / "placed.onnx"
    onnx.save(own, path)
    return path


def test_a_nested_configuration_divides_its_regions_by_its_own_order(model: Path) -> None:
    inside = {"kind": "config", "targets": ["openvino", "mnn"]}
    found = partition(model, {"targets": [inside, "onnxruntime"]})
    assert [part.target.kind.name for part in found.partitions] == ["nested", "onnxruntime", "nested"]
    assert parts(flattened(found)) == [
        ("openvino", ("conv_1", "relu", "sign", "narrow", "trilu", "widen", "conv_2")),
        ("onnxruntime", ("det",)),
        ("openvino", ("last",)),
    ]
    assert parts(flattened(partition(model, {"targets": [NESTED, "onnxruntime"]}))) == BY_ORDER


def test_nesting_devices_and_an_edit_hold_in_what_ships(placed: Path, store: Path, tmp_path: Path) -> None:
    (tmp_path / "devices.yaml").write_text("nodes: {conv_1: one}\n", encoding="utf-8")
    constraints = [*read_constraints(tmp_path / "devices.yaml"), Constraint.node("sign", "two")]
    draft = partition(placed, PLACED, constraints=constraints)
    split = [("mnn", ("conv_1",)), ("mnn", ("relu", "sign"))]
    assert parts(flattened(draft)) == [*split, *BY_ORDER[1:3], (ORT, ("det",)), BY_ORDER[4]]
    edited = draft.moved(["narrow", "trilu", "widen", "conv_2"], Target("openvino"))
    wanted = [*split, ("openvino", ("narrow", "trilu", "widen", "conv_2")), (ORT, ("det",)), ("mnn", ("last",))]
    settings: dict[str, Any] = {"budget": 0, "store": store, "threads": 1}
    with build(placed, edited, PLACED, constraints=constraints, **settings) as compiled:
        assert parts(flattened(Partitioning(partitions=compiled.plan.partitions))) == wanted
        assert_right(compiled, placed)
        report = compiled.report
        save_graph(compiled.artifact.graph(), tmp_path / "saved")
    assert [part["device"] for part in report["partitions"]] == ["one", "two", "one", "one", "one"]
    nested, whole = str(CompilationConfig.of(NESTED)), report["config"]
    assert [part["config"] for part in report["partitions"]] == [nested, nested, whole, whole, nested]
    assert [copy["value"] for copy in report["devices"]["copies"]] == ["a", "s"]
    saved = tmp_path / "saved" / "graph.onnx"
    assert partition(saved) == partition(saved, PLACED) == draft
    with pytest.raises(ConfigError, match=r"carries the configuration .*one=cpu:0.* the argument says 'openvino'"):
        partition(saved, "openvino")


def test_constraints_that_clash_are_both_named(placed: Path) -> None:
    with pytest.raises(ConfigError, match=r"(?s)node 'last' on 'one' .*node 'last' on 'two'"):
        partition(placed, PLACED, constraints=[Constraint.node("last", "two")])


def test_bare_metal_without_its_sources_is_planned_and_then_refused(
    command: Callable[..., Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("INTARSIA_CMSIS_NN", raising=False)
    onnx.save(quantised(), tmp_path / "q.onnx")
    config = tmp_path / "board.json"
    config.write_text('{"targets": ["ethos-u", "cmsis-nn", "c"], "executor": "aot", "runtime": "crt"}')
    run = command("compile", tmp_path / "q.onnx", "--target", config.read_text(), "-o", tmp_path / "q.intarsia")
    assert (run.code, run.out) == (3, "")
    assert "cmsis-nn takes part, and CMSIS-NN's sources are not here; get them from" in run.err
    assert vela.installed() or "ethos-u takes part, and ethos-u-vela is not installed; pip install" in run.err
    plan = parse_plan((tmp_path / "q.plan.yaml").read_text(encoding="utf-8"))
    assert [(str(each.target), each.nodes[-1]) for each in plan.partitions] == [
        ("c", "enter"),
        ("ethos-u", "quantise"),
        ("c", "leave"),
    ]
    assert not (tmp_path / "q.intarsia").exists()


def test_one_tag_of_a_users_file_for_the_whole_platform(
    command: Callable[..., Run], model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    tags = tmp_path / "intarsia" / "tags"
    tags.mkdir(parents=True)
    form = {"targets": [COMPOSITE], "runtime": "rpc"}
    rows = {"test/platform": {"form": form, "level": "config", "source": "this test"}}
    (tags / "test.json").write_text(json.dumps({"tags": rows}), encoding="utf-8")
    run = command("compile", model, "--target", "test/platform", "-o", tmp_path / "m.intarsia")
    assert run.code == 3, run.err
    assert "runtime 'rpc'" in run.err
    plan = parse_plan((tmp_path / "m.plan.yaml").read_text(encoding="utf-8"))
    assert [(str(each.target), each.nodes) for each in plan.partitions] == BY_ORDER


@pytest.mark.parametrize(
    ("driven", "missing"),
    [
        ({"executor": "graph -link-params=true"}, "link"),
        ({"runtime": "rpc"}, "runtime 'rpc' has no address"),
    ],
)
def test_what_no_stage_drives_is_planned_and_refused(model: Path, store: Path, driven: Any, missing: str) -> None:
    with pytest.raises(MissingStageError, match=missing) as caught:
        shipped(model, store, {"targets": ["mnn", "openvino", "onnxruntime"], **driven})
    assert caught.value.exit_code == 3
    assert [(str(each.target), each.nodes) for each in parse_plan(caught.value.plan).partitions] == BY_ORDER
    if driven == {"runtime": "rpc"}:  # inside another one, it is for processes of this machine
        return
    nested = {"targets": [{**NESTED, **driven}, "onnxruntime"]}
    with pytest.raises(MissingStageError, match=missing):
        shipped(model, store, nested)


def test_an_engine_that_writes_no_c_is_refused_for_aot(model: Path, store: Path) -> None:
    with pytest.raises(ConfigError, match=r"mnn writes no C code.*leave it out, or choose the executor graph"):
        shipped(model, store, {"targets": ["mnn", "openvino", "onnxruntime"], "executor": "aot"})


def test_graph_and_python_may_be_stated(model: Path) -> None:
    stated = {"targets": ["mnn", "openvino", "onnxruntime"], "executor": "graph", "runtime": "python"}
    assert parts(partition(model, stated)) == BY_ORDER


def test_an_accelerator_is_no_whole_machine_and_its_alias_is_a_list(plain: Path) -> None:
    with pytest.raises(ConfigError, match=r"'ethos-u' takes only part of a graph.*write 'ethos-u, llvm'"):
        partition(plain, "ethos-u")
    assert [target for target, _ in parts(partition(plain, "acl"))] == ["arm_acl"]


@pytest.mark.parametrize(
    ("config", "resolved", "devices"),
    [
        ({"targets": ["cuda"], "devices": {"gpu1": "cuda:0", "gpu2": "cuda:1"}}, {"relu": "gpu2"}, ["gpu1", "gpu2"]),
        ({"targets": ["cuda", "opencl:1", "llvm"]}, {"conv_1": "cuda", "conv_2": "opencl:1"}, ["cuda", "opencl:1"]),
    ],
)
def test_gpus_that_are_not_here(
    plain: Path, store: Path, config: Any, resolved: dict[str, str], devices: Sequence[str]
) -> None:
    constraints = [Constraint.node(node, device) for node, device in resolved.items()]
    with pytest.raises(MissingStageError) as caught:
        shipped(plain, store, config, constraints=constraints)
    plan = parse_plan(caught.value.plan)
    for node, label in resolved.items():
        assert plan.devices[node].startswith(label)
    assert {name.split(" ")[0].removesuffix(":0") for name in plan.devices.values()} >= set(devices)
    assert caught.value.exit_code == 3
