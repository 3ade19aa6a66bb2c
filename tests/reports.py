"""Reports with the graphs that they are of, as small or as large as a test of the page wants them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any

from tests.cli_fakes import GRAPH, REPORT
from tests.fakes import fake_graph

if TYPE_CHECKING:
    from intarsia.graph import Graph

ENGINES = ("openvino", "onnxruntime", "ncnn")
EVIL = "</script><img src=x onerror=\"document.title='harmed'\">{{ 7 * 7 }}<!--"
"""What a model's author may call a node."""
BLOCK = ("Conv", "Relu", "Conv", "InstanceNormalization", "Sigmoid", "Mul", "Add", "Relu")
"""Operators of a residual block: the `Mul` and the `Add` read the block's input too."""


def small() -> tuple[dict[str, Any], Graph]:
    """The report of the command line's tests, and its graph of four nodes."""
    return dict(REPORT), GRAPH


def large(nodes: int, sizes: Sequence[int] = (40, 160, 90), prefix: str = "layer") -> tuple[dict[str, Any], Graph]:
    """Residual blocks one after the other, divided among three engines in partitions of these sizes, in turns."""
    rows = []
    before = entry = "x"
    for index in range(nodes):
        place = index % len(BLOCK)
        if place == 0:
            entry = before
        reads = [before, entry] if BLOCK[place] in ("Mul", "Add") else [before]
        before = f"{prefix}.{index // len(BLOCK)}/value_{index}"
        rows.append((f"{prefix}.{index // len(BLOCK)}/{BLOCK[place]}_{index}", BLOCK[place], reads, [before]))
    names = [row[0] for row in rows]
    partitions, start = [], 0
    for size, engine in zip(cycle(sizes), cycle(ENGINES), strict=False):
        if start >= nodes:
            break
        partitions.append(_partition(engine, names[start : start + size], is_first=start == 0))
        start += size
    report = REPORT | {"partitions": partitions, "transitions": len(partitions) - 1, "segments": []}
    return report, fake_graph(rows, shapes={name: (1, 64, 56, 56) for _, _, _, (name,) in rows})


def _partition(engine: str, nodes: list[str], *, is_first: bool) -> dict[str, Any]:
    ms = 0.02 * len(nodes)
    alternative = {"target": "mnn", "ms": 1.3 * ms, "is_measured": True, "plan_ms": 0.3 * ms}
    return {
        "target": engine,
        "nodes": nodes,
        "predicted_ms": 0.95 * ms,
        "measured_ms": ms,
        "share": None,
        "transition_ms": None if is_first else 0.05,
        "runners_up": [alternative],
        "not_chosen": [],
    }
