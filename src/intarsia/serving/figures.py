"""What a server counts and times, as Prometheus reads it."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from itertools import accumulate
from threading import Lock
from typing import TYPE_CHECKING, Final

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.metrics_core import HistogramMetricFamily
from prometheus_client.registry import Collector

from intarsia.serving.statuses import Status

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

STAGES = ("queue", "decode", "compute", "encode")
_BOUNDS_S = (
    *(0.00005, 0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05),
    *(0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0),
)
_BATCHES = (1, 2, 4, 8, 16, 32, 64, 128)
_AT_ONCE: Final = 64
"""Answered requests whose times are counted together: right behind a model's work, code is out of the caches."""


class Figures(Collector):
    """All figures of one server, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._models: list[ModelFigures] = []
        self.registry.register(self)  # before the figures, so that what is counted late is there when they are asked
        ProcessCollector(registry=self.registry)
        PlatformCollector(registry=self.registry)
        self._requests = Counter(
            "intarsia_requests",
            "Requests for an inference, by how they ended.",
            ("model", "status"),
            registry=self.registry,
        )
        self._refusals = Counter(
            "intarsia_refusals",
            "Requests that were refused since too many came.",
            ("model", "why"),
            registry=self.registry,
        )
        self._waiting = Gauge(
            "intarsia_queue_length", "Requests that wait for an instance.", ("model",), registry=self.registry
        )
        self._reloads = Counter(
            "intarsia_reloads",
            "Artifacts that changed and were loaded anew.",
            ("model", "result"),
            registry=self.registry,
        )

        self._batches = Histogram(
            "intarsia_batch_requests",
            "Requests that one call of a model answered, of models whose requests are put together.",
            ("model",),
            buckets=_BATCHES,
            registry=self.registry,
        )

    def of(self, model: str) -> ModelFigures:
        """Those of one model."""
        figures = ModelFigures(
            model,
            requests={name: self._requests.labels(model, name) for name in ("OK", *(each.name for each in Status))},
            refusals={why: self._refusals.labels(model, why) for why in ("queue", "timeout", "draining")},
            waiting=self._waiting.labels(model),
            reloads={result: self._reloads.labels(model, result) for result in ("swapped", "failed")},
            batches=partial(self._batches.labels, model),
        )
        self._models.append(figures)
        return figures

    def collect(self) -> Iterable[Metric]:
        """The times of stages. As Prometheus asks, the models count what they have not yet."""
        stages = HistogramMetricFamily(
            "intarsia_stage_seconds", "Time that answered requests spent in each stage.", labels=("model", "stage")
        )
        for model in self._models:
            model.count()
            for stage, seconds in model.seconds.items():
                stages.add_metric((model.name, stage), seconds.buckets(), seconds.sum)
        return (stages,)

    def text(self) -> bytes:
        """All of them, as Prometheus scrapes them."""
        return generate_latest(self.registry)


class Seconds:
    """How many of some times are within each bound, and their sum, which costs little to add to."""

    __slots__ = ("_counts", "sum")

    def __init__(self) -> None:
        self._counts = [0] * (len(_BOUNDS_S) + 1)
        self.sum = 0.0

    def add(self, times: Iterable[float]) -> None:
        """Count some more."""
        for each in times:
            self._counts[bisect_left(_BOUNDS_S, each)] += 1
            self.sum += each

    def buckets(self) -> list[tuple[str, float]]:
        """How many are within each bound, and so within those before it, as Prometheus has it."""
        bounds = (*map(str, _BOUNDS_S), "+Inf")
        return list(zip(bounds, accumulate(self._counts), strict=True))


class ModelFigures:
    """The figures of one model, looked up once: a look-up takes longer than the counting."""

    __slots__ = (
        "_batches",
        "_counting",
        "_of_batches",
        "_taken",
        "name",
        "refusals",
        "reloads",
        "requests",
        "seconds",
        "waiting",
    )

    def __init__(
        self,
        name: str,
        *,
        requests: Mapping[str, Counter],
        refusals: Mapping[str, Counter],
        waiting: Gauge,
        reloads: Mapping[str, Counter],
        batches: Callable[[], Histogram],
    ) -> None:
        self.name = name
        self.seconds = {stage: Seconds() for stage in STAGES}
        self.requests = requests
        self.refusals = refusals
        self.waiting = waiting
        self.reloads = reloads
        self._of_batches = batches
        self._batches: Histogram | None = None
        self._counting = Lock()
        self._taken: deque[tuple[float, float, float, float]] = deque()

    def took(self, queue: float, decode: float, compute: float, encode: float) -> None:
        """Count a request that was answered, with the seconds of its stages; soon, or when it is asked for."""
        self._taken.append((queue, decode, compute, encode))
        if len(self._taken) >= _AT_ONCE:
            self.count()

    def called(self, requests: int) -> None:
        """Count a call that answered so many requests together; a model that has none has no such figure."""
        if self._batches is None:
            self._batches = self._of_batches()
        self._batches.observe(requests)

    def count(self) -> None:
        """Count those that are not counted yet."""
        with self._counting:
            taken = []
            with suppress(IndexError):  # once there is none
                while True:
                    taken.append(self._taken.popleft())
            if taken:
                for seconds, times in zip(self.seconds.values(), zip(*taken, strict=True), strict=True):
                    seconds.add(times)
                self.requests["OK"].inc(len(taken))
