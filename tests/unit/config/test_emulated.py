"""The instruction set that engines must not exceed, by what two processors have."""

from __future__ import annotations

import pytest

from intarsia.config.emulated import InstructionSet, most_capable
from intarsia.target import Target

PROCESSORS = ("x86-64", "nehalem", "sandybridge", "haswell", "skylake-avx512", "cascadelake", "cooperlake")


def limit(described: str, here: str) -> InstructionSet | None:
    return most_capable(Target(f"llvm -mcpu={described}").features.has, Target(f"llvm -mcpu={here}").features.has)


@pytest.mark.parametrize(
    ("described", "here", "most"),
    [
        ("haswell", "skylake-avx512", InstructionSet.AVX2),
        ("sandybridge", "haswell", InstructionSet.AVX),
        ("nehalem", "haswell", InstructionSet.SSE41),
        ("x86-64", "haswell", InstructionSet.SSE41),
        ("skylake-avx512", "cascadelake", InstructionSet.AVX512),
        ("cascadelake", "cooperlake", InstructionSet.AVX512_VNNI),
        ("cooperlake", "sapphirerapids", InstructionSet.AVX512_BF16),
        ("haswell", "znver3", None),
        ("sapphirerapids", "haswell", None),
    ],
)
def test_a_weaker_processor_is_a_limit(described: str, here: str, most: InstructionSet | None) -> None:
    assert limit(described, here) is most


@pytest.mark.parametrize("name", PROCESSORS)
def test_nothing_holds_a_processor_to_itself_or_to_a_more_capable_one(name: str) -> None:
    stronger = PROCESSORS[PROCESSORS.index(name) :]
    assert all(limit(other, name) is None for other in stronger)


def test_each_has_all_that_is_before_it() -> None:
    limits = [limit(name, "sapphirerapids") for name in PROCESSORS[1:]]
    steps = [list(InstructionSet).index(each) for each in limits if each is not None]
    assert len(steps) == len(limits)
    assert steps == sorted(steps)
