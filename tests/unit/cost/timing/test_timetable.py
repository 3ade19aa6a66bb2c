"""Is there time for this? The end is kept, and a refusal is the same when it is asked again."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from intarsia.cost.records.record import Failure
from intarsia.cost.records.store import Store
from intarsia.cost.thresholds import DURATIONS
from intarsia.cost.timing.timetable import NO_TIME, Timetable
from intarsia.cost.worker.deadline import Deadline
from intarsia.cost.worker.progress import Progress
from tests.unit.search.fakes import MemoryStore


class Clock:
    """Moved by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def timetable(seconds: float, records: MemoryStore | None = None) -> tuple[Timetable, Clock, list[Progress]]:
    clock, told = Clock(), list[Progress]()
    store = cast("Store", records or MemoryStore(Path()))
    return Timetable(Deadline(seconds, clock=clock), store, {"graph": "g"}, told.append), clock, told


def test_without_an_end_there_is_time_for_everything() -> None:
    endless = Timetable()
    assert endless.may({"partition": "p"}, 1e9)
    assert endless.may_benchmark({"race": "r"}, 1e9)
    endless.announce("nothing")
    assert endless.deadline.because == ""


def test_the_end_is_kept() -> None:
    time, clock, _ = timetable(20.0)
    time.process_s = 1.0
    time.whole_took("mnn", 3.0, timed_s=1.0)
    assert 20.0 > time.left_to_benchmark > time.left
    assert time.end_s >= 1.0 + 2.0
    assert time.fits(time.left)
    assert not time.fits(time.left + 0.1)
    time.kept_s = 5.0
    assert time.left < 20.0 - time.end_s - 4.9
    clock.now = 11.0
    assert not time.fits(0.0, until=0.5)


def test_what_took_long_is_expected_to_take_long() -> None:
    time, _, _ = timetable(60.0)
    time.whole_took("mnn", 9.0)
    time.whole_took("mnn", 7.0)
    time.whole_took("openvino", 1.0)
    assert (time.whole_s(["mnn"]), time.whole_s(["openvino"]), time.whole_s(["mnn", "openvino"])) == (7.0, 1.0, 7.0)
    assert 1.0 <= time.whole_s(["ncnn"]) <= 7.0
    assert Timetable(weight_bytes=10**9).writing_s(2) == 2 * (time.writing_s(1) + DURATIONS.save_s_per_gigabyte)
    assert time.set_s([{"mnn"}, {"mnn"}], [5.0, 5.0]) > time.set_s([{"openvino"}, {"openvino"}], [5.0, 5.0])


def test_a_machine_that_wrote_the_graph_quickly_writes_artifacts_quickly() -> None:
    usual, quick, slow = (Timetable(weight_bytes=10**9) for _ in range(3))
    quick.saving_took(0.5)
    slow.saving_took(60.0)  # one slow moment is no reason to try less
    assert quick.writing_s(1) == DURATIONS.write_s + DURATIONS.save_by_graph * 0.5
    assert quick.end_s < usual.end_s
    assert slow.writing_s(1) == usual.writing_s(1)


def test_a_refusal_stands_for_the_same_budget_and_no_other() -> None:
    records = MemoryStore(Path())
    time, clock, _ = timetable(20.0, records)
    clock.now = 19.0
    assert not time.may({"partition": "p"}, 5.0)
    again, _, _ = timetable(20.0, records)
    assert not again.may({"partition": "p"}, 5.0)
    assert again.may({"partition": "q"}, 5.0)
    more, _, _ = timetable(60.0, records)
    assert more.may({"partition": "p"}, 5.0)


def test_a_refusal_is_a_failure_that_says_what_to_do() -> None:
    time, _, _ = timetable(20.0)
    refusal = time.refusal()
    assert isinstance(refusal, Failure)
    assert refusal.stage == NO_TIME
    assert "20 s" in refusal.reason
    assert "--budget" in refusal.reason


def test_more_time_is_announced_once_it_is_known_to_be_needed() -> None:
    time, clock, told = timetable(5.0)
    time.announce("the reference took long")
    assert told == []
    clock.now = 8.0
    time.announce("the reference took long", 2.0)
    (now,) = told
    assert now.stage == "time"
    assert now.note == f"about {time.deadline.seconds:.0f} s in all, because the reference took long"
    assert time.deadline.seconds >= 8.0 + 2.0 + time.end_s
    time.announce("the reference took long", 2.0)
    assert len(told) == 1
