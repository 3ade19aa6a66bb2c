"""The plans of a deployment that are compared: each machine alone, and the most promising divisions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from intarsia.cost.worker.progress import Watcher, noted
from intarsia.deploy.artifact import DeployedArtifact, write_deployed
from intarsia.deploy.benchmark import Contender
from intarsia.deploy.cuts import Line
from intarsia.deploy.machines import Machine
from intarsia.deploy.model import DeployedModel
from intarsia.deploy.splits import Split
from intarsia.deploy.stage_rows import Description, StageRow
from intarsia.driver.settings import CompileSettings
from intarsia.graph import extract
from intarsia.partitioning import boundaries
from intarsia.runtime.borders import signature

if TYPE_CHECKING:
    from intarsia.graph import Graph


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One stage, compiled.

    Attributes:
        machine: The name of its machine.
        nodes: Ids of the nodes that it runs.
        artifact: The file.
        report: What its compile reported.
    """

    machine: str
    nodes: tuple[str, ...]
    artifact: Path
    report: Mapping[str, Any] = field(repr=False)

    @property
    def ms(self) -> float | None:
        """Milliseconds that it takes there, by its own compile; ``None`` where there was no time to measure that."""
        latency = self.report["latency_ms"]
        return None if latency is None else float(latency["median"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Stages that answer for the whole model.

    Attributes:
        name: What it is called in the report.
        stages: In the order in which they run.
    """

    name: str
    stages: tuple[Stage, ...]


class StageCompiler:
    """Compiles runs of a model's nodes on the machines of a deployment, into files of one folder."""

    def __init__(
        self, graph: Graph, machines: Mapping[str, Machine], settings: CompileSettings, folder: Path, watch: Watcher
    ) -> None:
        self._graph = graph
        self._machines = machines
        self._settings = settings
        self._folder = folder
        self._watch = watch
        self._known: dict[tuple[str, tuple[str, ...]], Stage] = {}

    def stage(self, machine: str, nodes: Sequence[str], budget_s: float) -> Stage:
        """The stage of these nodes on a machine, within so many seconds; errors are those of `intarsia.compile`."""
        key = (machine, tuple(nodes))
        if key not in self._known:
            number = len(self._known)
            model = self._folder / f"stage-{number}.onnx"
            extract(self._graph, nodes).save(model)
            settings = replace(self._settings, budget=budget_s, shapes=None, objective="latency")
            watch = noted(self._watch, f"on {machine}")
            with self._machines[machine].compile(model, settings, watch) as compiled:
                path = compiled.save(self._folder / f"stage-{number}.intarsia")
                self._known[key] = Stage(
                    machine=machine, nodes=tuple(nodes), artifact=path, report=dict(compiled.report)
                )
            for file in self._folder.glob(f"{model.stem}.onnx*"):
                file.unlink()
        return self._known[key]

    def whole(self, machine: str, budget_s: float) -> Plan:
        """The whole model on one machine."""
        nodes = [node.id for node in self._graph.nodes]
        return Plan(name=machine, stages=(self.stage(machine, nodes, budget_s),))

    def divided(self, name: str, split: Split, line: Line, budget_s: float) -> Plan:
        """A division, its stages compiled; they share the seconds."""
        share = budget_s / len(split.runs)
        stages = tuple(self.stage(run.machine, line.run(run.start, run.end), share) for run in split.runs)
        return Plan(name=name, stages=stages)

    def write(self, plan: Plan, path: Path, report: Mapping[str, Any]) -> DeployedArtifact:
        """Write the artifact of a plan, and read it back."""
        graph = self._graph
        rows = []
        for number, stage in enumerate(plan.stages):
            border = boundaries(graph, stage.nodes)
            rows.append(
                StageRow(
                    machine=stage.machine,
                    file=f"stages/{number}.intarsia",
                    nodes=stage.nodes,
                    inputs=border.inputs,
                    outputs=border.outputs,
                )
            )
        description = Description.of(
            {name: machine.config.export() for name, machine in self._machines.items()},
            [signature(graph.values[name]) for name in graph.inputs],
            [signature(graph.values[name]) for name in graph.outputs],
            rows,
        )
        write_deployed(path, description, [stage.artifact for stage in plan.stages], report)
        return DeployedArtifact(path)


def contender(plan: Plan, artifact: DeployedArtifact, machines: Mapping[str, Machine]) -> Contender:
    """A plan that is to be timed."""
    return Contender(name=plan.name, load=lambda: DeployedModel(artifact, machines))
