"""The bodies of ``If``, ``Loop`` and ``Scan``, each compiled as a model of its own: by which plan it runs best here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from intarsia.config import CompilationConfig
from intarsia.cost.worker.deadline import Deadline
from intarsia.cost.worker.progress import Watcher, noted
from intarsia.driver.interruption import without_best
from intarsia.errors import BackendError, InputError, MismatchError, MissingStageError, ModelError
from intarsia.graph import Graph, Node
from intarsia.graph.bodies import Body, bodies_of, holds_bodies
from intarsia.partitioning import BodyPlan, bodies_text
from intarsia.planning.request import Request
from intarsia.runtime import CompiledModel, Plan

SHARE: Final = 0.6
"""Share of the time that the bodies of a model may take together, before the model itself is looked at."""
_ROWS: Final = ("chosen", "reason", "best_single", "speedup_vs_best_single", "latency_ms", "verified", "bodies")
"""What a report says of a body."""
_PARTITION_ROWS: Final = ("target", "nodes", "predicted_ms", "measured_ms", "share")

Compile = Callable[[Request, Watcher, Deadline], CompiledModel]


class BodySearch:
    """Finds the plans of a model's bodies, and keeps what is to be reported of each.

    Attributes:
        rows: A row for each body, or for each node whose bodies have no plan, with the reason.
        spent_s: Seconds that the search took.
    """

    def __init__(self, request: Request, compile: Compile, watch: Watcher, deadline: Deadline) -> None:
        self.rows: list[dict[str, Any]] = []
        self.spent_s = 0.0
        self._request = request
        self._compile = compile
        self._watch = watch
        self._deadline = deadline

    def plans(self, graph: Graph, config: CompilationConfig) -> Mapping[str, str]:
        """For each node whose bodies all have plans these, as `intarsia.partitioning.bodies_text` writes them."""
        nodes = [node for node in graph.nodes if holds_bodies(node)]
        before = self._deadline.spent
        found = {}
        for number, node in enumerate(nodes):
            try:
                rows = list(self._node(graph, node, config, len(nodes) - number))
            except (BackendError, InputError, MismatchError, MissingStageError) as error:
                # An engine that runs the node as it is may do what none does with a body alone.
                self.rows.append({"node": node.id, "op": node.op_type, "failure": str(error).splitlines()[0]})
                continue
            self.rows += [row for _, row in rows]
            found[node.id] = bodies_text([plan for plan, _ in rows])
        self.spent_s = self._deadline.spent - before
        return found

    def _node(
        self, graph: Graph, node: Node, config: CompilationConfig, left: int
    ) -> Iterator[tuple[BodyPlan, dict[str, Any]]]:
        bodies = bodies_of(graph, node)
        if any(each.dtype is None for body in bodies.values() for each in body.graph.values.values()):
            raise ModelError("the type of a value inside is unknown")
        for number, body in enumerate(bodies.values()):
            several = left * len(bodies) - number
            yield self._body(node, body, config, several)

    def _body(self, node: Node, body: Body, config: CompilationConfig, several: int) -> tuple[BodyPlan, dict[str, Any]]:
        stated = self._request.search
        left = self._deadline.left - (1 - SHARE) * self._deadline.seconds
        seconds = max(1.0, left / several)
        request = Request(
            model=body.model,
            target=config,
            search=replace(stated, budget_s=seconds, max_error=None, footprints=False),
            threads=self._request.threads,
            shapes=body.shapes,
            custom_ops=self._request.custom_ops,
            barred=self._request.barred,
        )
        watch = noted(self._watch, f"{body.name} of {node.id}")
        with without_best(), self._compile(request, watch, self._deadline.share(seconds, seconds)) as compiled:
            plan, report = compiled.artifact.plan, compiled.report
        if not report["verified"]:
            raise ModelError(f"{body.name}: {report['reason']}")
        return _plan_of(node, body, plan), {"node": node.id, "op": node.op_type, "body": body.name, **_row(report)}


def _plan_of(node: Node, body: Body, plan: Plan) -> BodyPlan:
    settings = plan.settings
    return BodyPlan(
        node=node.id, body=body.name, partitions=plan.partitions, embed=settings.embed, parallel=settings.parallel
    )


def _row(report: Mapping[str, Any]) -> dict[str, Any]:
    partitions = [{name: part[name] for name in _PARTITION_ROWS} for part in report["partitions"]]
    return {name: report[name] for name in _ROWS if name in report} | {"partitions": partitions}
