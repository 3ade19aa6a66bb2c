"""The executor ``vm`` on real engines: a model with a loop and a branch, and one whose length varies by the call."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import intarsia
from intarsia import CompiledModel, driver
from intarsia.errors import ConfigError, FeedError, MismatchError, ModelError
from intarsia.evaluation.bucket_bounds import EndFault
from intarsia.graph import load_model
from intarsia.graph.reference.reference import evaluate
from intarsia.partitioning import PlanFile
from intarsia.runtime import Bucket
from intarsia.target import Target
from tests.e2e.conftest import ROOT, Run

pytestmark = [pytest.mark.e2e]

ORT = "onnxruntime -optimization-level=all"
"""One setting, so that less is measured."""
WIDTH = 32
HEADS = 2
IMAGE = [1, 3, 32, 32]
LONGEST = 512
CALLS = 1000
FLAT_BYTES = 32 << 20


class Drawn:
    """A model in the making: seeded weights, and nodes in order."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []
        self._rng = np.random.default_rng(0)

    def random(self, name: str, *shape: int) -> str:
        scale = np.sqrt(np.prod(shape[1:]) if len(shape) > 2 else shape[0])
        return self.constant(name, (self._rng.standard_normal(shape) / scale).astype(np.float32))

    def constant(self, name: str, content: np.ndarray | np.generic) -> str:
        self.weights.append(numpy_helper.from_array(np.asarray(content), name))
        return name

    def node(self, op: str, reads: list[str], name: str, **attributes: Any) -> str:
        """A node and its output, called alike."""
        self.nodes.append(helper.make_node(op, reads, [name], name, **attributes))
        return name

    def save(self, path: Path, inputs: Mapping[str, Sequence[int | str]], outputs: list[str]) -> Path:
        takes = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs.items()]
        gives = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
        graph = helper.make_graph(self.nodes, path.stem, takes, gives, self.weights)
        opsets = [helper.make_opsetid("", 21)]
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), path)
        return path


def step_body(tokens: int) -> onnx.GraphProto:
    """One step of a recurrent decoder that feeds its choice back; its weights are captured from around the loop."""
    info = helper.make_tensor_value_info
    shapes = {"h": (TensorProto.FLOAT, [1, WIDTH]), "t": (TensorProto.INT64, [1])}
    nodes = [
        helper.make_node("Gather", ["embedding", "t_in"], ["e"]),
        helper.make_node("MatMul", ["e", "w_x"], ["x"]),
        helper.make_node("MatMul", ["h_in", "w_h"], ["r"]),
        helper.make_node("Add", ["x", "r"], ["s"]),
        helper.make_node("Tanh", ["s"], ["h_out"]),
        helper.make_node("MatMul", ["h_out", "w_o"], ["scores"]),
        helper.make_node("ArgMax", ["scores"], ["t_out"], axis=1, keepdims=0),
        helper.make_node("Identity", ["go_in"], ["go_out"]),
    ]
    inputs = [info("i", TensorProto.INT64, []), info("go_in", TensorProto.BOOL, [])]
    outputs = [info("go_out", TensorProto.BOOL, [])]
    inputs += [info(f"{name}_in", *kind) for name, kind in shapes.items()]
    outputs += [info(f"{name}_out", *kind) for name, kind in shapes.items()]
    return helper.make_graph(nodes, "step", inputs, [*outputs, info("scores", TensorProto.FLOAT, [1, tokens])])


def branch(op: str) -> onnx.GraphProto:
    """What a side of the branch computes."""
    output = helper.make_tensor_value_info("chosen", TensorProto.FLOAT, None)
    return helper.make_graph([helper.make_node(op, ["all_scores"], ["chosen"])], op, [], [output])


@pytest.fixture(scope="module")
def captioner(folder: Path) -> Path:
    """A small CNN, a greedy decoder in a ``Loop``, and an ``If`` on its last token."""
    made, tokens = Drawn(), 24
    inner = made.node("Conv", ["image", made.random("c1", 16, 3, 3, 3)], "conv_1", strides=[2, 2], pads=[1] * 4)
    inner = made.node("Relu", [inner], "relu_1")
    inner = made.node("Conv", [inner, made.random("c2", WIDTH, 16, 3, 3)], "conv_2", strides=[2, 2], pads=[1] * 4)
    inner = made.node("GlobalAveragePool", [made.node("Relu", [inner], "relu_2")], "pool")
    state = made.node("Flatten", [inner], "state")
    made.random("embedding", tokens, WIDTH)
    for name in ("w_x", "w_h"):
        made.random(name, WIDTH, WIDTH)
    made.random("w_o", WIDTH, tokens)
    controls = [made.constant("steps", np.int64(12)), made.constant("go", np.bool_(True))]
    start = made.constant("start", np.zeros(1, np.int64))
    results = ["last_state", "last_token", "all_scores"]
    made.nodes.append(helper.make_node("Loop", [*controls, state, start], results, "decode", body=step_body(tokens)))
    flag = made.node("Less", ["last_token", made.constant("middle", np.int64(tokens // 2))], "is_low")
    sides = {"then_branch": branch("Softmax"), "else_branch": branch("Sigmoid")}
    made.node("If", [flag], "answer", **sides)
    made.node("Relu", ["last_state"], "after")
    return made.save(folder / "captioner.onnx", {"image": IMAGE}, ["answer", "after"])


@pytest.fixture(scope="module")
def encoder(folder: Path) -> Path:
    """Two layers of a transformer over a sequence of open length, in an open batch, with an image at each position."""
    made = Drawn()
    made.constant("split", np.array([0, 0, HEADS, WIDTH // HEADS], np.int64))
    made.constant("merge", np.array([0, 0, WIDTH], np.int64))
    made.constant("scale", np.float32((WIDTH // HEADS) ** -0.5))
    seen = made.node("Conv", ["image", made.random("c", WIDTH, 3, 3, 3)], "conv", strides=[2, 2], pads=[1] * 4)
    seen = made.node("Flatten", [made.node("GlobalAveragePool", [made.node("Relu", [seen], "relu")], "pool")], "flat")
    hidden = made.node("Add", ["x", seen], "joint")
    for layer in ("one", "two"):
        hidden = encoder_layer(made, layer, hidden)
    made.node("Tanh", [hidden], "y")
    return made.save(folder / "encoder.onnx", {"x": ["batch", "length", WIDTH], "image": IMAGE}, ["y"])


def encoder_layer(made: Drawn, layer: str, hidden: str) -> str:
    """Attention and a feed-forward part, each added to what it reads."""

    def node(op: str, reads: list[str], name: str, **attributes: Any) -> str:
        return made.node(op, reads, f"{layer}_{name}", **attributes)

    def linear(source: str, name: str, rows: int, columns: int) -> str:
        return node("MatMul", [source, made.random(f"{layer}_{name}_w", rows, columns)], name)

    def heads(name: str, order: list[int]) -> str:
        parted = node("Reshape", [linear(hidden, name, WIDTH, WIDTH), "split"], f"{name}_split")
        return node("Transpose", [parted], f"{name}_heads", perm=order)

    scores = node("MatMul", [heads("q", [0, 2, 1, 3]), heads("k", [0, 2, 3, 1])], "scores")
    weights = node("Softmax", [node("Mul", [scores, "scale"], "scaled")], "weights", axis=-1)
    mixed = node("MatMul", [weights, heads("v", [0, 2, 1, 3])], "mixed")
    joined = node("Reshape", [node("Transpose", [mixed], "turned", perm=[0, 2, 1, 3]), "merge"], "joined")
    attended = node("Add", [linear(joined, "out", WIDTH, WIDTH), hidden], "attended")
    wide = node("Relu", [linear(attended, "wide", WIDTH, 4 * WIDTH)], "relu")
    return node("Add", [linear(wide, "narrow", 4 * WIDTH, WIDTH), attended], "fed")


def test_a_loop_and_a_branch_are_mixed_with_other_engines(
    intarsia_: Callable[..., Run], captioner: Path, tmp_path: Path
) -> None:
    config, out = tmp_path / "vm.yaml", tmp_path / "captioner.intarsia"
    config.write_text(f"targets: [mnn, {ORT!r}]\nexecutor: vm\npartition: greedy\nbudget: 0\nthreads: 1\n")
    run = intarsia_("compile", captioner, "--config", config, "--store", tmp_path / "s.sqlite", "-o", out)
    assert run.code == 0, run.err
    feeds = {"image": np.random.default_rng(1).standard_normal(IMAGE).astype(np.float32)}
    direct = onnxruntime.InferenceSession(captioner, providers=["CPUExecutionProvider"]).run(None, feeds)
    reference = evaluate(load_model(captioner), feeds)
    with intarsia.load(out) as compiled:
        engine = {id_: part.target.kind.name for part in compiled.plan.partitions for id_ in part.nodes}
        assert {engine[id_] for id_ in ("conv_1", "conv_2", "state")} == {"mnn"}
        assert {engine[id_] for id_ in ("decode", "answer")} == {"onnxruntime"}
        results = compiled(feeds)
        assert "-executor=vm" in compiled.report["config"]
    assert results["answer"].shape == (12, 1, 24)
    for name, wanted in zip(("answer", "after"), direct, strict=True):
        np.testing.assert_allclose(results[name], wanted, rtol=1e-3, atol=1e-4)
        np.testing.assert_allclose(results[name], reference[name], rtol=1e-3, atol=1e-4)


def ends(encoder: Path, folder: Path, target: str, **settings: Any) -> Path:
    """The encoder for lengths in two buckets, at a batch of one, compiled without a search."""
    path = folder / f"{target.partition(' ')[0]}-{len(settings)}.intarsia"
    shapes: dict[str, Any] = {"batch": 1, "length": f"1..{LONGEST}/64"}
    chosen = {"partition": "greedy", **settings}
    with intarsia.compile(
        encoder, target, shapes=shapes, budget=0, store=folder / "vm.sqlite", threads=1, **chosen
    ) as compiled:
        compiled.save(path)
    return path


@pytest.fixture(scope="module")
def shipped(encoder: Path, folder: Path) -> Iterator[CompiledModel]:
    """All of it on OpenVINO, in two buckets of lengths."""
    with intarsia.load(ends(encoder, folder, "openvino")) as loaded:
        yield loaded


@pytest.fixture(scope="module")
def alone(encoder: Path, folder: Path) -> Iterator[CompiledModel]:
    """All of it on ONNX Runtime."""
    with intarsia.load(ends(encoder, folder, ORT)) as loaded:
        yield loaded


@pytest.fixture(scope="module")
def mixed(encoder: Path, folder: Path) -> Iterator[CompiledModel]:
    """The second layer on ONNX Runtime, so that values of open length go from one engine to the other."""
    shapes: dict[str, Any] = {"batch": 1, "length": f"1..{LONGEST}/64"}
    divided = driver.partition(encoder, f"openvino, {ORT}", shapes=shapes)
    nodes = [id_ for part in divided.partitions for id_ in part.nodes if id_.startswith("two") or id_ == "y"]
    plan = PlanFile(partitions=divided.moved(nodes, Target(ORT)).partitions)
    path = ends(encoder, folder, f"openvino, {ORT}", partition="manual", plan=plan)
    with intarsia.load(path) as loaded:
        yield loaded


def drawn(rng: np.random.Generator, length: int) -> dict[str, np.ndarray]:
    shapes = {"x": (1, length, WIDTH), "image": IMAGE}
    return {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}


@pytest.mark.parametrize(
    ("plan", "engines"),
    [("shipped", {"openvino"}), ("alone", {"onnxruntime"}), ("mixed", {"openvino", "onnxruntime"})],
)
def test_any_length_is_answered_at_its_true_size_in_flat_memory(
    plan: str, engines: set[str], encoder: Path, request: pytest.FixtureRequest
) -> None:
    model: CompiledModel = request.getfixturevalue(plan)
    assert [str(bucket) for bucket in model.buckets] == ["length=1..64", "length=65..512"]
    assert {part.target.kind.name for part in model.plan.partitions} == engines
    line = [sys.executable, "-m", "tests.e2e.any_lengths", model.artifact.path, encoder, LONGEST, CALLS]
    path = os.pathsep.join(map(str, (ROOT / "src", ROOT)))
    done = subprocess.run(
        list(map(str, line)), env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["compared"] > 20
    assert told["grew"] < FLAT_BYTES


def test_a_search_over_a_range_tries_openvino_and_answers_right_in_any_order(encoder: Path, folder: Path) -> None:
    """Which engine wins is for the machine to say: that OpenVINO was measured, and what ships is right, is not."""
    target = f"openvino, {ORT}"
    with intarsia.compile(
        encoder, target, shapes={"batch": "1..2", "length": "1..40/4"}, budget=30, store=folder / "vm.sqlite", threads=1
    ) as compiled:
        for bucket in compiled.report["buckets"]:
            timed = {single["target"]: single.get("latency_ms") for single in bucket["singles"]}
            assert timed["openvino"] is not None, timed
        session = onnxruntime.InferenceSession(encoder, providers=["CPUExecutionProvider"])
        rng = np.random.default_rng(3)
        for batch, length in ((1, 1), (1, 40), (2, 2), (1, 2), (2, 40), (2, 1), (1, 17), (1, 1)):
            feeds = {**drawn(rng, length), "x": rng.standard_normal((batch, length, WIDTH)).astype(np.float32)}
            np.testing.assert_allclose(compiled(feeds)["y"], session.run(None, feeds)[0], rtol=1e-3, atol=1e-4)


def test_a_bucket_whose_plan_fails_at_an_end_goes_to_the_other_engine(
    encoder: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def found(path: Path, graph: object, buckets: Sequence[Bucket], *rest: object) -> EndFault | None:
        for place, bucket in enumerate(buckets):
            if place == 1 and "openvino" in bucket.plan.engines:
                return EndFault(place=1, error=MismatchError("wrong"), reason="answers wrongly at length=512")
        return None

    monkeypatch.setattr("intarsia.driver.buckets.check_ends", found)
    settings: dict[str, Any] = {"partition": "greedy", "budget": 0, "store": folder / "vm.sqlite", "threads": 1}
    shapes: dict[str, Any] = {"batch": 1, "length": f"1..{LONGEST}/64"}
    with intarsia.compile(encoder, f"openvino, {ORT}", shapes=shapes, **settings) as compiled:
        assert [bucket.plan.engines for bucket in compiled.buckets] == [("openvino",), ("onnxruntime",)]
        told = compiled.report["buckets"][1]["absent"]
        assert told == [{"target": "openvino", "reason": "openvino answers wrongly at length=512"}]
    with pytest.raises(MismatchError, match="wrong"):
        intarsia.compile(encoder, "openvino", shapes=shapes, **settings)


@pytest.mark.parametrize(
    ("shape", "told"),
    [
        ((1, LONGEST + 1, WIDTH), r"x\[1,length,32\] was given the shape \[1,513,32\]: length may be 1\.\.512"),
        ((1, 0, WIDTH), r"length may be 1\.\.512"),
        ((1, 8, WIDTH + 1), r"was given the shape \[1,8,33\]"),
        ((2, 8, WIDTH), r"was given the shape \[2,8,32\]"),
        ((8, WIDTH), r"was given the shape \[8,32\]"),
    ],
)
def test_no_engine_sees_a_wrong_size(shipped: CompiledModel, shape: tuple[int, ...], told: str) -> None:
    with pytest.raises(FeedError, match=told):
        shipped({"x": np.zeros(shape, np.float32), "image": np.zeros(IMAGE, np.float32)})


def test_the_command_line_shows_the_buckets_and_refuses_a_wrong_size(
    intarsia_: Callable[..., Run], shipped: CompiledModel, tmp_path: Path
) -> None:
    shown = intarsia_("explain", shipped.artifact.path)
    assert shown.code == 0, shown.err
    assert "executor vm" in shown.out
    assert all(text in shown.out for text in ("length 1 to 64", "length 65 to 512", "length 288"))
    report = intarsia_("explain", shipped.artifact.path, "--json").json()
    assert [bucket["measured_at"] for bucket in report["buckets"]] == [{"length": 32}, {"length": 288}]
    np.save(tmp_path / "long.npy", np.zeros((1, 600, WIDTH), np.float32))
    run = intarsia_("run", shipped.artifact.path, "--random", "--input", f"x={tmp_path / 'long.npy'}")
    assert (run.code, "length may be 1..512" in run.err) == (2, True)
    assert intarsia_("run", shipped.artifact.path, "--random", "--profile").code == 0


def test_ranges_that_cannot_be_are_refused_before_anything_is_measured(encoder: Path, tmp_path: Path) -> None:
    store = tmp_path / "s.sqlite"
    with pytest.raises(ConfigError, match="needs the executor vm, and the configuration states 'graph'"):
        intarsia.compile(
            encoder, {"targets": [ORT], "executor": "graph"}, shapes={"batch": 1, "length": "1..9"}, store=store
        )
    with pytest.raises(ConfigError, match="'1-9' is no range of sizes"):
        intarsia.compile(encoder, ORT, shapes={"batch": 1, "length": "1-9"}, store=store)
    with pytest.raises(ModelError, match=r"'batch'.* has no size"):
        intarsia.compile(encoder, ORT, shapes={"length": "1..9"}, store=store)


@pytest.fixture
def intarsia_(intarsia: Callable[..., Run]) -> Callable[..., Run]:
    """The command line; its fixture has the package's name."""
    return intarsia
