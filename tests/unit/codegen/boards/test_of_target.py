from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from intarsia import Target
from intarsia.codegen import harness
from intarsia.codegen.boards.board import EMULATED, Memory
from intarsia.codegen.boards.of_target import emulated, flags, memories, roomy
from intarsia.codegen.harness import Array, Program
from intarsia.codegen.toolchain import Build
from intarsia.errors import ConfigError
from intarsia.target import list_tags
from intarsia.target.kinds.devices import EMULATED_BOARDS
from tests.unit.codegen.tools import BOARDS


def test_targets_name_the_boards_that_there_are() -> None:
    assert set(EMULATED_BOARDS) == set(EMULATED)


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("c -mcpu=cortex-m0plus", "-mcpu=cortex-m0plus -mthumb -mfloat-abi=soft"),
        ("c -mcpu=cortex-m3", "-mcpu=cortex-m3 -mthumb -mfloat-abi=soft"),
        ("c -mcpu=cortex-m4", "-mcpu=cortex-m4 -mthumb -mfpu=auto -mfloat-abi=hard"),
        ("c -mcpu=cortex-m4+nofp", "-mcpu=cortex-m4+nofp -mthumb -mfloat-abi=soft"),
        ("c -mcpu=cortex-m33 -mattr=-dsp", "-mcpu=cortex-m33+nodsp -mthumb -mfpu=auto -mfloat-abi=hard"),
        ("c -mcpu=cortex-m55", "-mcpu=cortex-m55 -mthumb -mfpu=auto -mfloat-abi=hard"),
        ("c -mcpu=cortex-m55+nomve", "-mcpu=cortex-m55+nomve -mthumb -mfpu=auto -mfloat-abi=hard"),
        ("c -mcpu=cortex-m55 -mattr=-mve.fp", "-mcpu=cortex-m55+nomve.fp -mthumb -mfpu=auto -mfloat-abi=hard"),
        ("c -march=armv6s-m", "-march=armv6s-m -mthumb"),
        ("c -board=mps2-an386", " ".join(EMULATED["mps2-an386"].flags)),
        ("c", "-mthumb"),
    ],
)
def test_flags(target: str, expected: str) -> None:
    assert " ".join(flags(Target(target))) == expected


@pytest.mark.parametrize(
    ("target", "board"),
    [
        ("c -mcpu=cortex-m0", "mps2-an385"),
        ("c -mcpu=cortex-m4", "mps2-an386"),
        ("c -mcpu=cortex-m7", "mps2-an500"),
        ("c -mcpu=cortex-m33+nodsp", "mps3-an547"),
        ("c -mcpu=cortex-m4 -board=mps2-an500", "mps2-an500"),
        ("c -mcpu=cortex-a53", None),
        ("c", None),
    ],
)
def test_the_board_that_runs_a_target_s_programs(target: str, board: str | None) -> None:
    found = emulated(Target(target))
    assert (None if found is None else found.name) == board


def test_stated_memories_lie_inside_those_of_the_board() -> None:
    target = Target("c -mcpu=cortex-m7 -ram=dtcm:131072,sram:393216,slow:262144 -flash=2097152")
    found = emulated(target)
    assert found is not None
    assert found.memories == (
        Memory(name="dtcm", address=0x20000000, size=131072),
        Memory(name="sram", address=0x20020000, size=393216),
        Memory(name="slow", address=0x20080000, size=262144),
        Memory(name="flash", address=0x400, size=2097152, is_written=False),
    )
    assert [(each.name, each.size) for each in memories(target)] == [
        ("dtcm", 131072), ("sram", 393216), ("slow", 262144), ("flash", 2097152)
    ]  # fmt: skip


def test_a_target_without_figures_has_the_memories_of_the_board_that_it_names() -> None:
    assert memories(Target("c -board=mps3-an547")) == EMULATED["mps3-an547"].memories
    assert memories(Target("c -mcpu=cortex-m55")) == ()


def test_a_memory_that_no_board_holds_is_an_error() -> None:
    with pytest.raises(ConfigError, match="sram: the emulated board mps2-an386 has no memory of 99,999,999 bytes"):
        emulated(Target("c -mcpu=cortex-m4 -ram=sram:99999999"))


@pytest.mark.parametrize(
    "target", ["c -mcpu=cortex-m4 -ram=sram:8192 -flash=65536", "c -mcpu=cortex-m4 -ram=sram:8192 -flash=8000000"]
)
def test_a_roomy_board_has_all_memory_that_is_emulated_and_the_target_s_flags(target: str) -> None:
    board = emulated(Target(target))
    assert board is not None
    found = roomy(board)
    assert found.written[0] == EMULATED["mps2-an386"].written[0]
    assert found.flash.size >= max(board.flash.size, 4_000_000)
    assert found.flags == board.flags
    spans = sorted((each.address, each.address + each.size) for each in (*found.memories, found.vectors, found.files))
    assert all(end <= start for (_, end), (start, _) in pairwise(spans))


NET = """#include "io.h"
void net(const void *const *inputs, void *const *outputs, void *workspace);
void net(const void *const *inputs, void *const *outputs, void *workspace)
{
    const int8_t *x = inputs[0];
    int8_t *t = workspace, *y = outputs[0];
    for (int i = 0; i < 64; i++) {
        t[i] = (int8_t)(x[i] / 2);
    }
    for (int i = 0; i < 64; i++) {
        y[i] = (int8_t)(t[63 - i] + 1);
    }
}
"""


@BOARDS
@pytest.mark.parametrize(
    "target",
    [
        *(f"c -mcpu={name}" for board in EMULATED.values() for name in board.processors if name != "cortex-m85"),
        "c -mcpu=cortex-m4+nofp -ram=tiny:8192 -flash=16384",
        "c -mcpu=cortex-m55 -mattr=-mve",
    ],
)
def test_programs_for_each_processor_run(target: str) -> None:
    x = np.arange(-32, 32, dtype=np.int8)
    array = Array(dtype="int8", shape=(64,))
    program = Program(
        what=Build(sources={"net.c": NET}, strict=True), entry="net", inputs=(array,), outputs=(array,), workspace=64
    )
    found = harness.run(program, [(x,)], board=emulated(Target(target)), counted=True, stack_bytes=4096)
    np.testing.assert_array_equal(found.results[0][0], (x / 2).astype(np.int8)[::-1] + 1)
    assert found.instructions > 100


@BOARDS
def test_a_program_that_is_too_large_for_the_target_does_not_fit_the_emulated_board() -> None:
    array = Array(dtype="int8", shape=(64,))
    program = Program(
        what=Build(sources={"net.c": NET}), entry="net", inputs=(array,), outputs=(array,), workspace=3000
    )
    board = emulated(Target("c -mcpu=cortex-m4 -ram=sram:6144 -flash=65536"))
    with pytest.raises(ConfigError, match=r"missing are [\d,]+ bytes in sram"):
        harness.run(program, [(np.zeros(64, np.int8),)], board=board, stack_bytes=4096)


MICROCONTROLLERS = [
    name for name, tag in sorted(list_tags().items()) if tag.level == "target" and Target(name).kind.name == "c"
]


@pytest.mark.parametrize("name", MICROCONTROLLERS)
def test_the_memories_of_a_shipped_target_fit_the_board_that_stands_for_it(name: str) -> None:
    target = Target(name)
    board = emulated(target)
    assert board is not None
    assert flags(target)[0].startswith(f"-mcpu={target.mcpu}")
    stated = {each.name: each.size for each in memories(target)}
    assert {each.name: each.size for each in board.memories if each.name in stated} == stated
    spans = sorted((each.address, each.address + each.size) for each in (*board.memories, board.vectors, board.files))
    assert all(end <= start for (_, end), (start, _) in pairwise(spans))
