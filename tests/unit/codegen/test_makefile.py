from __future__ import annotations

import ctypes
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from intarsia.codegen import folder
from intarsia.codegen.boards.board import EMULATED
from intarsia.codegen.folder import Recorded
from intarsia.codegen.interface import Options
from intarsia.codegen.makefile import Machine, board_files, make_text
from tests.unit.codegen.projects import expected, project
from tests.unit.codegen.test_project import RECORDED, X, run
from tests.unit.codegen.tools import AARCH64, BOARDS, CC

make_here = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed: apt-get install make")
A72 = Machine(triple="aarch64-linux-gnu", flags=("-mcpu=cortex-a72",))


def on(board: str) -> Machine:
    return Machine(triple="arm-none-eabi", flags=EMULATED[board].flags, board=EMULATED[board])


def test_the_compiler_is_that_of_the_processor_unless_another_is_named() -> None:
    text = make_text(project(), A72, has_test=True)
    assert "ifeq ($(origin CC),default)\nCC = aarch64-linux-gnu-gcc\nendif" in text
    assert re.search("^override CFLAGS .*-mcpu=cortex-a72$", text, re.MULTILINE)
    assert "CC ?= cc" in make_text(project(), Machine(), has_test=True)
    assert not board_files(A72)


@make_here
@BOARDS
@pytest.mark.parametrize("board", EMULATED)
@pytest.mark.parametrize("options", [Options(), Options(link_weights=False)])
def test_make_test_runs_on_an_emulated_board(board: str, options: Options, tmp_path: Path) -> None:
    made = project(options)
    folder.write(made, tmp_path, made.memory, {}, RECORDED, on(board))
    assert run(tmp_path, "make", "test").endswith("right\n")
    assert "y: 2" in run(tmp_path, "make", "example")


@make_here
@BOARDS
def test_a_wrong_answer_on_a_board_fails_the_test(tmp_path: Path) -> None:
    wrong = {name: array + np.float32(name == "y") for name, array in expected(X).items()}
    recorded = Recorded(inputs=RECORDED.inputs, outputs=wrong, allowed=RECORDED.allowed)
    folder.write(project(), tmp_path, {}, {}, recorded, on("mps2-an386"))
    with pytest.raises(AssertionError, match="wrong"):
        run(tmp_path, "make", "test")


@make_here
@AARCH64
def test_make_test_runs_under_the_emulator_of_another_processor(tmp_path: Path) -> None:
    folder.write(project(), tmp_path, {}, {}, RECORDED, A72)
    assert run(tmp_path, "make", "test").endswith("right\n")


@make_here
@CC
def test_make_shared_gives_a_library_that_can_be_loaded(tmp_path: Path) -> None:
    made = project(Options(entry="arguments"))
    folder.write(made, tmp_path, {}, {}, None, Machine())
    run(tmp_path, "make", "shared", "CFLAGS=-O1")
    library = ctypes.CDLL(str(tmp_path / f"lib{made.name}.so"))
    y, z = np.zeros((3, 4), np.float32), np.zeros((3, 4), np.float32)
    memory = np.zeros(made.interface.workspaces[""] + 16, np.uint8)
    workspace = memory[-memory.ctypes.data % 16 :]
    addresses = [ctypes.c_void_p(each.ctypes.data) for each in (X, y, z, workspace)]
    assert getattr(library, f"{made.name}_run")(*addresses) == 0
    np.testing.assert_allclose(y, expected(X)["y"], rtol=1e-6)


@make_here
@AARCH64
def test_make_shared_builds_for_another_processor(tmp_path: Path) -> None:
    folder.write(project(), tmp_path, {}, {}, None, A72)
    run(tmp_path, "make", "shared")
    assert "AArch64" in run(tmp_path, "aarch64-linux-gnu-readelf", "-h", f"lib{project().name}.so")


def test_a_board_has_no_shared_library() -> None:
    assert "shared:" not in make_text(project(), on("mps2-an386"), has_test=False)


def test_the_readme_names_every_file(tmp_path: Path) -> None:
    written = folder.write(project(), tmp_path, {}, {}, RECORDED, on("mps2-an386"))
    text = (tmp_path / "README.md").read_text(encoding="utf-8")
    for path in written:
        inside = path.relative_to(tmp_path)
        assert inside.name == "README.md" or f"`{inside.parts[0]}" in text, inside
