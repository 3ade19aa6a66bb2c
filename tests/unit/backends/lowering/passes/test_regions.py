"""Regions: what an engine takes as a whole becomes one instruction, and no value leaves it to come back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from intarsia.backends.lowering.passes.regions import REGION, Region, join
from intarsia.backends.lowering.program import Instruction, Program


def random_program(seed: int) -> tuple[Program, set[int]]:
    rng = np.random.default_rng(seed)
    made = [
        Instruction("input", (), {"name": "a"}, "int8", (4,)),
        Instruction("input", (), {"name": "b"}, "int8", (4,)),
    ]
    taken = set()
    for place in range(2, 2 + int(rng.integers(1, 14))):
        reads = tuple(int(each) for each in rng.integers(0, place, 2))
        name = "reshape" if rng.random() < 0.2 else "q_add"
        made.append(Instruction(name, reads[: 1 if name == "reshape" else 2], {}, "int8", (4,), (f"n{place}",)))
        if rng.random() < 0.6:
            taken.add(place)
    outputs = {"y": len(made) - 1, "z": int(rng.integers(2, len(made)))}
    return Program(instructions=tuple(made), outputs=outputs, constants={}), taken


def values(program: Program, feeds: dict[str, int], regions: Sequence[Region] = ()) -> dict[str, Any]:
    found: list[Any] = []
    for each in program.instructions:
        reads = [found[read] for read in each.reads]
        if each.name == "input":
            found.append(feeds[each.attributes["name"]])
        elif each.name == REGION:
            inner = regions[each.attributes["number"]].program
            named: dict[str, Any] = dict(zip(inner.inputs, reads, strict=True))
            results = list(values(inner, named).values())
            found.append(results[0] if len(results) == 1 else results)
        elif each.name == "slice":
            found.append(reads[0][each.attributes["starts"][0] // 4])
        elif each.name == "reshape":
            found.append(reads[0])
        else:
            found.append(hash((each.name, *reads)))
    return {name: found[place] for name, place in program.outputs.items()}


@settings(max_examples=200, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_a_program_with_regions_computes_the_same(seed: int) -> None:
    program, taken = random_program(seed)
    joined, _, regions = join(program, {}, taken)
    feeds = {"a": 11, "b": 17}
    assert values(joined, feeds, regions) == values(program, feeds)
    assert list(joined.inputs) == list(program.inputs)
    for place, each in enumerate(joined.instructions):
        assert all(read < place for read in each.reads)
    for region in regions:
        assert any(each.name == "q_add" for each in region.program.instructions)


def test_views_alone_are_no_region() -> None:
    made = (
        Instruction("input", (), {"name": "a"}, "int8", (4,)),
        Instruction("reshape", (0,), {}, "int8", (2, 2), ("n",)),
    )
    joined, _, regions = join(Program(instructions=made, outputs={"y": 1}, constants={}), {}, {1})
    assert not regions
    assert joined.instructions[1].name == "reshape"
