"""What a report says of single layers: what engines told of them while the search ran, and which kernels are ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from intarsia.cost.measure import Measurer
from intarsia.cost.timing.node_times import nodes_named
from intarsia.planning.request import Compilation
from intarsia.runtime import Artifact
from intarsia.runtime.artifact.trust import OWN
from intarsia.search.single.single_engine import Single


def told_times(job: Compilation, singles: Sequence[Single], measurer: Measurer) -> dict[str, Mapping[str, float]]:
    """Milliseconds of each node, by id, on the engines that ran the whole model and were asked what it took."""
    settings, found = job.problem.run(), {}
    for target in (single.tuned for single in singles if single.candidates):
        parts = job.problem.whole(target)
        ms = measurer.told_times(parts[0], settings) if len(parts) == 1 else {}
        found.update({str(target): ms} if ms else {})
    return found


def own_kernels(job: Compilation, artifact: Path) -> Mapping[str, str]:
    """By the id of a node the kernel of ours that computes it, as the steps of what ships say."""
    steps = Artifact(artifact, OWN).manifest.steps
    told = {name: kernel for step in steps for name, kernel in step.meta.get("kernels") or ()}
    return {node: told[name] for node, name in nodes_named(told, job.graph.nodes).items()}
