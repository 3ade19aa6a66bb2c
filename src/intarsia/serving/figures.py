"""What a server counts and times, as Prometheus reads it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
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
        self._seconds = Histogram(
            "intarsia_stage_seconds",
            "Time that answered requests spent in each stage.",
            ("model", "stage"),
            buckets=_BOUNDS_S,
            registry=self.registry,
        )
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
            seconds={stage: self._seconds.labels(model, stage) for stage in STAGES},
            requests={name: self._requests.labels(model, name) for name in ("OK", *(each.name for each in Status))},
            refusals={why: self._refusals.labels(model, why) for why in ("queue", "timeout", "draining")},
            waiting=self._waiting.labels(model),
            reloads={result: self._reloads.labels(model, result) for result in ("swapped", "failed")},
            batches=partial(self._batches.labels, model),
        )
        self._models.append(figures)
        return figures

    def collect(self) -> Iterable[Metric]:
        """No figures of its own: as Prometheus asks, the models count what they have not yet."""
        for model in self._models:
            model.count()
        return ()

    def text(self) -> bytes:
        """All of them, as Prometheus scrapes them."""
        return generate_latest(self.registry)


class ModelFigures:
    """The figures of one model, looked up once: a look-up takes longer than the counting."""

    __slots__ = ("_batches", "_taken", "refusals", "reloads", "requests", "seconds", "waiting")

    def __init__(
        self,
        *,
        seconds: Mapping[str, Histogram],
        requests: Mapping[str, Counter],
        refusals: Mapping[str, Counter],
        waiting: Gauge,
        reloads: Mapping[str, Counter],
        batches: Callable[[], Histogram],
    ) -> None:
        self.seconds = seconds
        self.requests = requests
        self.refusals = refusals
        self.waiting = waiting
        self.reloads = reloads
        self._batches = batches
        self._taken: deque[tuple[float, float, float, float]] = deque()

    def took(self, queue: float, decode: float, compute: float, encode: float) -> None:
        """Count a request that was answered, with the seconds of its stages; soon, or when it is asked for."""
        self._taken.append((queue, decode, compute, encode))
        if len(self._taken) >= _AT_ONCE:
            self.count()

    def called(self, requests: int) -> None:
        """Count a call that answered so many requests together; a model that has none has no such figure."""
        self._batches().observe(requests)

    def count(self) -> None:
        """Count those that are not counted yet."""
        with suppress(IndexError):  # once there is none; several threads may count at one time
            while True:
                for stage, seconds in zip(STAGES, self._taken.popleft(), strict=True):
                    self.seconds[stage].observe(seconds)
                self.requests["OK"].inc()
