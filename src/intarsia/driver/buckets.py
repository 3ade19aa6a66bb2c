"""A model with open dimensions: one search for each bucket of sizes, and one artifact of all."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from intarsia.cost.records.store import Store
from intarsia.cost.worker.deadline import Deadline
from intarsia.cost.worker.progress import TIME, Counting, Progress, Watcher, noted
from intarsia.cost.worker.workspace import Workspace
from intarsia.driver.interruption import without_best
from intarsia.driver.stages import run_stages
from intarsia.errors import BackendError, InputError, MismatchError, MissingStageError, NoCoverError
from intarsia.evaluation.batches import Batches, compare_batches
from intarsia.evaluation.bucket_bounds import EndFault, check_ends
from intarsia.graph import Graph
from intarsia.graph.ranges import Ranges
from intarsia.planning.request import Request
from intarsia.report.record import report_of_sizes
from intarsia.runtime import Artifact, Bucket, Build, CompiledModel, attach_report, write_buckets
from intarsia.runtime.artifact.trust import OWN
from intarsia.search.thresholds import SHARES

ENDS_SHARE: Final = 0.15
"""Share of the time that is kept for checking the ends of each bucket."""
BATCHES_SHARE: Final = 0.25
"""Share that is kept for comparing batches, where requests a second are asked for."""


def run_buckets(
    request: Request, buckets: Sequence[Ranges], records: Store, watch: Watcher, deadline: Deadline
) -> CompiledModel:
    """Search each bucket with its share of the time, and build one artifact of all plans.

    What a bucket leaves over is the others'. A plan that fails at an end of its bucket is searched for again without
    an engine of it. What it raises is what `intarsia.compile` does.
    """
    with ExitStack() as held, without_best():
        search = _Search(request, buckets, records, watch, deadline, held)
        search.every_bucket()
        while True:
            with ExitStack() as undo:
                work = Workspace(records)
                undo.callback(work.remove)
                path, parts = work.folder / "sizes.intarsia", search.parts
                graph, built = parts[-1][1].graph(), [(bucket, artifact.build()) for bucket, artifact in parts]
                write_buckets(path, graph, built)
                report = report_of_sizes([(bucket, artifact.report()) for bucket, artifact in parts])
                ends = [bucket for bucket, _ in parts]
                fault = check_ends(path, graph, ends, records, request.search.seed, Counting(watch, deadline))
                report["search"] |= {
                    "announced_s": deadline.seconds if deadline.because else None,
                    "announced_because": deadline.because or None,
                }
                try:
                    if fault is not None:
                        search.again(fault)
                        continue
                except MismatchError as error:
                    if request.search.insists:
                        raise
                    built = [_with(part, verified=False) for part in built]
                    write_buckets(path, graph, built)
                    unshown = f"this could not be shown to answer rightly, and ships unverified: {error}"
                    report |= {"verified": False, "reason": f"{unshown}; --strict refuses it"}
                if request.search.is_for_throughput:
                    batches = search.batches(path, graph)
                    if batches.batch > 1:
                        write_buckets(path, graph, [_with(part, batch=batches.batch) for part in built])
                    report |= {"batches": batches.export(), "reason": f"{report['reason']}; {batches.reason}"}
                attach_report(path, report)
                model = CompiledModel(Artifact(path, OWN), on_close=work.remove)
                undo.pop_all()
                return model


class _Search:
    """The searches of all buckets; ``parts`` holds the plan and the artifact of each, until ``held`` is closed."""

    def __init__(
        self,
        request: Request,
        buckets: Sequence[Ranges],
        records: Store,
        watch: Watcher,
        deadline: Deadline,
        held: ExitStack,
    ) -> None:
        self._kept = ENDS_SHARE + (BATCHES_SHARE if request.search.is_for_throughput else 0.0)
        settings = replace(request.search, budget_s=(1 - self._kept) * request.search.budget_s / len(buckets))
        stated = request.shapes or {}
        self.parts: list[tuple[Bucket, Artifact]] = []
        self._requests = [replace(request, search=settings, shapes={**stated, **ranges}) for ranges in buckets]
        self._retries: dict[int, Iterator[Request]] = {}
        self._buckets, self._records, self._watch = buckets, records, watch
        self._deadline, self._held, self._share_s = deadline, held, settings.budget_s

    def every_bucket(self) -> None:
        """Search each bucket, and say how long all will take if one takes longer than its share."""
        for place, request in enumerate(self._requests):
            left = len(self._requests) - place
            time = self._time_for(left)
            self.parts.append(self._part(request, self._buckets[place], time))
            self._announce(time, left - 1)

    def again(self, fault: EndFault) -> None:
        """Put another plan in place of one that failed at an end of its bucket.

        Raises:
            BackendError: There is none, and an engine failed there.
            MismatchError: There is none, and the plan answers wrongly there.
        """
        place, time = fault.place, self._time_for(1)
        engines = self.parts[place][0].plan.engines
        tries = self._retries.setdefault(place, _without_engines(self._requests[place], engines, fault.reason))
        for request in tries:
            try:
                self.parts[place] = self._part(request, self._buckets[place], time)
            except (BackendError, InputError, MissingStageError, NoCoverError):
                continue
            return
        raise fault.error

    def batches(self, path: Path, graph: Graph) -> Batches:
        """How many requests one call of the artifact should answer."""
        search = self._requests[-1].search
        return compare_batches(
            path,
            graph,
            self.parts[-1][0],
            self._records,
            seed=search.seed,
            seconds=SHARES.benchmark_set * search.budget_s,
            max_latency_ms=search.max_latency_ms,
            watch=Counting(self._watch, self._deadline),
            deadline=self._deadline,
        )

    def _time_for(self, several: int) -> Deadline:
        """The share of one of so many buckets in the time that is left."""
        kept = self._kept * self._deadline.seconds
        return self._deadline.share(max(0.0, (self._deadline.left - kept) / several), self._share_s)

    def _part(self, request: Request, ranges: Ranges, time: Deadline) -> tuple[Bucket, Artifact]:
        note = ", ".join(f"{name}={range_}" for name, range_ in ranges.items())
        compiled = self._held.enter_context(run_stages(request, self._records, noted(self._watch, note), time))
        sizes = {name: range_.middle for name, range_ in ranges.items()}
        return Bucket(ranges=ranges, sizes=sizes, plan=compiled.artifact.plan), compiled.artifact

    def _announce(self, last: Deadline, left: int) -> None:
        needed = (self._deadline.spent + left * last.spent) / (1 - self._kept)
        if not last.because or needed <= self._deadline.seconds:
            return
        total = math.ceil(needed)
        because = f"{last.because} at {f'one of {left + 1} ranges' if left else 'the last range'} of sizes"
        self._deadline.announce(total, because)
        self._watch(Progress(stage=TIME, note=f"about {total} s in all, because {because}"))


def _without_engines(request: Request, engines: Iterable[str], reason: str) -> Iterator[Request]:
    """The search without each engine of a plan that failed, then without all of them; none where a plan was stated."""
    names = tuple(dict.fromkeys(engines))
    if request.search.partition == "manual":
        return
    for barred in dict.fromkeys([*((name,) for name in names), names]):
        yield replace(request, barred={name: f"{name} {reason}" for name in barred})


def _with(part: tuple[Bucket, Build], **changed: Any) -> tuple[Bucket, Build]:
    """The same, with some of its run settings changed."""
    bucket, build = part
    plan = replace(build.plan, settings=replace(build.plan.settings, **changed))
    return replace(bucket, plan=plan), replace(build, plan=plan)
