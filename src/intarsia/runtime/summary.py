"""How a compiled model shows itself: one line for a prompt, one table for a notebook."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import PurePath
from typing import Any

from intarsia.backends.contract import Signature
from intarsia.errors import ArtifactError
from intarsia.runtime.artifact.artifact import Artifact
from intarsia.wording import counted

_MOST_VALUES = 6
"""Inputs or outputs that are listed; a language model with its caches has a hundred."""
_STYLE = "border-collapse:collapse;text-align:left;vertical-align:top"
_CELL = "text-align:left;vertical-align:top;padding:2px 12px 2px 0;white-space:normal"


def as_text(artifact: Artifact) -> str:
    """``CompiledModel(net.onnx: 3 nodes on openvino; 2 threads; 1.2 ms; data float32[1,3] → y float32[1,9])``."""
    facts = _facts(artifact)
    values = " → ".join(", ".join(_listed(artifact, side)) for side in (artifact.plan.inputs, artifact.plan.outputs))
    parts = (counted(artifact.plan.settings.threads, "thread"), facts.get("latency", ""), values)
    return f"CompiledModel({facts['model']}: {'; '.join(filter(None, (facts['engines'], *parts)))})"


def as_html(artifact: Artifact) -> str:
    """A table that stands by itself: no script, no style sheet, nothing fetched."""
    cells = {what: escape(fact) for what, fact in _facts(artifact).items()}
    for side, values in (("inputs", artifact.plan.inputs), ("outputs", artifact.plan.outputs)):
        cells[side] = "<br>".join(map(escape, _listed(artifact, values)))
    body = "".join(
        f'<tr><th scope="row" style="{_CELL}">{what}</th><td style="{_CELL}">{cells[what]}</td></tr>'
        for what in ("engines", "threads", "latency", "gain", "error", "inputs", "outputs", "why")
        if what in cells
    )
    caption = f'<caption style="text-align:left"><b>CompiledModel</b> {cells["model"]}</caption>'
    return f'<table style="{_STYLE}">{caption}{body}</table>'


def _facts(artifact: Artifact) -> dict[str, str]:
    """What is known of it; less without a report."""
    try:
        report = artifact.report()
    except ArtifactError:
        report = {}
    return {
        "model": PurePath(report.get("model", "a model")).name,
        "engines": _engines(artifact),
        "threads": str(artifact.plan.settings.threads),
        **dict(_figures(report)),
    }


def _engines(artifact: Artifact) -> str:
    partitions = artifact.plan.leaves
    nodes = Counter(partition.target.kind.name for partition in partitions for _ in partition.nodes)
    nodes_of = ", ".join(f"{counted(count, 'node')} on {engine}" for engine, count in nodes.most_common())
    parts = f" in {counted(len(partitions), 'partition')}" if len(partitions) > 1 else ""
    sizes = f", for sizes of {artifact.buckets[-1]}" if artifact.buckets else ""
    return f"{nodes_of or 'no nodes'}{parts}{sizes}"


def _figures(report: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    latency, gain, error = (report.get(name) for name in ("latency_ms", "speedup_vs_best_single", "max_rel_error"))
    if latency:
        yield "latency", f"{latency['median']:.3g} ms"
    if gain and report.get("chosen") != report.get("best_single"):
        spread = f"{gain['low']:.2f} to {gain['high']:.2f}"
        yield "gain", f"{gain['median']:.2f} x the speed of {report['best_single']}, the best single engine ({spread})"
    if error is not None:
        yield "error", f"{error:.2g}, the largest relative to the reference"
    if "reason" in report:
        yield "why", str(report["reason"])


def _listed(artifact: Artifact, values: tuple[Signature, ...]) -> list[str]:
    dims = artifact.input_spec.dims if artifact.buckets else {}
    listed = []
    for value in values[:_MOST_VALUES]:
        shape = dims.get(value.name, value.shape)
        listed.append(f"{value.name} {value.dtype}[{','.join(map(str, shape)) if shape is not None else '?'}]")
    more = len(values) - len(listed)
    return [*listed, f"and {more} more"] if more > 0 else listed
