"""Look a partition up in the store, or measure it in a worker and record it. Equal partitions are measured once."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from intarsia.backends import registry
from intarsia.backends.contract.failures import Cause
from intarsia.config.settings import RunSettings
from intarsia.cost.keys import measurement_key, nodes_key, stages_key
from intarsia.cost.records.recall import Entry, computed, recalled
from intarsia.cost.records.record import Failure, Key, Measurement, Outcome
from intarsia.cost.records.store import Store
from intarsia.cost.reference.evaluate import Answers, answers, failure_of
from intarsia.cost.reference.stage_check import StageCheck, check_stages
from intarsia.cost.thresholds import DURATIONS, PAIRED, PATIENCE
from intarsia.cost.timing.sampling import Effort
from intarsia.cost.timing.timetable import Timetable
from intarsia.cost.worker import protocol
from intarsia.cost.worker.client import ask_twice
from intarsia.cost.worker.deadline import NO_END, Deadline
from intarsia.cost.worker.lock import machine_lock
from intarsia.cost.worker.pool import WorkerPool
from intarsia.cost.worker.progress import Progress, Watcher, unwatched
from intarsia.cost.worker.repro import Origin, write_repro
from intarsia.graph import Graph, extract
from intarsia.graph.fingerprint import fingerprint_of
from intarsia.partitioning import Partition
from intarsia.runtime.artifact.machine import this_machine

log = logging.getLogger(__name__)
INTERRUPTED = "interrupted"
"""Stage of a `Failure` of what was not measured when a compile was interrupted; it is not recorded."""


InnerChoice = Callable[["Measurer", Partition, RunSettings], Partition]
"""Decides how nested configurations run a partition; others it gives back as they are."""


@dataclass(frozen=True, slots=True)
class _Question:
    """What is to be timed: see `Measure`."""

    partitions: Sequence[Partition]
    timed: protocol.Timed
    settings: RunSettings
    effort: Effort
    place: int | None = None


class _CutOffError(Exception):
    """The time of the compile ended before an answer came: nothing is known."""

    def __init__(self, refusal: Failure) -> None:
        super().__init__(refusal.reason)
        self.refusal = refusal


class Measurer(AbstractContextManager["Measurer"]):
    """Costs of partitions of one graph on this machine.

    Attributes:
        measured: Partitions measured so far.
        cached: Partitions found in the store.
        left_out: Failures that are not kept, as no engine is to blame, by the targets that ran: the first of each.
        time: Whether there is time for more.

    Args:
        inner: Decides what is inside of partitions on nested configurations, whenever one is to be measured.
    """

    def __init__(
        self,
        graph: Graph,
        folder: Path,
        store: Store,
        engines: Iterable[str],
        origin: Origin,
        watch: Watcher = unwatched,
        deadline: Deadline = NO_END,
        inner: InnerChoice | None = None,
    ) -> None:
        self.graph = graph
        self.folder = folder
        self.store = store
        self.measured = 0
        self.cached = 0
        self.left_out: dict[str, Failure] = {}
        self._origin = origin
        self._watch = watch
        self._inner = inner
        self._is_stopped = False
        self._workers = WorkerPool(folder, engines)
        self._known: dict[str, Outcome] = {}
        self.timeout_s = PATIENCE.partition_s + PATIENCE.partition_s_per_gigabyte * graph.weight_bytes / 1e9
        facts = {"graph": fingerprint_of(graph), "machine": this_machine().fingerprint}
        self.time = Timetable(deadline, store, facts, watch, graph.weight_bytes)

    def filled(self, partitions: Iterable[Partition], settings: RunSettings) -> tuple[Partition, ...]:
        """The partitions, with their inside where a nested configuration runs them: found by measuring, then known."""
        inner = self._inner
        return tuple(partitions) if inner is None else tuple(inner(self, each, settings) for each in partitions)

    def start(self, several: Iterable[RunSettings]) -> None:
        """Start the processes that measure with these settings, beside other work."""
        for settings in several:
            self._workers[settings].start()

    def wait_for_start(self) -> None:
        """Wait until all processes that were started can be asked, and learn how long such a process takes."""
        for worker in self._workers:
            answer = worker.ask(protocol.Wait(), self.timeout_s)
            if isinstance(answer, protocol.Waited) and answer.started_s:
                self.time.process_s = answer.started_s

    def turn(self) -> AbstractContextManager[None]:
        """Hold the machine for work that is not timed, if anything was measured; else nothing is waited for."""
        return self.machine() if self.measured else nullcontext()

    def machine(self) -> AbstractContextManager[None]:
        """Hold the machine while something is timed; that it has to be waited for does not count."""
        return machine_lock(self._watch, self.time.deadline)

    def cost(
        self,
        partition: Partition,
        settings: RunSettings,
        after: Partition | None = None,
        effort: Effort | None = None,
    ) -> Outcome:
        """What a partition alone costs, run right behind ``after`` if that is stated; from the store if it is there."""
        partitions = (partition,) if after is None else (after, partition)
        return self._cost(_Question(partitions, "last", settings, effort or Effort()))

    def cost_of_plan(self, partitions: Sequence[Partition], settings: RunSettings, effort: Effort) -> Outcome:
        """What a whole plan costs, as `cost` does for a partition."""
        return self._cost(_Question(partitions, "all", settings, effort))

    def cost_of_embedded(
        self, partitions: Sequence[Partition], place: int | None, settings: RunSettings, effort: Effort
    ) -> Outcome:
        """What one embedded partition costs, or what embeds them without a place; the others answer as recorded."""
        return self._cost(_Question(partitions, "main" if place is None else "partition", settings, effort, place))

    def cost_of_stream(
        self, partitions: Sequence[Partition], settings: RunSettings, effort: Effort, trial: int = 0
    ) -> Outcome:
        """What a request takes of a stream: the time between one result and the next. Each trial is measured anew."""
        return self._cost(_Question(partitions, "stream", settings, effort, trial))

    def cost_under_load(self, partitions: Sequence[Partition], settings: RunSettings, effort: Effort) -> Outcome:
        """Milliseconds from one answer to the next while all instances of a plan are at work."""
        return self._cost(_Question(partitions, "load", settings, effort))

    def knows(
        self, partitions: Sequence[Partition], settings: RunSettings, timed: protocol.Timed | None = None
    ) -> bool:
        """Whether what these partitions cost is in the store, one by itself or several as a plan if nothing is said."""
        if any(each.target.kind.name == registry.NESTED and each.inside is None for each in partitions):
            return False  # what is inside is not looked for only to know that
        usual: protocol.Timed = "last" if len(partitions) == 1 else "all"
        key = measurement_key(self.graph, partitions, timed or usual, settings)
        return self.store.get(key, "partition") is not None

    def node_times(self, partition: Partition, settings: RunSettings) -> Mapping[str, float]:
        """Milliseconds of each node by its id, as the partition's engine reports them; empty if it reports none."""
        return self._node_times(partition, settings, is_measured=True)

    def told_times(self, partition: Partition, settings: RunSettings) -> Mapping[str, float]:
        """As `node_times`, of what the store knows; empty if nobody has asked the engine yet."""
        return self._node_times(partition, settings, is_measured=False)

    def _node_times(self, partition: Partition, settings: RunSettings, *, is_measured: bool) -> Mapping[str, float]:
        if partition.target.kind.name == registry.NESTED:
            return {}
        nodes = extract(self.graph, partition.nodes).nodes
        key = nodes_key(self.graph, partition, nodes, settings)
        entry: Entry[Mapping[str, Any]] = Entry(kind="nodes", key=key, read=dict, write=dict)
        found = recalled(self, entry)
        may_ask = is_measured and found is None
        if may_ask and self._has_time(key, _Question((partition,), "last", settings, Effort())):
            ids = [node.id for node in nodes]
            found = computed(self, entry, lambda: self._inspect(partition, settings, ids), alone=True)
        return {} if found is None else {node.id: ms for node, ms in zip(nodes, found["ms"], strict=False)}

    def write(self, partitions: Sequence[Partition], settings: RunSettings, path: Path) -> float | Failure:
        """Have the worker that measured with these settings write the artifact of a plan.

        The seconds are those that its engines took to compile it, whenever that was.
        """
        filled = self.filled(partitions, settings)
        request = protocol.Write(workload=protocol.Workload.of(filled, settings), path=str(path))
        answer = ask_twice(self._workers[settings], request, 4 * self.timeout_s)
        if isinstance(answer, protocol.Written):
            return answer.compile_s
        return self.noted(partitions, failure_of(answer, "write"))

    def answers(
        self, partitions: Sequence[Partition], settings: RunSettings, inputs: Sequence[Path]
    ) -> Sequence[Answers] | Failure:
        """What a plan answers to each set of inputs, its outputs in order; or why it does not."""
        workload = protocol.Workload.of(self.filled(partitions, settings), settings)
        found = answers(self._workers[settings], workload, inputs, self.folder, self.timeout_s)
        return self.noted(partitions, found) if isinstance(found, Failure) else found

    def noted(self, partitions: Sequence[Partition], failure: Failure) -> Failure:
        """The failure; who is left out by it, though its engine is not to blame, is remembered.

        What is concluded from then on is of this compile alone: the next one may find another answer.
        """
        if failure.cause.is_transient:
            name = " + ".join(dict.fromkeys(str(partition.target) for partition in partitions))
            self.left_out.setdefault(name, failure)
        return failure

    @property
    def may_conclude(self) -> bool:
        """Whether what follows from all that was measured is worth keeping."""
        return not self.left_out

    def stages(self, partitions: Sequence[Partition], settings: RunSettings) -> StageCheck:
        """Whether each rounding stage of the graph rounds rightly in a plan of it."""
        partitions = self.filled(partitions, settings)
        key = stages_key(self.graph, partitions, settings)
        entry: Entry[StageCheck] = Entry(kind="stages", key=key, read=TypeAdapter(StageCheck).validate_python)

        def checked() -> StageCheck:
            self._watch(Progress(stage="stages", note=f"each rounding stage on {partitions[0].target}"))
            workload = protocol.Workload.of(partitions, settings)
            found = check_stages(self._workers[settings], self.graph, workload, self.folder, self.timeout_s)
            if found.cause is not None and found.cause.is_transient:
                self.noted(partitions, Failure(stage="stages", reason=str(found.skipped), cause=found.cause))
            return found

        found = recalled(self, entry) or computed(self, entry, checked, is_kept=_is_lasting, alone=True)
        assert found is not None
        return found

    @property
    def provenance(self) -> Mapping[str, Any]:
        """What a record of this graph says of where it came from."""
        return self._origin.provenance

    def stop(self) -> None:
        """Measure nothing more: what is known is answered, what is not fails at the stage ``interrupted``."""
        self._is_stopped = True
        self.close()  # they may be busy with what nobody waits for any more

    def close(self) -> None:
        """End the workers."""
        self._workers.close()

    def __exit__(self, *_: object) -> None:
        self.close()

    def _cost(self, question: _Question) -> Outcome:
        if question.timed != "load":  # how often a plan is loaded is nothing to a call of it
            question = replace(question, settings=replace(question.settings, instances=1))
        question = replace(question, partitions=self.filled(question.partitions, question.settings))
        key = measurement_key(self.graph, question.partitions, question.timed, question.settings, question.place)
        if question.effort.look > 1:
            key = Key(facts={**key.facts, "look": question.effort.look})
        entry: Entry[Outcome] = Entry(kind="partition", key=key)
        known = self._known.get(key.digest)
        if known is None and (known := recalled(self, entry)) is not None:
            self._remembered(question, known)
        if known is None and self._is_stopped:
            return Failure(stage=INTERRUPTED, reason="not measured before the interruption", cause=Cause.NOT_ASKED)
        if known is None and not self._has_time(key, question):
            known = self.time.refusal()
        if known is None:
            try:
                known = computed(self, entry, lambda: self._measured(key, question), is_kept=_is_lasting, alone=True)
            except _CutOffError as error:
                known = error.refusal
        assert known is not None
        self._known[key.digest] = known
        return known

    def _has_time(self, key: Key, question: _Question) -> bool:
        """Whether there is time to measure these; what nothing could ship without is measured in any case."""
        effort = question.effort
        return effort.is_needed or self.time.may({"partition": key.digest}, self._expected_s(question), effort.until)

    def _expected_s(self, question: _Question) -> float:
        """Seconds that measuring these takes, by what the whole model took."""
        own = sum(self.time.whole_s([registry.engine_of(p.target)]) * self._share_of(p) for p in question.partitions)
        return DURATIONS.partition_s + own + (0.0 if question.settings in self._workers else self.time.process_s)

    def _share_of(self, partition: Partition) -> float:
        return len(partition.nodes) / max(1, len(self.graph.nodes))

    def _measured(self, key: Key, question: _Question) -> Outcome:
        """Measure. What the machine did is no failure of the engine; what the time cut off raises `_CutOffError`."""
        effort, partitions = question.effort, question.partitions
        start = self.time.deadline.spent
        given_s = [self._patience_s(question)]

        def again_s(failed: protocol.Failed) -> float:
            """Seconds for a second try; none for what was cut off, or where there is no time for it."""
            if failed.stage == "timeout" and given_s[-1] < self.timeout_s:
                return 0.0
            if failed.cause in (Cause.NO_MEMORY, Cause.KILLED):
                self._workers.stop()  # the others hold memory too
            if not effort.is_needed and not self.time.fits(self._expected_s(question)):
                return 0.0
            given_s.append(self._patience_s(question))
            return given_s[-1]

        known = self._asked(question, given_s[0], again_s)
        took = self.time.deadline.spent - start
        if isinstance(known, Failure) and known.stage == "timeout" and given_s[-1] < self.timeout_s:
            # On a calm machine the time might have done; a first look that ended at its share is not taken again.
            if known.cause.is_transient and question.effort.given_up >= 1.0:
                raise _CutOffError(replace(self.time.refusal(), reason=self.noted(partitions, known).reason))
            self.time.refuse({"partition": key.digest})
            raise _CutOffError(self.time.refusal())
        if isinstance(known, Measurement) and self._is_whole(question):
            self.time.whole_took(registry.engine_of(partitions[-1].target), took, sum(known.samples_ms) / 1e3)
        return self.noted(partitions, known) if isinstance(known, Failure) else known

    def _is_whole(self, question: _Question) -> bool:
        """Whether it is the whole model on one engine."""
        return question.timed == "last" and self._share_of(question.partitions[-1]) == 1.0

    def _remembered(self, question: _Question, known: Outcome) -> None:
        """What an earlier compile measured tells how long the same takes in this one."""
        if isinstance(known, Measurement) and self._is_whole(question):
            timed_s = sum(known.samples_ms) / 1e3
            seconds = DURATIONS.partition_s + known.compile_s + known.load_s + timed_s
            self.time.whole_took(registry.engine_of(question.partitions[-1].target), seconds, timed_s)

    def _patience_s(self, question: _Question) -> float:
        """How long an answer is waited for."""
        if question.effort.is_needed or self.time.is_endless:
            return self.timeout_s
        left = min(self.time.left, self.time.deadline.left_of(question.effort.given_up))
        return max(self._expected_s(question), min(self.timeout_s, left))

    def _asked(self, question: _Question, timeout_s: float, again_s: Callable[[protocol.Failed], float]) -> Outcome:
        workload = protocol.Workload.of(question.partitions, question.settings)
        request = protocol.Measure(
            workload=workload,
            timed=question.timed,
            partition=question.place,
            seconds=question.effort.seconds,
            min_runs=question.effort.min_runs,
            hopeless_ms=question.effort.hopeless_ms,
        )
        answer = ask_twice(self._workers[question.settings], request, timeout_s, again_s)
        if isinstance(answer, protocol.Measured):
            return Measurement(**answer.model_dump(exclude={"verb"}))
        repro = self._repro(workload, answer) if isinstance(answer, protocol.Failed) else None
        return replace(failure_of(answer, "measure"), repro=repro)

    def _repro(self, workload: protocol.Workload, failed: protocol.Failed) -> str | None:
        """A script that shows a failure again; none of one that the machine is to blame for, or without a place."""
        if failed.cause not in (Cause.ENGINE, Cause.CRASH, Cause.NO_ANSWER):
            return None
        folder = self.store.folder / "repro"
        try:
            return str(write_repro(folder, self._origin.on_disk(self.graph, folder), workload, failed))
        except OSError as error:
            log.warning("there is no script that shows a failure again, as %s cannot be written to: %s", folder, error)
            return None

    def _inspect(self, partition: Partition, settings: RunSettings, ids: Sequence[str]) -> Mapping[str, Any] | None:
        """What is kept of what an engine tells; ``None`` if it did not come to telling, by no fault of its own."""
        request = protocol.Inspect(workload=protocol.Workload.of((partition,), settings), runs=PAIRED.profile_runs)
        answer = ask_twice(self._workers[settings], request, self.timeout_s)
        if isinstance(answer, protocol.Failed) and not answer.cause.is_lasting:
            self.noted((partition,), failure_of(answer, "inspect"))
            return None
        told = answer.ms if isinstance(answer, protocol.NodeTimes) else {}
        return {"ms": [told.get(id_, 0.0) for id_ in ids]} if told else {"ms": [], "cause": Cause.ENGINE.value}


def _is_lasting(found: Outcome | StageCheck) -> bool:
    """Whether it would come out alike again."""
    cause = None if isinstance(found, Measurement) else found.cause
    return cause is None or cause.is_lasting
