"""A search's result comes back from the store as it was."""

from __future__ import annotations

import json
import math
from dataclasses import replace

from intarsia.config import RunSettings, Spin
from intarsia.partition import Partition
from intarsia.search import Candidate, CollageResult, Known, Mix
from intarsia.search.replay import from_json, search_key, to_json
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
        atoms=3,
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
