"""How a stream of requests is driven, if the configuration asks for the executor ``pipeline``.

The plans at hand run in lanes of a few threads each and in stages cut where measured times balance; what is not
faster than one request after another, each on all threads, is not taken.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, groupby, pairwise

from intarsia.config import CompilationConfig, Pipeline
from intarsia.cost.measure import Measurer
from intarsia.cost.records.record import Failure
from intarsia.cost.timing.statistics import median
from intarsia.cost.timing.timetable import NO_TIME
from intarsia.cost.worker.deadline import Deadline
from intarsia.cost.worker.progress import Progress, Watcher
from intarsia.devices import DevicePlan
from intarsia.graph.work import work
from intarsia.partitioning import Partition
from intarsia.planning.availability import is_cpu
from intarsia.planning.problem import Candidate, Problem
from intarsia.planning.request import Compilation
from intarsia.search.thresholds import STREAMS
from intarsia.wording import counted

_PIPELINE = "pipeline"
"""The executor that asks for streams."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamChoice:
    """What a stream runs.

    Attributes:
        candidate: The plan that ships for it; ``None`` leaves the choice to what a single call takes.
        reason: One sentence on how it is driven; nothing where nobody asked.
    """

    candidate: Candidate | None
    reason: str = ""


def stream_of(
    job: Compilation,
    measurer: Measurer,
    finalists: Sequence[Candidate],
    wanted: Candidate | None,
    deadline: Deadline,
    watch: Watcher,
) -> StreamChoice:
    """How a plan drives a stream: as the plan file says, else as is measured if the configuration asks for that."""
    if wanted is not None and job.run.pipeline is not None:
        return StreamChoice(candidate=_driven(wanted, job.run.pipeline))
    executor = job.engine_set.config.executor
    if executor.kind.name != _PIPELINE:
        return StreamChoice(candidate=wanted)
    pool = finalists if wanted is None else [wanted]
    processors = Processors.of(job.engine_set.config, job.devices)
    choice = choose_stream(job.problem, measurer, pool, executor["depth"], deadline, watch, processors)
    return choice if choice.candidate is not None else replace(choice, candidate=wanted)


def choose_stream(
    problem: Problem,
    measurer: Measurer,
    pool: Sequence[Candidate],
    depth: int | None,
    deadline: Deadline,
    watch: Watcher,
    processors: Processors | None = None,
) -> StreamChoice:
    """The fastest way to drive a stream, with one of these plans.

    Args:
        pool: Plans, the most promising first.
        depth: Requests in flight at one time, if the user states it.
        deadline: When to stop trying; each plan is tried as it is, and one pipeline, in any case.
        processors: Those of this machine that stages are bound to, where the configuration names several. Where a
            device plan says what runs on which, the fastest pipeline that does so is taken, whatever it gains.
    """
    rates = _Rates(measurer, watch)
    best = min(pool, key=rates.ms)
    fastest = None
    for option in _options(problem, measurer, sorted(pool, key=rates.ms), depth, processors):
        if fastest is not None and deadline.is_over():
            break
        fastest = option if fastest is None else min(fastest, option, key=rates.ms)
    works = fastest is not None and (rates.ms(fastest) < math.inf or rates.is_out_of_time)
    if works and processors is not None and processors.of_node is not None:
        reason = f"its stages are bound to {processors.text}, as devices are planned"
        return StreamChoice(candidate=fastest, reason=reason)
    if fastest is None:
        return StreamChoice(candidate=None, reason="there is one thread, so requests run one after another")
    if rates.is_out_of_time:
        return StreamChoice(candidate=None, reason="there was no time to try every way to drive a stream")
    gains = [rates.ms(best, trial) / rates.ms(fastest, trial) for trial in range(1, STREAMS.trials + 1)]
    if not min(gains) > 1.0:
        return StreamChoice(candidate=None, reason="no pipeline is faster than one request after another")
    times = f"{median(gains):.2f} times as many requests a second as one after another"
    return StreamChoice(candidate=fastest, reason=f"its pipeline answers {times} ({min(gains):.2f} at least)")


def balanced(costs: Sequence[float], count: int) -> tuple[int, ...]:
    """The sizes of ``count`` runs of these costs, none empty, whose greatest sum is least."""
    sums = (0.0, *accumulate(costs))
    # For each number of costs: the greatest sum of the runs made of them, and where the last run starts.
    rows: list[list[tuple[float, int]]] = [[(0.0, 0), *((math.inf, 0) for _ in costs)]]
    for runs in range(1, count + 1):
        row = [(math.inf, 0)] * (len(costs) + 1)
        for end in range(runs, len(costs) + 1):
            row[end] = min((max(rows[-1][start][0], sums[end] - sums[start]), start) for start in range(runs - 1, end))
        rows.append(row)
    ends = [len(costs)]
    for row in reversed(rows[1:]):
        ends.append(row[ends[-1]][1])
    return tuple(end - start for start, end in pairwise(reversed(ends)))


def pipelines(costs: Sequence[float], threads: int, depth: int | None = None) -> Iterator[Pipeline]:
    """Lanes, then stages, with one thread each; and two of them, with half of the threads each.

    Args:
        costs: Milliseconds of each step of the plan.
        depth: Requests in flight; enough for every stage to find the next one waiting if left out.
    """
    for count in dict.fromkeys((threads, 2) if threads > 1 else ()):
        yield Pipeline(stages=(len(costs),), threads=(threads // count,), lanes=count, depth=depth or 2 * count)
    for count in dict.fromkeys((threads, 2) if threads > 1 else ()):
        if count <= len(costs):
            shares = (threads // count,) * count
            yield Pipeline(stages=balanced(costs, count), threads=shares, depth=depth or 2 * count)


@dataclass(frozen=True, slots=True, kw_only=True)
class Processors:
    """The processors of this machine that a configuration names (`intarsia.target.processors`).

    Attributes:
        count: How many there are: one more than the highest index.
        of_node: The index for each node on a CPU, by id; ``None`` where no devices were planned.
    """

    count: int
    of_node: Mapping[str, int] | None = None

    @classmethod
    def of(cls, config: CompilationConfig, devices: DevicePlan | None) -> Processors | None:
        """Those that a configuration and a device plan name; ``None`` where they name one alone."""
        planned = (
            {} if devices is None else {id_: each.index or 0 for id_, each in devices.nodes.items() if is_cpu(each)}
        )
        named = (device.index or 0 for device in config.devices.values() if is_cpu(device))
        count = 1 + max((*planned.values(), *named), default=0)
        return cls(count=count, of_node=None if devices is None else planned) if count > 1 else None

    @property
    def text(self) -> str:
        """Their names, as configurations write them."""
        return ", ".join(f"cpu:{index}" for index in range(self.count))

    def index_of(self, partition: Partition) -> int:
        """Where a partition runs. One on another device is called from the first."""
        assert self.of_node is not None
        return self.of_node.get(partition.nodes[0], 0)


class _Rates:
    """Milliseconds that a request takes of a stream, each plan and trial measured once."""

    def __init__(self, measurer: Measurer, watch: Watcher) -> None:
        self._measurer = measurer
        self._watch = watch
        self._best = math.inf
        self.is_out_of_time = False

    def ms(self, candidate: Candidate, trial: int = 0) -> float:
        """Of this plan, driven as its settings say; infinite if it fails."""
        hopeless = STREAMS.hopeless * self._best if self._best < math.inf else None
        effort = replace(STREAMS.effort, hopeless_ms=hopeless)
        outcome = self._measurer.cost_of_stream(candidate.partitions, candidate.settings, effort, trial)
        self.is_out_of_time |= isinstance(outcome, Failure) and outcome.stage == NO_TIME
        found = outcome.cost_ms
        self._best = min(self._best, found)
        self._watch(Progress(stage="stream", best_ms=self._best, note=candidate.name))
        return found


def _options(
    problem: Problem,
    measurer: Measurer,
    pool: Sequence[Candidate],
    depth: int | None,
    processors: Processors | None = None,
) -> Iterator[Candidate]:
    """The plans with each pipeline, the simplest pipelines first; bound to processors where several are named."""
    plans = tuple(dict.fromkeys(replace(plan, settings=replace(plan.settings, embed=False)) for plan in pool))
    if processors is not None:
        yield from _bound(problem, measurer, plans, depth, processors)
        return
    later: list[Candidate] = []
    for candidate in plans:
        for pipeline in pipelines([ms or 0.0 for ms in candidate.predicted_ms], problem.threads, depth):
            driven = _driven(candidate, pipeline)
            if pipeline.lanes > 1:
                yield driven
            else:
                later.append(driven)
    yield from later
    whole = next((plan for plan in pool if len(plan.partitions) == 1), None)
    cut = None if whole is None or problem.threads < 2 else _cut(problem, measurer, whole, 2)
    if whole is not None and cut is not None:
        parts, costs = cut
        pipeline = Pipeline(stages=(1, 1), threads=(problem.threads // 2,) * 2, depth=depth or 4)
        yield replace(_driven(whole, pipeline), partitions=parts, predicted_ms=costs)


def _bound(
    problem: Problem, measurer: Measurer, plans: Sequence[Candidate], depth: int | None, processors: Processors
) -> Iterator[Candidate]:
    """The plans with a stage for each processor: as devices are planned, else cut where times balance."""
    count, share = processors.count, max(1, problem.threads // processors.count)
    for plan in plans:
        costs = [ms or 0.0 for ms in plan.predicted_ms]
        if processors.of_node is not None:
            runs = [(index, len(list(run))) for index, run in groupby(map(processors.index_of, plan.partitions))]
            indices, stages = tuple(index for index, _ in runs), tuple(length for _, length in runs)
        elif count <= len(costs):
            indices, stages = tuple(range(count)), balanced(costs, count)
        else:
            continue
        # Stages of one processor are at work at one time, and share its threads.
        threads = tuple(max(1, share // indices.count(index)) for index in indices)
        yield _driven(
            plan,
            Pipeline(stages=stages, threads=threads, depth=depth or 2 * len(stages), processors=indices),
        )
    whole = next((plan for plan in plans if len(plan.partitions) == 1), None)
    if processors.of_node is None and whole is not None and (cut := _cut(problem, measurer, whole, count)):
        parts, found = cut
        pipeline = Pipeline(
            stages=(1,) * count, threads=(share,) * count, depth=depth or 2 * count, processors=tuple(range(count))
        )
        yield replace(_driven(whole, pipeline), partitions=parts, predicted_ms=found)


def _driven(candidate: Candidate, pipeline: Pipeline) -> Candidate:
    each = counted(pipeline.lanes, "lane") if pipeline.lanes > 1 else counted(len(pipeline.stages), "stage")
    settings = replace(candidate.settings, embed=False, parallel=False, pipeline=pipeline)
    return replace(candidate, name=f"{candidate.name}, {each}", label=f"{candidate.label}, {each}", settings=settings)


def _cut(
    problem: Problem, measurer: Measurer, whole: Candidate, count: int
) -> tuple[tuple[Partition, ...], tuple[float, ...]] | None:
    """A plan of one partition as several on the same target, with their times, cut between segments.

    The first cut goes by work; each partition is measured on its share of the threads, and cut anew by that.
    """
    target = whole.partitions[0].target
    share = replace(problem.run(whole.settings.spin), threads=problem.threads // count)
    weights = [sum(work(problem.graph, problem.graph.node(id_)) for id_ in segment) for segment in problem.segments]
    if len(weights) < count:
        return None
    best: tuple[tuple[Partition, ...], tuple[float, ...]] | None = None
    for _ in range(STREAMS.refinements):
        sizes = balanced(weights, count)
        spans = list(pairwise(accumulate(sizes, initial=0)))
        parts = tuple(
            Partition(target=target, nodes=tuple(id_ for segment in problem.segments[start:end] for id_ in segment))
            for start, end in spans
        )
        costs = tuple(measurer.cost(part, share, effort=STREAMS.stage_effort).cost_ms for part in parts)
        if math.isinf(max(costs)):
            break
        if best is None or max(costs) < max(best[1]):
            best = parts, costs
        if max(costs) <= STREAMS.balanced * sum(costs) / count:
            break
        for (start, end), cost in zip(spans, costs, strict=True):
            total = sum(weights[start:end]) or 1.0
            weights[start:end] = [weight * cost / total for weight in weights[start:end]]
    return best
