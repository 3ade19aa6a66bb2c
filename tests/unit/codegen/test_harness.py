from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from intarsia.codegen import harness, toolchain
from intarsia.codegen.boards.board import EMULATED, Board
from intarsia.codegen.harness import Array, Program
from intarsia.codegen.toolchain import Build
from intarsia.errors import BackendTimeoutError, CompileError, ConfigError, ExecutionError
from tests.unit.codegen.tools import AARCH64, BOARDS, CC, RISCV64

HEAD = """#include <math.h>
#include <string.h>
#include "io.h"
void net(const void *const *inputs, void *const *outputs, void *workspace);
"""
BODY = """static const float weights[4] = {1.0f, 2.0f, 3.0f, 4.0f};
void net(const void *const *inputs, void *const *outputs, void *workspace)
{
    const float *x = inputs[0];
    float *y = outputs[0], *t = workspace;
    for (int i = 0; i < 4; i++) {
        t[i] = x[i] * weights[i];
    }
    io_mark();
    io_mark();
    for (int i = 0; i < 4; i++) {
        y[i] = expf(t[i]);
    }
    *(int8_t *)outputs[1] = (int8_t)t[3];
}
"""
FEEDS: list[tuple[np.ndarray, ...]] = [(np.arange(4, dtype=np.float32) / 4,), (-np.ones(4, dtype=np.float32),)]


def program(body: str = BODY) -> Program:
    return Program(
        what=Build(sources={"net.c": HEAD + body}, strict=True),
        entry="net",
        inputs=(Array(dtype="float32", shape=(4,)),),
        outputs=(Array(dtype="float32", shape=(4,)), Array(dtype="int8", shape=(1, 1))),
        workspace=16,
    )


def check(found: harness.Outcome) -> None:
    for (x,), (y, last) in zip(FEEDS, found.results, strict=True):
        np.testing.assert_allclose(y, np.exp(x * np.arange(1, 5, dtype=np.float32)), rtol=1e-6)
        assert last.tolist() == [[int(x[3] * 4)]]


@CC
def test_a_program_runs_on_this_machine() -> None:
    found = harness.run(program(), FEEDS)
    check(found)
    assert found.counts == ()


@BOARDS
@pytest.mark.parametrize("board", EMULATED.values(), ids=list(EMULATED))
def test_a_program_runs_on_a_board_and_its_instructions_are_counted_exactly(board: Board) -> None:
    first, second = (harness.run(program(), FEEDS, board=board, counted=True) for _ in range(2))
    check(first)
    assert first.counts == second.counts
    for before, nothing, behind in first.counts:
        assert nothing <= 2  # what the compiler puts there
        assert 4 < before < behind < 10_000
    assert 0 < first.stack_bytes < 500


@BOARDS
@pytest.mark.parametrize("board", EMULATED.values(), ids=list(EMULATED))
def test_a_loop_of_known_length_has_as_many_instructions(board: Board) -> None:
    body = """void net(const void *const *inputs, void *const *outputs, void *workspace)
{
    (void)inputs; (void)outputs; (void)workspace;
    io_mark();
    __asm__ volatile("mov r3, #1000\\n1: subs r3, #1\\n bne 1b" ::: "r3", "cc");
    io_mark();
    __asm__ volatile("nop");
}
"""
    found = harness.run(program(body), FEEDS, board=board, counted=True)
    assert [each[1] for each in found.counts] == [1 + 2 * 1000] * 2


@AARCH64
def test_a_program_runs_as_one_for_aarch64() -> None:
    check(harness.run(program(), FEEDS, tools=toolchain.cross("aarch64-linux-gnu")))


@RISCV64
def test_a_program_runs_as_one_for_riscv() -> None:
    check(harness.run(program(), FEEDS, tools=toolchain.cross("riscv64-linux-gnu")))


@BOARDS
def test_vector_instructions_run_on_the_m55() -> None:
    body = """#include <arm_mve.h>
void net(const void *const *inputs, void *const *outputs, void *workspace)
{
    (void)workspace;
    const int32x4_t every = vcvtq_s32_f32(vldrwq_f32(inputs[0]));
    *(int8_t *)outputs[1] = (int8_t)vaddvq_s32(every);
    memset(outputs[0], 0, 16);
}
"""
    feeds: list[tuple[np.ndarray, ...]] = [(np.arange(10, 14, dtype=np.float32),)]
    found = harness.run(program(body), feeds, board=EMULATED["mps3-an547"])
    assert found.results[0][1].tolist() == [[46]]


@BOARDS
def test_the_stack_is_measured() -> None:
    body = """void net(const void *const *inputs, void *const *outputs, void *workspace)
{
    volatile uint8_t big[3000];
    (void)inputs; (void)workspace;
    for (int i = 0; i < 3000; i++) {
        big[i] = (uint8_t)i;
    }
    *(uint8_t *)outputs[1] = big[7];
}
"""
    for board in EMULATED.values():
        assert 3000 <= harness.run(program(body), FEEDS, board=board).stack_bytes < 3100


@BOARDS
@pytest.mark.parametrize("board", EMULATED.values(), ids=list(EMULATED))
def test_a_stack_that_is_too_small_is_an_error(board: Board) -> None:
    body = """void net(const void *const *inputs, void *const *outputs, void *workspace)
{
    volatile uint8_t big[8000];
    (void)inputs; (void)workspace;
    for (int i = 0; i < 8000; i++) {
        big[i] = (uint8_t)i;
    }
    *(uint8_t *)outputs[1] = big[7];
}
"""
    with pytest.raises(ExecutionError, match="the stack is too small"):
        harness.run(program(body), FEEDS, board=board, stack_bytes=4096)


@BOARDS
def test_what_does_not_fit_says_by_how_many_bytes() -> None:
    large = replace(program(), workspace=5 << 20)
    with pytest.raises(ConfigError, match=r"missing are 1,1\d\d,\d\d\d bytes in sram"):
        harness.run(large, FEEDS, board=EMULATED["mps2-an386"])
    check(harness.run(replace(large, workspace_memory="psram"), FEEDS, board=EMULATED["mps2-an386"]))


@BOARDS
def test_a_program_that_does_not_end_is_ended() -> None:
    body = """void net(const void *const *inputs, void *const *outputs, void *workspace)
{
    (void)inputs; (void)outputs; (void)workspace;
    for (;;) {
        io_mark();
    }
}
"""
    with pytest.raises(BackendTimeoutError, match="did not end within 2 s"):
        harness.run(program(body), FEEDS, board=EMULATED["mps2-an386"], timeout_s=2)


@CC
def test_a_compiler_s_words_are_in_the_error() -> None:
    with pytest.raises(CompileError, match="undeclared"):
        harness.run(program("void net(const void *const *i, void *const *o, void *w) { x = 1; }"), FEEDS)
    with pytest.raises(CompileError, match="unused parameter"):
        harness.run(program("void net(const void *const *i, void *const *o, void *w) { }"), FEEDS)


@CC
def test_a_program_that_ends_badly_is_an_error() -> None:
    body = """void net(const void *const *inputs, void *const *outputs, void *workspace)
{
    (void)inputs; (void)outputs; (void)workspace;
    io_say("no more");
    io_exit(7);
}
"""
    with pytest.raises(ExecutionError, match="ended with 7: no more"):
        harness.run(program(body), FEEDS)
