"""Compile a model for several machines: each alone, then divided where that is predicted to be faster, then the best.

Nothing is divided that was not shown to be faster than the best machine alone, in a paired benchmark from here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from intarsia.cost.timing.verdict import Verdict
from intarsia.cost.worker.deadline import Deadline
from intarsia.cost.worker.progress import TIME, Progress, Watcher
from intarsia.deploy.benchmark import Contender, paired, request_ms
from intarsia.deploy.candidates import Plan, StageCompiler, contender
from intarsia.deploy.choice import choose
from intarsia.deploy.cuts import Line, line_of
from intarsia.deploy.link_figures import LinkFigures
from intarsia.deploy.machines import Machine
from intarsia.deploy.node_costs import node_ms
from intarsia.deploy.splits import LinkCost, MachineCost, Split, Splits
from intarsia.errors import BackendError, IntarsiaError, MismatchError, RemoteError
from intarsia.runtime.executors.drawn_feeds import graph_feeds
from intarsia.runtime.verify import deviations

if TYPE_CHECKING:
    from intarsia.graph import Graph

_ALONE: Final = 0.5
"""Of the time, for compiling the whole model on each machine."""
_DIVIDED: Final = 0.75
"""Of the time, until when divisions are compiled; the rest is for the paired benchmark."""
_MOST_DIVISIONS: Final = 2
_LEAST_S: Final = 2.0
"""Seconds that a compile is given at least."""
_FINAL_S: Final = 8.0
"""Seconds that a paired benchmark takes at least."""
_WORTH: Final = 1.1
"""A division is tried that is predicted to take less than so many times what the best machine alone takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of it.

    Attributes:
        plan: What ships.
        reason: Why, in one sentence.
        alone: The whole model on each machine that runs it.
        failed: Machines and divisions that came to nothing, with the reason.
        links: What was measured of the way to each machine; ``None`` for this machine.
        predicted: The best divisions by prediction, the fastest first.
        line: The places where the model may be cut.
        verdict: The paired benchmark; ``None`` if there was only one plan.
        best_alone: The machine to beat.
    """

    plan: Plan
    reason: str
    alone: tuple[Plan, ...]
    failed: Mapping[str, str]
    links: Mapping[str, LinkFigures | None]
    predicted: tuple[Split, ...]
    line: Line = field(repr=False)
    verdict: Verdict | None
    best_alone: str


class Search:
    """Finds what ships."""

    def __init__(
        self,
        graph: Graph,
        machines: Mapping[str, Machine],
        compiler: StageCompiler,
        folder: Path,
        deadline: Deadline,
        watch: Watcher,
        *,
        streams: bool,
        seed: int,
    ) -> None:
        self._graph = graph
        self._machines = machines
        self._compiler = compiler
        self._folder = folder
        self._deadline = deadline
        self._watch = watch
        self._streams = streams
        self._seed = seed
        self._failed: dict[str, str] = {}
        self._contenders: dict[str, Contender] = {}
        self._least_s = _LEAST_S
        self._feeds = graph_feeds(graph, seed)

    def run(self) -> Outcome:
        """Measure, divide, and compare.

        Raises:
            BackendError: No machine runs the whole model; the plan of one at least is needed to compare with.
            RemoteError: A worker is away.
        """
        self._watch(Progress(stage="measure", note="the links"))
        links = {name: machine.link() for name, machine in self._machines.items()}
        alone = self._alone()
        answers, times = self._alone_times(alone)
        alone = [plan for plan in alone if plan.name in times]
        if not alone:
            raise BackendError("every machine", "; ".join(f"{name}: {why}" for name, why in self._failed.items()))
        best = min(alone, key=lambda plan: times[plan.name])
        line, predicted = self._predicted(alone, links, times)
        promising = [each for each in predicted if each.predicted_ms < _WORTH * times[best.name]][:_MOST_DIVISIONS]
        divided = self._divided(promising, line, answers[best.name])
        others = [plan for plan in alone if plan is not best]
        verdict = self._verdict([best, *divided, *others]) if divided or others else None
        self._failed |= {} if verdict is None else {name: why for name, (_, why) in verdict.failed.items()}
        plan, reason = choose(best, [*divided, *others], predicted, times[best.name], verdict)
        return Outcome(
            plan=plan,
            reason=reason,
            alone=tuple(alone),
            failed=self._failed,
            links=links,
            predicted=tuple(predicted),
            line=line,
            verdict=verdict,
            best_alone=best.name,
        )

    def _alone(self) -> list[Plan]:
        found = []
        budget_s = max(_LEAST_S, _ALONE * self._deadline.left / len(self._machines))
        for name in self._machines:
            start = self._deadline.spent
            with self._noted(name):
                found.append(self._compiler.whole(name, budget_s))
                self._least_s = max(self._least_s, min(budget_s, self._deadline.spent - start))
        return found

    @contextmanager
    def _noted(self, name: str) -> Iterator[None]:
        """Note why a plan comes to nothing; that a worker is away ends all of it."""
        try:
            yield
        except RemoteError:
            raise
        except IntarsiaError as error:
            self._failed[name] = str(error)

    def _contender(self, plan: Plan) -> Contender:
        """A plan that is to be timed; its artifact is written once."""
        if plan.name not in self._contenders:
            path = self._folder / f"plan-{len(self._contenders)}.intarsia"
            artifact = self._compiler.write(plan, path, {})
            self._contenders[plan.name] = contender(plan, artifact, self._machines)
        return self._contenders[plan.name]

    def _alone_times(self, alone: Sequence[Plan]) -> tuple[dict[str, dict[str, np.ndarray]], dict[str, float]]:
        """What each machine answers alone, and about how long a request takes, called from here."""
        answers, times = {}, {}
        for plan in alone:
            with self._noted(plan.name), closing(self._contender(plan).load()) as callee:
                answers[plan.name] = callee(self._feeds)
                callee(self._feeds)
                times[plan.name] = request_ms(callee, self._feeds, 5, streams=self._streams)
        return answers, times

    def _predicted(
        self, alone: Sequence[Plan], links: Mapping[str, LinkFigures | None], times: Mapping[str, float]
    ) -> tuple[Line, list[Split]]:
        """The most promising divisions. What a machine computes is what its own compile measured there."""
        costs = {}
        for plan in alone:
            (stage,) = plan.stages
            costs[plan.name] = node_ms(self._graph, stage.report, stage.ms or times[plan.name])
        weight = {id_: min(cost[id_] for cost in costs.values()) for id_ in next(iter(costs.values()))}
        line = line_of(self._graph, weight)
        machines = {name: MachineCost(node_ms=cost, link=_link_cost(links[name])) for name, cost in costs.items()}
        if len(machines) < 2:
            return line, []
        splits = Splits(line, machines)
        return line, splits.for_streams() if self._streams else splits.for_calls()

    def _divided(self, promising: Sequence[Split], line: Line, expected: Mapping[str, np.ndarray]) -> list[Plan]:
        """The divisions that compile, and answer as the best machine alone does."""
        found: list[Plan] = []
        for number, split in enumerate(promising):
            if number and self._deadline.is_over(_DIVIDED):
                break
            self._announce(len(split.runs))
            name = "divided" if number == 0 else f"divided-{number + 1}"
            left = _DIVIDED * self._deadline.seconds - self._deadline.spent
            budget_s = max(_LEAST_S * len(split.runs), left / (len(promising) - number))
            with self._noted(name):
                plan = self._compiler.divided(name, split, line, budget_s)
                self._check(plan, expected)
                found.append(plan)
        return found

    def _announce(self, stages: int) -> None:
        """Say how long it will be where compiling stages takes longer than there is time."""
        deadline = self._deadline
        end = deadline.spent + stages * self._least_s + _FINAL_S
        if end > deadline.seconds:
            because = f"a compile takes {self._least_s:.0f} s on one of the machines, and this division takes {stages}"
            deadline.announce(end, because)
            self._watch(Progress(stage=TIME, note=f"about {end:.0f} s in all: {because}"))

    def _check(self, plan: Plan, expected: Mapping[str, np.ndarray]) -> None:
        """Whether it answers as one machine does. Each stage was compared with the reference when it was compiled."""
        with closing(self._contender(plan).load()) as callee:
            actual = callee(self._feeds)
        wrong = [each for each in deviations(actual, expected) if not each.is_acceptable]
        allowed = max((stage.report.get("allowed_error") or 0.0 for stage in plan.stages), default=0.0)
        wrong = [each for each in wrong if each.error > 2 * len(plan.stages) * allowed]
        if wrong:
            raise MismatchError(f"the stages together answer otherwise than one machine: {wrong[0]}")

    def _verdict(self, plans: Sequence[Plan]) -> Verdict:
        contenders = [self._contender(plan) for plan in plans]
        return paired(contenders, self._feeds, self._deadline, self._watch, streams=self._streams, seed=self._seed)


def _link_cost(figures: LinkFigures | None) -> LinkCost:
    if figures is None:
        return LinkCost()
    return LinkCost(round_trip_ms=figures.round_trip_s * 1e3, ms_per_byte=1e3 / figures.bytes_per_s)
