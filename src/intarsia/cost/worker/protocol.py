"""What driver and worker say to each other: one JSON object a line, over the worker's standard input and output."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from intarsia.backends.contract.failures import Cause
from intarsia.config.precision import Precision
from intarsia.config.settings import Pipeline, RunSettings
from intarsia.cost.timing.memory import Memory
from intarsia.partitioning import Inside, Partition
from intarsia.runtime.artifact.trust import UNSTATED, Trust
from intarsia.target import Target


class Message(BaseModel):
    """Frozen, and refuses what it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants")


class PartitionMessage(Message):
    """Nodes on a target."""

    target: str
    nodes: tuple[str, ...]
    precision: Precision | None = None
    inside: InsideMessage | None = None

    @staticmethod
    def of(partition: Partition) -> PartitionMessage:
        """A partition, as text."""
        return PartitionMessage(
            target=str(partition.target),
            nodes=partition.nodes,
            precision=partition.precision,
            inside=None if partition.inside is None else InsideMessage.of(partition.inside),
        )

    def partition(self) -> Partition:
        """The partition it stands for."""
        inside = None if self.inside is None else self.inside.inside()
        return Partition(target=Target(self.target), nodes=self.nodes, precision=self.precision, inside=inside)


class InsideMessage(Message):
    """How a nested configuration runs a partition."""

    partitions: tuple[PartitionMessage, ...]
    threads: int | None = None
    parallel: bool = False
    pipeline: Pipeline | None = None

    @staticmethod
    def of(inside: Inside) -> InsideMessage:
        """It, as text."""
        partitions = tuple(map(PartitionMessage.of, inside.partitions))
        return InsideMessage(
            partitions=partitions, threads=inside.threads, parallel=inside.parallel, pipeline=inside.pipeline
        )

    def inside(self) -> Inside:
        """What it stands for."""
        partitions = tuple(each.partition() for each in self.partitions)
        return Inside(partitions=partitions, threads=self.threads, parallel=self.parallel, pipeline=self.pipeline)


Timed = Literal["last", "all", "main", "partition", "stream", "load"]
"""Which part of a workload is timed: its last partition in its place behind the others, or all of it. Where partitions
are embedded: all but the partitions, which answer what was recorded, or just the one that computes among them. Of a
stream: the time between one result and the next. Under load: the same, of as many instances as the settings say, all at
work at one time."""


class Workload(Message):
    """Partitions in running order, and the settings they obey."""

    partitions: tuple[PartitionMessage, ...]
    settings: RunSettings

    @staticmethod
    def of(chosen: Iterable[Partition], settings: RunSettings) -> Workload:
        """Partitions as text, and settings."""
        return Workload(partitions=tuple(map(PartitionMessage.of, chosen)), settings=settings)


class Measure(Message):
    """Compile, load and check a workload, and time a part of it; ``partition`` is the place of one that computes."""

    verb: Literal["measure"] = "measure"
    workload: Workload
    timed: Timed
    partition: int | None = None
    seconds: float
    min_runs: int
    hopeless_ms: float | None = None


class Write(Message):
    """Compile a whole plan and write its artifact."""

    verb: Literal["write"] = "write"
    workload: Workload
    path: str


class Wait(Message):
    """Answer once the process has started, so that what follows has the machine to itself."""

    verb: Literal["wait"] = "wait"


class Open(Message):
    """Load an artifact, feed it the recorded inputs, run it, and check it.

    With ``instances`` so many are loaded, for `Load`, and each is called on a thread of its own.
    """

    verb: Literal["open"] = "open"
    path: str
    trust: Trust = UNSTATED
    instances: int | None = None


class Round(Message):
    """Run the opened artifact: ``warm`` times untimed, then ``runs`` times timed."""

    verb: Literal["round"] = "round"
    warm: int
    runs: int


class Load(Message):
    """Call all instances of the opened artifact at one time, ``warm`` times untimed, then ``runs`` times each."""

    verb: Literal["load"] = "load"
    warm: int
    runs: int


class Respond(Message):
    """Feed the opened artifact the recorded inputs, run it once, and write its outputs to a folder."""

    verb: Literal["respond"] = "respond"
    folder: str


class Profile(Message):
    """Median milliseconds of each step of the opened artifact."""

    verb: Literal["profile"] = "profile"
    runs: int


OBSERVING = RunSettings(threads=1)
"""What an engine obeys that is asked for values inside a graph: nothing is timed."""


class Observe(Message):
    """Run the whole graph on a target with inputs of a seed, and write values inside it to a folder."""

    verb: Literal["observe"] = "observe"
    target: str
    names: tuple[str, ...]
    seed: int
    folder: str


class Expose(Message):
    """Run a workload on the recorded inputs with values inside it as further outputs, and write these to a folder.

    Outputs of the graph are written too.
    """

    verb: Literal["expose"] = "expose"
    workload: Workload
    names: tuple[str, ...]
    folder: str


class Evaluate(Message):
    """Run a workload, or the opened artifact, on several sets of inputs, and write what it answers.

    Attributes:
        workload: What to run; ``None`` for the artifact.
        inputs: A ``.npz`` file for each run.
        outputs: Where the answers go, in the same order.
        more: Further inputs of all runs, as vectors of ``float32`` by name.
    """

    verb: Literal["evaluate"] = "evaluate"
    workload: Workload | None = None
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    more: dict[str, tuple[float, ...]] = {}


class Inspect(Message):
    """Run a workload of one partition with its engine's own profiler on, and tell of so many runs."""

    verb: Literal["inspect"] = "inspect"
    workload: Workload
    runs: int


class Observed(Message):
    """Answer to `Observe`: element type and shape of each value, ``None`` if the engine tells nothing."""

    verb: Literal["observed"] = "observed"
    types: dict[str, tuple[str, tuple[int, ...]]] | None


class Evaluated(Message):
    """Answer to `Evaluate`, `Expose` and `Respond`: all is written, but for texts."""

    verb: Literal["evaluated"] = "evaluated"


class Measured(Message):
    """Answer to `Measure`."""

    verb: Literal["measured"] = "measured"
    samples_ms: tuple[float, ...]
    compile_s: float
    load_s: float
    error: float | None
    allowed: float | None = None
    is_complete: bool


class Written(Message):
    """Answer to `Write`."""

    verb: Literal["written"] = "written"
    compile_s: float


class Waited(Message):
    """Answer to `Wait`.

    Attributes:
        started_s: Seconds from the beginning of the process until it could be asked; 0 where nobody knows.
    """

    verb: Literal["waited"] = "waited"
    started_s: float = 0.0


class Opened(Message):
    """Answer to `Open`.

    Attributes:
        load_s: Seconds until it was loaded, the import of its engines among them.
        first_run_s: Seconds that its first run took.
        memory: What it added to the process; checking it is not counted.
        error: Largest max|a-b| / max|b| against the reference; ``None`` without one.
        allowed: What the output with that error was allowed.
    """

    verb: Literal["opened"] = "opened"
    load_s: float
    first_run_s: float
    memory: Memory
    error: float | None
    allowed: float | None = None

    @property
    def cold_s(self) -> float:
        """Seconds from a fresh process to the first result."""
        return self.load_s + self.first_run_s


class Times(Message):
    """Answer to `Round` (milliseconds a run) and to `Profile` (milliseconds a step, and of each transfer by itself).

    To `Load` those of each call, and ``between_ms``, the milliseconds from one answer to the next.
    """

    verb: Literal["times"] = "times"
    ms: tuple[float, ...]
    transfers_ms: tuple[float, ...] = ()
    between_ms: float | None = None


class NodeTimes(Message):
    """Answer to `Inspect`: milliseconds of nodes by id, none if the engine tells nothing."""

    verb: Literal["node-times"] = "node-times"
    ms: dict[str, float]


class Failed(Message):
    """Any request can fail: the stage, what was said, and whose doing it is."""

    verb: Literal["failed"] = "failed"
    stage: str
    reason: str
    cause: Cause


Request = Annotated[
    Measure | Observe | Expose | Inspect | Write | Wait | Open | Round | Load | Respond | Profile | Evaluate,
    Field(discriminator="verb"),
]
Answer = Annotated[
    Measured | Observed | NodeTimes | Written | Waited | Opened | Times | Evaluated | Failed,
    Field(discriminator="verb"),
]

REQUEST: TypeAdapter[Request] = TypeAdapter(Request)
ANSWER: TypeAdapter[Answer] = TypeAdapter(Answer)
