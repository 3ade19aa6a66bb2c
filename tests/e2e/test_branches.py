"""A network of two branches on two engines at one time: equal results, and the branches do overlap."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

import intarsia
import networks
from intarsia.graph import load_model
from intarsia.graph.reference.reference import evaluate
from intarsia.runtime.executors.branches import BranchExecutor
from networks.assembly import Assembly

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
TOLERANCE = 1e-3
CALLS = 50
"""Calls among which one must show both branches at work: a busy machine may keep a thread waiting for a while."""


def two_branches() -> onnx.ModelProto:
    """A stem, two stacks of convolutions on what it gives, and their sum."""
    net = Assembly("two_branches", 0)
    x = net.conv_relu("stem", "picture", (3, 64))
    ends = []
    for side in ("left", "right"):
        y = x
        for layer in range(3):
            y = net.conv_relu(f"{side}{layer}", y, (64, 64))
        ends.append(y)
    net.node("Add", "joined", *ends)
    return net.model(("picture", (1, 3, 64, 64)), ("joined", (1, 64, 64, 64)))


@pytest.fixture(scope="module")
def path(folder: Path) -> Path:
    file = folder / "two_branches.onnx"
    onnx.save(two_branches(), file)
    return file


def plan_text(path: Path, *, parallel: str) -> str:
    graph = load_model(path)
    sides: dict[str, list[str]] = {"stem": [], "left": [], "right": [], "joined": []}
    for node in graph.nodes:
        sides[next(side for side in sides if any(name.startswith(side) for name in node.outputs))].append(node.id)
    targets = {"stem": "onnxruntime", "left": "openvino", "right": "onnxruntime", "joined": "onnxruntime"}
    rows = [f"- target: {targets[side]}\n  nodes: {ids}" for side, ids in sides.items()]
    return "\n".join(["version: 1", "threads: 2", "spin: call", "embed: false", parallel, "partitions:", *rows])


def relative_error(actual: np.ndarray, expected: np.ndarray) -> float:
    return float(np.abs(actual - expected).max() / np.abs(expected).max())


def overlaps(executor: BranchExecutor) -> bool:
    (start, end), (other_start, other_end) = executor.spans[1], executor.spans[2]
    return max(start, other_start) < min(end, other_end)


def test_branches_run_at_one_time_and_give_the_same(path: Path, folder: Path) -> None:
    feeds = networks.feeds(path, seed=1)
    expected = evaluate(load_model(path), feeds)["joined"]
    results = {}
    for parallel in ("parallel: true", "parallel: false"):
        plan = folder / "branches.yaml"
        plan.write_text(plan_text(path, parallel=parallel), encoding="utf-8")
        with intarsia.compile(
            path, "onnxruntime, openvino", partition="manual", plan=plan, budget=30, store=folder / "branches.sqlite"
        ) as compiled:
            assert [len(part.nodes) > 0 for part in compiled.plan.partitions] == [True] * 4
            assert compiled.plan.settings.parallel == (parallel == "parallel: true")
            results[parallel] = compiled(feeds)["joined"]
            executor = compiled.load()
            assert isinstance(executor, BranchExecutor) == compiled.plan.settings.parallel
            if isinstance(executor, BranchExecutor):
                assert any(executor.run(feeds) and overlaps(executor) for _ in range(CALLS))
                assert "parallel: true" in compiled.artifact.plan_text()
    for value in results.values():
        assert relative_error(value, expected) <= TOLERANCE


@pytest.mark.large
def test_whether_branches_run_at_one_time_is_measured_if_nobody_says(path: Path, folder: Path) -> None:
    plan = folder / "open.yaml"
    plan.write_text(plan_text(path, parallel="").replace("embed: false\n\n", "embed: false\n"), encoding="utf-8")
    store = folder / "open.sqlite"
    settings, voids = [], []
    for _ in range(2):  # the second compile finds every figure in the store, and so comes to the same
        with intarsia.compile(
            path, "onnxruntime, openvino", partition="manual", plan=plan, budget=30, store=store
        ) as compiled:
            settings.append(compiled.plan.settings)
            assert sum(part["predicted_ms"] for part in compiled.report["partitions"]) > 0
            measured = compiled.report["search"]["measured"]
            voids.append(compiled.report["search"]["control_void"])
    assert settings[0] == settings[1]
    assert voids[0] or measured == 0  # what a void benchmark left open is measured again
