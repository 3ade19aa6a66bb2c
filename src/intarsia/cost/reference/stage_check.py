"""Does an engine round rightly at each stage of a model? It is run once with what its quantisers make as outputs.

What each stage was given to round, the reference computes from the engine's own results before it
(`graph.reference.stages`): one compile, one run and one evaluation.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from intarsia.backends.contract.failures import Cause
from intarsia.cost.reference.evaluate import failure_of
from intarsia.cost.reference.reference_io import VALUES, recorded_names, recorded_tolerances, recorded_values
from intarsia.cost.worker.client import WorkerClient, ask_twice
from intarsia.cost.worker.protocol import Evaluated, Expose, Workload
from intarsia.errors import IntarsiaError
from intarsia.files import scratch
from intarsia.graph import Graph
from intarsia.graph.reference.contrib_ops import unknown_values
from intarsia.graph.reference.reference import evaluate
from intarsia.graph.reference.rounding import rounds_besides
from intarsia.graph.reference.stages import Judge, checked_values
from intarsia.runtime.verify import deviations


@dataclass(frozen=True, slots=True, kw_only=True)
class StageCheck:
    """What came of it.

    Attributes:
        stages: How many results of stages were checked.
        fault: The first stage that rounds wrongly, or the output that does not follow from the last ones.
        skipped: Why nothing was checked.
        cause: Whose doing it is that nothing was checked; ``None`` where something was.
    """

    stages: int
    fault: str | None = None
    skipped: str | None = None
    cause: Cause | None = None


def check_stages(worker: WorkerClient, graph: Graph, workload: Workload, folder: Path, patience_s: float) -> StageCheck:
    """Run a workload of the whole graph with its stages' results as outputs, and check each of them."""
    names = checked_values(graph)
    inputs = recorded_values(folder / VALUES, graph.inputs)
    if not names or not set(graph.outputs) <= recorded_names(folder / VALUES):
        return StageCheck(stages=0, skipped="the reference has no values to compare with", cause=Cause.NOT_ASKED)
    with scratch(folder) as place:
        asked = (*names, *unknown_values(graph))
        request = Expose(workload=workload, names=asked, folder=str(place))
        answer = ask_twice(worker, request, 2 * patience_s)
        if not isinstance(answer, Evaluated):
            failure = failure_of(answer, "expose")
            told = failure.reason.splitlines()[0] if failure.reason else "no reason given"
            skipped = f"it does not run with its stages exposed ({failure.stage}: {told})"
            return StageCheck(stages=0, skipped=skipped, cause=failure.cause)
        made = recorded_values(place, {*asked, *graph.outputs})
        judge = Judge(graph, {name: made[name] for name in names if name in made})
        given = {name: made[name] for name in unknown_values(graph) if name in made}
        try:
            right = evaluate(graph, inputs, given=given, around=judge)
        except IntarsiaError as error:
            skipped = f"the reference cannot follow its results: {error}"
            return StageCheck(stages=0, skipped=skipped, cause=Cause.ENGINE)
        if judge.faults:
            return StageCheck(stages=len(names), fault=str(judge.faults[0]))
        # Between the last stages and the outputs nothing else rounds, so a float there is held to its dtype.
        tolerances = recorded_tolerances(folder / VALUES) if rounds_besides(graph) else {}
        wrong = next((found for found in deviations(made, right, tolerances) if not found.is_acceptable), None)
        told_wrong = None if wrong is None else f"computed from its own last rounded values, {wrong}"
        return StageCheck(stages=len(names), fault=told_wrong)
