"""A search's result comes back from the store as it was."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from intarsia.config import RunSettings, Spin
from intarsia.errors import IntarsiaError
from intarsia.partitioning import Partition
from intarsia.planning.problem import Candidate
from intarsia.search.collage.collage import CollageResult, Mix
from intarsia.search.collage.edge_costs import Known
from intarsia.search.collage.search_cache import from_json, search_key, to_json
from intarsia.target import Target
from tests.unit.search.fakes import chain_problem

ONE, TWO = Target("reference -threads=1"), Target("reference")
SETTINGS = RunSettings(threads=2, spin=Spin.NEVER)
INSIDE = RunSettings(threads=2, spin=Spin.FREE, embed=True)
PROBLEM = chain_problem(3, [ONE, TWO])
PARTS = (Partition(target=ONE, nodes=("n0",)), Partition(target=TWO, nodes=("n1", "n2")))
MIX = Candidate(name="collage", label="collage", partitions=PARTS, settings=SETTINGS, predicted_ms=(1.5, None))


def test_a_result_survives_json() -> None:
    result = CollageResult(
        mixes=(Mix(candidate=MIX, measured_ms=2.5), Mix(candidate=replace(MIX, settings=INSIDE), measured_ms=3.0)),
        segments=3,
        rounds=4,
        is_finished=False,
        known=(
            Known(start=0, end=1, target=ONE, after=None, ms=1.5),
            Known(start=1, end=3, target=TWO, after=ONE, ms=math.inf),
        ),
        shares={ONE: (1.0, 2.0, math.inf), TWO: (1.0, 1.0, 1.0)},
        candidates=12,
    )
    assert from_json(PROBLEM, json.loads(json.dumps(to_json(PROBLEM, result)))) == result


def test_another_budget_seed_or_target_is_another_question() -> None:
    def digest(
        budget_s: float = 60.0, seed: int = 0, targets: tuple[Target, ...] = (ONE, TWO), *, prune: bool = True
    ) -> str:
        settings = replace(PROBLEM.settings, budget_s=budget_s, seed=seed, prune=prune)
        return search_key(replace(PROBLEM, settings=settings), targets, SETTINGS).digest

    assert digest() == digest()
    others = {digest(budget_s=1.0), digest(seed=1), digest(targets=(TWO, ONE)), digest(prune=False)}
    assert len({digest(), *others}) == 5


SPOILT: dict[str, Callable[[Any], object]] = {
    "a node too many": lambda data: data["mixes"][0]["partitions"][0][1].append(9),
    "a node twice": lambda data: data["mixes"][0]["partitions"][0][1].append(1),
    "a node too few": lambda data: data["mixes"][0]["partitions"][1][1].pop(),
    "an order that cannot run": lambda data: data["mixes"][0]["partitions"].reverse(),
    "an engine that was not asked for": lambda data: data["mixes"][0]["partitions"][0].__setitem__(0, "mnn"),
    "an engine that there is not": lambda data: data["mixes"][0]["partitions"][0].__setitem__(0, "-x y"),
    "other segments": lambda data: data.update(segments=4, shares={}, known=[]),
}


@pytest.mark.parametrize("spoil", SPOILT)
def test_a_record_that_does_not_fit_the_model_is_refused(spoil: str) -> None:
    result = CollageResult(mixes=(Mix(candidate=MIX, measured_ms=2.5),), segments=3, rounds=1, is_finished=True)
    data = to_json(PROBLEM, result)
    assert from_json(PROBLEM, data) == result
    data = json.loads(json.dumps(data))
    SPOILT[spoil](data)
    with pytest.raises((ValueError, IntarsiaError)):
        from_json(PROBLEM, data)
