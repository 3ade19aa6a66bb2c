"""Plans run in turns, each loaded anew for each set; one that fails leaves, and the rest is measured anew."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
import pytest

from intarsia.cost.timing.verdict import CONTROL_NAME
from intarsia.cost.worker.deadline import Deadline
from intarsia.cost.worker.progress import Progress, unwatched
from intarsia.deploy.benchmark import Contender, paired
from intarsia.errors import ExecutionError

FEEDS = {"x": np.zeros(1, np.float32)}


@dataclass
class Counted:
    """Loads what counts its calls, and fails from a call on."""

    fails_at: int | None = None
    loaded: int = 0
    closed: int = 0
    calls: int = 0
    streams: list[int] = field(default_factory=list)

    def load(self) -> Counted:
        self.loaded += 1
        return self

    def __call__(self, feeds: Mapping[str, np.ndarray], /) -> dict[str, np.ndarray]:
        self.calls += 1
        if self.fails_at is not None and self.calls >= self.fails_at:
            raise ExecutionError("an engine", "it broke")
        return {"y": feeds["x"]}

    def stream(self, feeds: Iterable[Mapping[str, np.ndarray]]) -> Iterable[dict[str, np.ndarray]]:
        found = [self(each) for each in feeds]
        self.streams.append(len(found))
        return found

    def close(self) -> None:
        self.closed += 1


def contenders(**several: Counted) -> list[Contender]:
    return [Contender(name=name, load=each.load) for name, each in several.items()]


@pytest.mark.parametrize("streams", [False, True])
def test_all_run_in_every_round_and_the_first_twice(streams: bool) -> None:
    first, second = Counted(), Counted()
    told: list[Progress] = []
    found = paired(contenders(a=first, b=second), FEEDS, Deadline(1e6), told.append, streams=streams)
    assert list(found.rounds_ms) == ["a", CONTROL_NAME, "b"]
    assert {len(each) for each in found.rounds_ms.values()} == {sum(found.set_sizes)}
    assert (first.loaded, second.loaded) == (2 * len(found.set_sizes), len(found.set_sizes))
    assert (first.closed, second.closed) == (first.loaded, second.loaded)
    assert bool(second.streams) is streams
    assert [each.done for each in told] == list(range(len(found.set_sizes) + 1))


def test_one_that_fails_leaves() -> None:
    first, broken = Counted(), Counted(fails_at=30)
    found = paired(contenders(a=first, b=broken), FEEDS, Deadline(1e6), unwatched, streams=False)
    assert list(found.rounds_ms) == ["a", CONTROL_NAME]
    assert found.failed["b"][0] == "run"
    assert "it broke" in found.failed["b"][1]
    assert broken.closed == broken.loaded


def test_where_all_fail_nothing_is_left() -> None:
    found = paired(contenders(a=Counted(fails_at=1)), FEEDS, Deadline(1e6), unwatched, streams=False)
    assert (found.rounds_ms, found.is_void) == ({}, True)


def test_behind_the_deadline_two_sets_are_enough_for_a_claim() -> None:
    found = paired(contenders(a=Counted(), b=Counted()), FEEDS, Deadline(0.0), unwatched, streams=False)
    assert len(found.set_sizes) == 2
