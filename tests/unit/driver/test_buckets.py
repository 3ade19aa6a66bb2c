"""Each bucket of sizes is searched with its share of the time; a plan that fails at an end is searched for again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from onnx import helper

from intarsia.cost.records.store import open_store
from intarsia.cost.worker.deadline import Deadline
from intarsia.cost.worker.progress import Progress
from intarsia.driver import CompileSettings, buckets
from intarsia.errors import BackendError, MismatchError
from intarsia.evaluation.bucket_bounds import EndFault
from intarsia.graph.bind import ranges_of
from intarsia.graph.ranges import all_buckets
from intarsia.planning.request import Request
from intarsia.runtime import CompiledModel
from tests.unit.graph.models import info, model
from tests.unmeasured import unmeasured

NEGATED = model([helper.make_node("Neg", ["x"], ["y"])], [info("x", ("n",))], [info("y", ("n",))])


class Searches:
    """Searches that measure nothing, and the faults that the check of the ends finds, one after the other."""

    def __init__(self, store: Path) -> None:
        self.requests: list[Request] = []
        self.faults: Iterator[EndFault] = iter(())
        self.seconds = 100.0
        self.late = ""
        self._records = open_store(store)

    def stages(self, request: Request, _: object, __: object, time: Deadline) -> CompiledModel:
        self.requests.append(request)
        if self.late:
            time.announce(500.0, self.late)
        return unmeasured(request.model, "reference", shapes=request.shapes)

    def run(self, watch: Any = lambda _: None, **settings: Any) -> CompiledModel:
        stated = CompileSettings(shapes={"n": "1..8/4,8"}, budget=self.seconds, **settings)
        ranges = all_buckets(ranges_of(stated.shapes or {}))
        request = stated.request(NEGATED.SerializeToString(), "reference")
        return buckets.run_buckets(request, ranges, self._records, watch, Deadline(self.seconds))


@pytest.fixture
def searches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Searches:
    found = Searches(tmp_path / "records.sqlite")
    monkeypatch.setattr(buckets, "run_stages", found.stages)
    monkeypatch.setattr(buckets, "check_ends", lambda *_: next(found.faults, None))
    monkeypatch.setattr(buckets, "report_of_sizes", lambda _: {"search": {}, "verified": True})
    return found


def fault(error: type[BackendError] | type[MismatchError]) -> EndFault:
    made = MismatchError("y is wrong") if error is MismatchError else BackendError("reference", "it crashed")
    return EndFault(place=1, error=made, reason="fails at n=8")


def test_each_bucket_is_searched_with_its_share_of_the_time(searches: Searches) -> None:
    with searches.run() as compiled:
        assert [str((each.shapes or {})["n"]) for each in searches.requests] == ["1..4", "5..8"]
        assert {each.search.budget_s for each in searches.requests} == {42.5}
        assert compiled.report["search"] == {"announced_s": None, "announced_because": None}


def test_what_fails_at_an_end_is_searched_again_without_its_engine(searches: Searches) -> None:
    searches.faults = iter([fault(BackendError)])
    with searches.run() as compiled:
        assert [dict(each.barred) for each in searches.requests] == [{}, {}, {"reference": "reference fails at n=8"}]
        assert compiled.report["verified"]


def test_where_no_engine_is_left_the_fault_is_the_error(searches: Searches) -> None:
    searches.faults = iter([fault(BackendError)] * 3)
    with pytest.raises(BackendError, match="it crashed"):
        searches.run()


def test_a_wrong_plan_ships_unverified_unless_that_is_refused(searches: Searches) -> None:
    searches.faults = iter([fault(MismatchError)] * 3)
    with searches.run() as compiled:
        assert not compiled.report["verified"]
        assert "ships unverified: y is wrong; --strict refuses it" in compiled.report["reason"]
        assert not compiled.plan.settings.verified
    searches.faults = iter([fault(MismatchError)] * 3)
    with pytest.raises(MismatchError):
        searches.run(strict=True)


def test_a_search_that_takes_longer_than_its_share_is_announced(searches: Searches) -> None:
    searches.seconds, searches.late = 0.0, "reading took 9 s"
    notes: list[Progress] = []
    with searches.run(notes.append):
        assert notes[0].note.endswith(" s in all, because reading took 9 s at one of 2 ranges of sizes")
