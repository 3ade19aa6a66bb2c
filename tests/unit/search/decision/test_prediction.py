"""A failure that was recorded becomes the error of its stage when a plan insists on the engine."""

from __future__ import annotations

import pytest

from intarsia.backends.contract.failures import Cause
from intarsia.cost.records.record import Failure
from intarsia.errors import (
    BackendCrashError,
    BackendTimeoutError,
    CompileError,
    ExecutionError,
    IntarsiaError,
    LoadError,
    MismatchError,
)
from intarsia.partitioning import Partition
from intarsia.search.decision.prediction import failure_error
from intarsia.target import Target

PARTITION = Partition(target=Target("mnn"), nodes=("a", "b"))


@pytest.mark.parametrize(
    ("stage", "error", "message"),
    [
        ("compile", CompileError, "mnn failed at compile: 2 nodes from a: why"),
        ("load", LoadError, "mnn failed at load: 2 nodes from a: why"),
        ("run", ExecutionError, "mnn failed at run: 2 nodes from a: why"),
        ("timeout", BackendTimeoutError, "mnn failed at timeout: 2 nodes from a: why"),
        ("crash", BackendCrashError, "mnn failed at crash: 2 nodes from a: why"),
        ("verify", MismatchError, "mnn answers wrongly on 2 nodes from a: why"),
        ("prepare", ExecutionError, "mnn failed at run: 2 nodes from a, prepare: why"),
    ],
)
def test_the_error_is_that_of_the_stage(stage: str, error: type[IntarsiaError], message: str) -> None:
    found = failure_error(PARTITION, Failure(stage=stage, reason="why", cause=Cause.ENGINE))
    assert (type(found), str(found)) == (error, message)


def test_the_script_that_shows_it_again_is_named() -> None:
    found = failure_error(PARTITION, Failure(stage="crash", reason="why", cause=Cause.ENGINE, repro="/r.py"))
    assert str(found).endswith("why; see it again with /r.py")
