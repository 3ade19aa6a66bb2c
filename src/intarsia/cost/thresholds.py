"""The figures that bound how partitions and plans are measured, by concern, each with its reason.

Nothing compares or prints these classes, and without the methods for that they are made in a third of the time.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Patience:
    """How many seconds something is waited for before it counts as hanging or gone."""

    partition_s: float = 25.0
    """For a partition to be compiled, checked and timed; for its weights the next field is added."""
    partition_s_per_gigabyte: float = 40.0
    """For each gigabyte of the model's weights."""
    custom_ops_s: float = 120.0
    """For one run of an engine that tells what custom operators compute."""
    contender_s: float = 120.0
    """For a contender of a paired benchmark to open its artifact, or to run a round."""
    bucket_s: float = 120.0
    """For an artifact to be opened and checked at one end of a bucket."""
    artifact_s: float = 300.0
    """For a finished artifact to be built, opened or run when it is evaluated: nothing shows how large it may be."""
    store_s: float = 6.0
    """For another writer of the store: a record takes milliseconds, so who takes longer does not write records."""
    lock_s: float = 1.0
    """For the machine lock, before a message says that another compile holds it."""
    neighbours_s: float = 5.0
    """For an answer, before the load of the other processes is looked at; at most half the limit of the answer."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Sampling:
    """How one loaded plan is timed inside a worker."""

    warm_up_s: float = 0.03
    """Least time of the untimed calls before the first sample."""
    warm_up_calls: int = 2
    """Least number of the untimed calls before the first sample."""
    warm_up_requests: int = 8
    """Results of a stream that are dropped before the first sample, and least number of results in one sample."""
    stream_ms: float = 40.0
    """Least time over which a stream's results are counted for one sample, so that it begins and ends in full flow."""
    block_ms: float = 30.0
    """How long runs follow each other before the machine's speed is probed again."""
    stable: float = 0.01
    """A window ends early once the interval's half-width is below this share of the median."""
    halves_differ: float = 0.08
    """A window whose two halves differ by a greater share is taken again: both halves time the same thing."""
    attempts: int = 2
    """Windows that are taken until the halves of one agree."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class PairedRules:
    """How a paired benchmark is run, and when its A/A control holds."""

    control_median: float = 0.02
    """How far the median of the first contender's ratio to itself may be from 1."""
    control_interval: float = 0.10
    """How far the 95 % interval of that ratio may reach from 1."""
    settled_sets: int = 2
    """Sets where no plan seems faster than the first, nothing but settings is left to decide, or the time is over."""
    fewest_rounds: int = 2
    """Rounds of a set even where the time is over."""
    rounds_by_loading: float = 0.5
    """The rounds of a set may take so many times what loading its contenders took: where one round is disturbed, no
    fewer than nine tell a difference, and loading large models again takes longer."""
    late_by_loading: float = 0.25
    """The same where the time is over: of three rounds, of which a neighbour disturbs one, nothing follows."""
    telling_rounds: int = 6
    """Rounds after which a set ends if they show all that it is to show: with fewer, an interval has no 95 %."""
    warm_runs: int = 2
    """Untimed runs of a turn: the caches hold what the contender before left there. One run of a slow model will do."""
    turn_ms: float = 40.0
    """A turn runs a contender for about this long at least, so that short models are not timed by single runs."""
    settle_s: float = 0.05
    """Pause after one that spins: ONNX Runtime's threads go on for some 30 ms after a call, on the next one's cores."""
    profile_runs: int = 5
    """Runs whose median is the time of each step, or of each node."""
    p99_calls: int = 100
    """With fewer calls, the 99th percentile is but the slowest of them."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Calibration:
    """How the speed of the processors is probed; see `intarsia.cost.timing.clock_calibration`."""

    products: int = 16
    """Matrix products of one probe."""
    side: int = 64
    """Rows and columns of each matrix; so small a product is computed by one thread, from the nearest caches."""
    probes: int = 3
    """Of so many probes in a row the fastest counts: the first one may wake its processor up."""
    recent: int = 100
    """Probes by which full speed is found."""
    full_speed_share: float = 0.1
    """The share of them that has to reach a speed for it to count: one probe may be faster by a whim of the clock."""
    undisturbed: float = 1.2
    """A probe that takes up to so many times as long is still one at full speed: clocks rise and fall by themselves."""
    even: float = 1.2
    """Two moments whose slowdowns differ by no more than this factor are told from each other by noise alone."""
    turns: int = 3
    """How often a turn is taken where the machine's speed changes meanwhile."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Durations:
    """What things are expected to take, before one of them was seen, and what is kept free for the end."""

    process_s: float = 1.0
    """A fresh process until it can be asked."""
    process_share: float = 0.5
    """Share of that for each process where several start at once."""
    whole_s: float = 0.7
    """An engine for a small model: to compile it, check it and time it."""
    whole_s_per_gigabyte: float = 15.0
    """The same, for each gigabyte of weights."""
    partition_s: float = 0.2
    """Measuring the smallest partition."""
    open_s: float = 0.2
    """Opening an artifact, beyond what its engine was seen to take; also the least for writing one."""
    write_s: float = 0.3
    """Writing an artifact for a paired benchmark."""
    save_s_per_gigabyte: float = 5.0
    """Writing an artifact, and copying the one that ships to where it is wanted, for each gigabyte of weights; less
    where this machine has shown that it writes faster."""
    save_by_graph: float = 2.5
    """An artifact, of which the checksums take as long as writing it, takes so many times as long as the graph did that
    was written for the processes that measure."""
    slack: float = 1.15
    """Factor on the end of a compile, since nothing takes exactly as long as the last time."""
    announced_s: float = 1.0
    """Added to a time that is announced: small models take seconds, and fractions of one count there."""
    least_rounds: int = 4
    """Rounds of a set of a paired benchmark, at least."""
    most_rounds: int = 10
    """Rounds of a set of a paired benchmark, at most."""
    turn_ms: float = 40.0
    """Least time of a turn of a short model, warming up not counted."""
    settle_ms: float = 60.0
    """Pause and probes of a turn."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ReferenceLimits:
    """What computing and keeping the reference's values may take."""

    keep_bytes: int = 4 << 30
    """Values that are kept on disk; those not used for longest go first."""
    perturbed: int = 3
    """How often a model that rounds inside is computed again with its rounding falling the other way."""
    slow_s: float = 10.0
    """A model that takes longer than this to compute is computed only once more."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Disturbance:
    """When the machine, and not an engine, is to blame for what a worker did."""

    busy_share: float = 0.15
    """Share of the processors that other processes take; with more, an engine may be late by no fault of its own."""
    full_bytes: int = 1 << 22
    """With less room left, a disk is as good as full."""


PATIENCE = Patience()
SAMPLING = Sampling()
PAIRED = PairedRules()
CALIBRATION = Calibration()
DURATIONS = Durations()
REFERENCE = ReferenceLimits()
DISTURBANCE = Disturbance()
