"""Artifacts of several machines, made without measuring anything."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from intarsia.config import CompilationConfig, RunSettings, Spin
from intarsia.cost.worker.progress import unwatched
from intarsia.deploy.artifact import DeployedArtifact
from intarsia.deploy.candidates import Plan, Stage, StageCompiler
from intarsia.deploy.machines import Machine
from intarsia.driver import CompileSettings
from intarsia.graph import Graph, extract, load_model
from intarsia.partitioning import Partition, linear_order
from intarsia.runtime import attach_report, build, plan_of, write_artifact
from intarsia.target import Target
from tests.unit.graph.models import two_layers


def divided(folder: Path, engines: Sequence[str] = ("reference", "reference")) -> DeployedArtifact:
    """Two layers, the first on machine ``a``, the second on machine ``b``."""
    graph = load_model(two_layers())
    order = linear_order(graph)
    halves = {"a": order[: len(order) // 2], "b": order[len(order) // 2 :]}
    stages = []
    for (name, nodes), engine in zip(halves.items(), engines, strict=True):
        path = folder / f"{name}.intarsia"
        extract(graph, nodes).save(path.with_suffix(".onnx"))
        _write(path, load_model(path.with_suffix(".onnx")), engine)
        stages.append(Stage(machine=name, nodes=tuple(nodes), artifact=path, report={}))
    machines = {
        name: Machine(name=name, config=CompilationConfig.of(engine))
        for name, engine in zip(halves, engines, strict=True)
    }
    compiler = StageCompiler(graph, machines, CompileSettings(), folder, unwatched)
    return compiler.write(Plan(name="divided", stages=tuple(stages)), folder / "divided.intarsia", {})


def _write(path: Path, graph: Graph, engine: str) -> None:
    part = Partition(target=Target(engine), nodes=tuple(node.id for node in graph.nodes))
    write_artifact(path, graph, build(graph, plan_of(graph, [part], RunSettings(threads=1, spin=Spin.NEVER))))
    attach_report(path, {})
