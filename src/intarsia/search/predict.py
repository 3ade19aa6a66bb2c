"""What a given plan will cost: each partition measured right behind the one before it, and summed."""

from __future__ import annotations

from collections.abc import Sequence

from intarsia.config.settings import RunSettings
from intarsia.cost.measure import Measurer
from intarsia.cost.record import Failure
from intarsia.cost.sampling import Effort
from intarsia.errors import BackendError, CompileError, ExecutionError, LoadError, MismatchError
from intarsia.partition import Partition

EFFORT = Effort(seconds=0.3, min_runs=7, max_runs=80)
_ERRORS: dict[str, type[BackendError]] = {"compile": CompileError, "load": LoadError}


def predict(measurer: Measurer, partitions: Sequence[Partition], settings: RunSettings) -> tuple[float, ...]:
    """Milliseconds of each partition in its place.

    Raises:
        CompileError, LoadError, ExecutionError: An engine failed on a partition.
        MismatchError: A partition answers wrongly.
    """
    costs = []
    for before, piece in zip((None, *partitions), partitions, strict=False):
        outcome = measurer.cost(piece, settings, after=before, effort=EFFORT)
        if isinstance(outcome, Failure):
            raise failure_error(piece, outcome)
        costs.append(outcome.cost_ms)
    return tuple(costs)


def failure_error(piece: Partition, failure: Failure) -> BackendError | MismatchError:
    """A recorded failure as the error that a plan which insists on it ends with."""
    where = f"{len(piece.nodes)} nodes from {piece.nodes[0]}"
    repro = f"; see it again with {failure.repro}" if failure.repro else ""
    if failure.stage == "verify":
        return MismatchError(f"{piece.target} answers wrongly on {where}: {failure.reason}{repro}")
    error = _ERRORS.get(failure.stage, ExecutionError)
    return error(str(piece.target), f"{where}, {failure.stage}: {failure.reason}{repro}")
