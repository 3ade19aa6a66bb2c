from __future__ import annotations

from pathlib import Path

import pytest

from intarsia.codegen import harness, stack, toolchain
from intarsia.codegen.boards.board import EMULATED, Board
from intarsia.errors import CompileError
from tests.unit.codegen.test_harness import FEEDS, program
from tests.unit.codegen.tools import BOARDS

DEEP = """
static __attribute__((noinline)) float lowest(const float *x)
{
    volatile float big[500];
    for (int i = 0; i < 500; i++) {
        big[i] = x[i % 4];
    }
    return big[3] + expf(big[1]);
}
static __attribute__((noinline)) float middle(const float *x)
{
    volatile float few[20];
    for (int i = 0; i < 20; i++) {
        few[i] = x[i % 4];
    }
    return lowest(x) + few[5];
}
void net(const void *const *inputs, void *const *outputs, void *workspace)
{
    (void)workspace;
    float *y = outputs[0];
    y[0] = middle(inputs[0]);
    y[1] = lowest(inputs[0]) + sinf(y[0]);
    y[2] = y[3] = y[1];
    *(int8_t *)outputs[1] = 1;
}
"""
RECURSIVE = """
static __attribute__((noinline)) int again(volatile int n)
{
    return n == 0 ? 1 : again(n - 1) + n;
}
void net(const void *const *inputs, void *const *outputs, void *workspace)
{
    (void)inputs; (void)workspace;
    *(int8_t *)outputs[1] = (int8_t)again(3);
}
"""
POINTER = """
void net(const void *const *inputs, void *const *outputs, void *workspace)
{
    (void)workspace;
    void *(*volatile call)(void *, const void *, size_t) = memcpy;
    call(outputs[1], inputs[0], 1);
    call(outputs[1], inputs[0], 1);
}
"""
VARYING = """
void net(const void *const *inputs, void *const *outputs, void *workspace)
{
    (void)workspace;
    const float *x = inputs[0];
    volatile char some[(int)x[0] + 1];
    some[0] = 1;
    *(char *)outputs[1] = some[0];
}
"""


def found_of(body: str, folder: Path, board: Board) -> stack.Stack:
    tools = toolchain.cross("arm-none-eabi")
    made = harness.build(program(body), folder, calls=1, board=board, tools=tools)
    return stack.deepest(made, "net", tools, folder.glob("*.su"))


@BOARDS
@pytest.mark.parametrize("board", EMULATED.values(), ids=list(EMULATED))
def test_the_deepest_chain_is_at_least_what_is_measured_and_hardly_more(tmp_path: Path, board: Board) -> None:
    found = found_of(DEEP, tmp_path, board)
    assert found.unknown == ""
    assert [name for name, _ in found.chain[:3]] == ["net", "middle", "lowest"]
    assert sum(size for _, size in found.chain) == found.size
    measured = harness.run(program(DEEP), FEEDS, board=board).stack_bytes
    assert 2080 < measured <= found.size <= measured + 100


@BOARDS
@pytest.mark.parametrize(
    ("body", "why"),
    [
        (RECURSIVE, "again calls itself"),
        (POINTER, "net calls through a pointer"),
        (VARYING, "net takes memory of a size that only running tells"),
    ],
)
def test_what_cannot_be_bounded_is_said(tmp_path: Path, body: str, why: str) -> None:
    assert found_of(body, tmp_path, EMULATED["mps2-an386"]).unknown == why


@BOARDS
def test_what_the_instructions_say_of_a_library_is_what_the_compiler_says(tmp_path: Path) -> None:
    """Of our own functions both are known."""
    board = EMULATED["mps3-an547"]
    stated = found_of(DEEP, tmp_path, board)
    for path in tmp_path.glob("*.su"):
        path.unlink()
    tools = toolchain.cross("arm-none-eabi")
    assert stack.deepest(tmp_path / "program.elf", "net", tools) == stated


@BOARDS
def test_a_function_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    tools = toolchain.cross("arm-none-eabi")
    made = harness.build(program(DEEP), tmp_path, calls=1, board=EMULATED["mps2-an386"], tools=tools)
    with pytest.raises(CompileError, match="has no function other"):
        stack.deepest(made, "other", tools)
