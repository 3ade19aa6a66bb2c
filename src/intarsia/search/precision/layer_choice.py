"""Which layers compute in few bits: as many as an error allows, those first that cost least for what they save.

Each layer's error is measured at the model's outputs, in a graph that computes every layer in all ways. Errors of
layers are about independent, so their squares add up; what a sum promises is measured before it counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from statistics import mean, stdev
from typing import Final

from intarsia.config.precision import Means, Precision, Range, Scheme
from intarsia.cost.reference.evaluate import Answers, Oracle
from intarsia.cost.worker.progress import Progress, Watcher, unwatched
from intarsia.errors import ExecutionError
from intarsia.graph import Graph
from intarsia.graph.quantise import GATES, Layer, gated, means_of, with_sums
from intarsia.runtime.verify import distance
from intarsia.search.precision.calibration import Calibration, asked, told
from intarsia.search.precision.families import PRODUCTS, Family
from intarsia.search.thresholds import PRECISION
from intarsia.target import Target

_FEWEST: Final = 3
"""Errors that tell how much they differ."""
Schemes = Mapping[str, Scheme]
"""By id of a layer's node how it computes; all others in fp32."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Layers in few bits, and the error of the model's worst output with them on the calibration inputs."""

    layers: tuple[tuple[Layer, Scheme], ...]
    ranges: tuple[tuple[str, Range], ...]
    error: float
    means: tuple[tuple[str, Means], ...] = ()

    def precision(self, *, dynamic: bool) -> Precision:
        """All of them, by ranges from calibration, or by those found while the model runs where a layer can."""
        ways = [(layer, scheme.dynamic if dynamic else scheme, scheme) for layer, scheme in self.layers]
        schemes = {layer.node.id: way if way in layer.schemes else scheme for layer, way, scheme in ways}
        static = [layer for layer, _ in self.layers if schemes[layer.node.id].needs_ranges]
        known = dict(self.ranges)
        return Precision.of(schemes, {name: known[name] for layer in static for name in layer.reads}, dict(self.means))


class Chooser(AbstractContextManager["Chooser"]):
    """Learns on the calibration inputs what each layer costs, and chooses.

    Args:
        patience_s: How long a run may take, asked for at each question.
        has_time: Whether there is time to learn more, for so many seconds.
        writing_s: Seconds that the graph which computes every layer in all ways takes to be written.

    Raises:
        ExecutionError: The target fails, or takes too long.
    """

    def __init__(
        self,
        graph: Graph,
        target: Target,
        folder: Path,
        inputs: Sequence[Path],
        ranging: Sequence[Path],
        patience_s: Callable[[], float],
        calibration: Calibration,
        watch: Watcher = unwatched,
        has_time: Callable[[float], bool] = lambda _: True,
        family: Family = PRODUCTS,
        writing_s: float = 0.0,
    ) -> None:
        self._has_time = has_time
        self._family = family
        self.layers = family.layers(graph)
        self._inputs = tuple(inputs)
        self._watch = watch
        calibrated = self.layers if family.coarse.needs_ranges else ()
        self._ranges = calibration.trimmed(graph, calibrated, asked(target, folder, ranging, patience_s))
        if not has_time(writing_s):
            raise ExecutionError(
                "the engine that tells how accurate layers are", "finding out what layers read took too long"
            )
        self._means = calibration.means
        self._gates = [(layer, way) for layer in self.layers for way in family.ways if way in layer.schemes]
        means = {name: means_of(text) for name, text in self._means.items()}
        self._oracle = Oracle(gated(graph, self._gates, self._ranges, means), target, folder, patience_s)
        self.exact = self._answers({}, self._inputs)
        self._steps: tuple[_Step, ...] | None = None
        self._known: dict[frozenset[tuple[str, Scheme]], float] = {}

    def choose(self, allowed: float) -> Choice:
        """The most that stays within an error on calibration inputs, or nothing; an `ExecutionError` if that fails."""
        products = [layer for layer in self.layers if not layer.sources]
        everything = dict.fromkeys((layer.node.id for layer in products), self._family.coarse)
        if self._error(everything) <= allowed:
            return self._choice(everything)
        steps = self._ordered(products)
        fits, fails = 0, len(steps)
        guess = _promised(steps, allowed)
        while fits + 1 < fails and self._has_time(0.0):
            count = min(max(guess, fits + 1), fails - 1)
            if self._error(_taken(steps[:count])) <= allowed:
                fits = count
            else:
                fails = count
            guess = (fits + fails) // 2
        return self._choice(_taken(steps[:fits]))

    def error_of_all(self) -> float:
        """The error with every layer in the first way of the family; an `ExecutionError` if that fails."""
        scheme = self._family.ways[0]
        return self._error({layer.node.id: scheme for layer in self.layers if not layer.sources})

    def __exit__(self, *_: object) -> None:
        self._oracle.close()

    def _choice(self, schemes: Schemes) -> Choice:
        whole = self._with_sums(schemes)
        layers = tuple((layer, whole[layer.node.id]) for layer in self.layers if layer.node.id in whole)
        error = self._error(schemes) if schemes else 0.0
        ranges, means = self._ranges.items(), self._means.items()
        return Choice(layers=layers, ranges=tuple(sorted(ranges)), means=tuple(sorted(means)), error=error)

    def _with_sums(self, schemes: Schemes) -> Schemes:
        coarse = self._family.coarse
        return {layer.node.id: schemes.get(layer.node.id, coarse) for layer in with_sums(self.layers, schemes)}

    def _ordered(self, products: Sequence[Layer]) -> tuple[_Step, ...]:
        """The cheapest first, by squared error for what is saved."""
        if self._steps is None:
            steps: list[_Step] = []
            groups = _groups(products)
            for number, group in enumerate(groups):
                if not self._has_time(0.0):  # what was not looked at stays as it is
                    break
                self._watch(Progress(stage="accuracy", done=number, total=len(groups), note=group[0].node.id))
                few = self._inputs[: PRECISION.compared_inputs]
                ways = (dict.fromkeys((layer.node.id for layer in group), way) for way in self._family.ways)
                steps += _steps(self._family, group, [self._error_of(way, few) ** 2 for way in ways])
            self._steps = tuple(sorted(steps, key=lambda step: step.price))
        return self._steps

    def _error(self, schemes: Schemes) -> float:
        """With the sums that follow, on all calibration inputs; measured once."""
        key = frozenset(schemes.items())
        if key not in self._known:
            self._known[key] = self._error_of(self._with_sums(schemes), self._inputs)
        return self._known[key]

    def _error_of(self, schemes: Schemes, inputs: Sequence[Path]) -> float:
        return worst(self._answers(schemes, inputs), self.exact)

    def _answers(self, schemes: Schemes, inputs: Sequence[Path]) -> Sequence[Answers]:
        gates = [float(schemes.get(layer.node.id) is way) for layer, way in self._gates]
        return told(self._oracle.answers(inputs, {GATES: gates}))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    """Layers further from fp32: what that costs, squared, and that for each operation that it saves."""

    layers: tuple[Layer, ...]
    scheme: Scheme
    square: float
    price: float


def _groups(layers: Sequence[Layer]) -> list[tuple[Layer, ...]]:
    """Layers that follow each other and go together, since measuring each of many by itself takes too long."""
    size = -(-len(layers) // PRECISION.groups)
    return [tuple(layers[start : start + size]) for start in range(0, len(layers), max(size, 1))]


def _steps(family: Family, group: tuple[Layer, ...], squares: Sequence[float]) -> list[_Step]:
    """To the coarse way at one go, or by way of the fine one where what that saves is cheaper.

    Args:
        squares: Of the error of each way.
    """
    saved = float(max(sum(layer.flops for layer in group), 1))
    share, coarse = family.fine_share, squares[-1]
    if family.fine is None or squares[0] / share >= coarse:
        return [_Step(layers=group, scheme=family.coarse, square=coarse, price=coarse / saved)]
    fine = squares[0]
    rest = coarse - fine
    return [
        _Step(layers=group, scheme=family.fine, square=fine, price=fine / (share * saved)),
        _Step(layers=group, scheme=family.coarse, square=rest, price=rest / ((1.0 - share) * saved)),
    ]


def _taken(steps: Iterable[_Step]) -> Schemes:
    """Where several steps take one layer, the last of them counts: its price is the highest."""
    return {layer.node.id: step.scheme for step in steps for layer in step.layers}


def _promised(steps: Sequence[_Step], allowed: float) -> int:
    """How many steps stay within an error if squares add up."""
    total = 0.0
    for count, step in enumerate(steps):
        total += step.square
        if sqrt(total) > allowed:
            return count
    return len(steps)


def worst(actual: Sequence[Answers], expected: Sequence[Answers]) -> float:
    """The error of the worst output on the worst input that a validation set has, as these inputs tell."""
    return expected_worst(errors_of(actual, expected))


def errors_of(actual: Sequence[Answers], expected: Sequence[Answers]) -> tuple[tuple[float, ...], ...]:
    """Of each output, its error on each input."""
    pairs = zip(actual, expected, strict=False)
    return tuple(zip(*([distance(y, r) for y, r in zip(ys, rs, strict=True)] for ys, rs in pairs), strict=True))


def expected_worst(errors: Iterable[Sequence[float]]) -> float:
    """The error of the worst output on the worst input that a validation set has, by the errors of each output.

    Of a normal distribution so many draws have their largest about two standard deviations above the mean. Where errors
    are much alike, that is the largest of those seen.
    """
    return max(map(_expected_largest, errors), default=0.0)


def _expected_largest(errors: Sequence[float]) -> float:
    if len(errors) < _FEWEST:
        return max(errors)
    return max(*errors, mean(errors) + PRECISION.worst_deviations * stdev(errors))
