"""A project is built and called, whatever its interface, here and on an emulated board."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from intarsia.backends.contract import Port
from intarsia.codegen.boards.board import EMULATED, Memory
from intarsia.codegen.project import Project
from intarsia.errors import ConfigError
from intarsia.runtime.aot.figures import build_facts
from intarsia.runtime.aot.place import Place, place_of
from intarsia.runtime.aot.program import executable_of, stack_room
from intarsia.target import Target
from tests.unit.codegen.projects import expected, project
from tests.unit.codegen.test_project import OPTIONS, X
from tests.unit.codegen.tools import BOARDS, CC

HERE = place_of(Target("c"))
BOARD = place_of(Target("c -mcpu=cortex-m4 -board=mps2-an386"))


def answers(made: Project, place: Place, x: np.ndarray) -> dict[str, np.ndarray]:
    program = executable_of(made, place)
    try:
        outputs = {value.name: np.zeros(value.shape or (), value.dtype) for value in program.outputs}
        program.bind({"The Input": x}, outputs)()
    finally:
        program.close()
    return outputs


@CC
@pytest.mark.parametrize("name", OPTIONS)
def test_every_interface_answers_here(name: str) -> None:
    for made, wanted in zip(answers(project(OPTIONS[name]), HERE, X).items(), expected(X).items(), strict=True):
        assert made[0] == wanted[0]
        np.testing.assert_allclose(made[1], wanted[1], rtol=1e-6)


@BOARDS
@pytest.mark.parametrize("name", ["array", "structs", "all"])
def test_every_interface_answers_on_a_board(name: str) -> None:
    for made, wanted in zip(answers(project(OPTIONS[name]), BOARD, X).values(), expected(X).values(), strict=True):
        np.testing.assert_allclose(made, wanted, rtol=1e-6)


@CC
def test_two_bound_calls_have_memory_of_their_own_and_follow_their_ports() -> None:
    program = executable_of(project(), HERE)
    ports = [Port(X), Port(-X)]
    outputs = [{value.name: np.zeros(value.shape or (), value.dtype) for value in program.outputs} for _ in ports]
    calls = [program.bind({"The Input": port}, each) for port, each in zip(ports, outputs, strict=True)]
    for call in calls:
        call()
    np.testing.assert_allclose(outputs[1]["y"], expected(-X)["y"], rtol=1e-6)
    ports[0].array = 2 * X
    calls[0]()
    np.testing.assert_allclose(outputs[0]["y"], expected(2 * X)["y"], rtol=1e-6)
    program.close()
    calls[1]()


@BOARDS
def test_code_and_stack_are_measured_on_a_board() -> None:
    facts = build_facts(project(), BOARD)
    assert facts["code_bytes"] > 0
    assert 0 < facts["stack_bytes"] < 2048
    assert facts["stack_chain"][0][0] == "my_net_1_run"


def test_the_stack_gets_what_the_workspace_leaves() -> None:
    made = project()
    board = EMULATED["mps2-an386"]

    def beside(size: int) -> Place:
        memory = Memory(name="sram", address=0x20000000, size=size)
        return replace(BOARD, board=replace(board, memories=(memory, board.flash)))

    assert stack_room(made, BOARD) == 64 * 1024
    assert stack_room(made, beside(8192)) == 8192 - 2048 - 96
    with pytest.raises(ConfigError, match=r"not enough stack: of the 3,000 bytes .* takes 96, .*: 168 bytes are"):
        stack_room(made, beside(3000))
