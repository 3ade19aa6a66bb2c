from __future__ import annotations

import pytest

from intarsia.backends.c.processor import Processor
from intarsia.target import Target


@pytest.mark.parametrize(
    ("text", "bytes_", "registers", "pointer"),
    [
        ("c -mcpu=skylake-avx512", 64, 32, 8),
        ("c -mcpu=haswell", 32, 16, 8),
        ("c -mcpu=nehalem", 16, 16, 8),
        ("c -mcpu=cortex-a76 -mtriple=aarch64-linux-gnu", 16, 32, 8),
        ("c -mcpu=cortex-m4", 4, 32, 4),
        ("c -mcpu=cortex-m55", 4, 32, 4),
    ],
)
def test_vectors_follow_from_the_target(text: str, bytes_: int, registers: int, pointer: int) -> None:
    found = Processor.of(Target(text))
    assert (found.vector_bytes, found.vector_registers, found.pointer_bytes) == (bytes_, registers, pointer)


def test_microcontrollers_say_what_they_can_do() -> None:
    assert (Processor.of(Target("c -mcpu=cortex-m4")).has_dsp, Processor.of(Target("c -mcpu=cortex-m4")).has_mve) == (
        True,
        False,
    )
    assert Processor.of(Target("c -mcpu=cortex-m55")).has_mve
    assert not Processor.of(Target("c -mcpu=cortex-m3")).has_dsp


def test_a_target_that_says_nothing_is_this_machine() -> None:
    assert Processor.of(Target("c")) == Processor.of(Target(str(Target.detect()).replace("llvm", "c")
                                                            .replace(" -num-cores=", " -threads=")))  # fmt: skip
    assert Processor.of(Target("c")).architecture == Target.detect().features.architecture


def test_lanes() -> None:
    assert [Processor(vector_bytes=32).lanes(size) for size in (1, 4, 8)] == [32, 8, 4]
    assert Processor().lanes(8) == 1
