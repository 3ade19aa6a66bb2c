from __future__ import annotations

import re
from pathlib import Path

import pytest

from intarsia.codegen import harness, link_map, processes, toolchain
from intarsia.codegen.boards.board import EMULATED, Board
from intarsia.codegen.link_map import CODE, CONSTANTS, DATA, ZEROS
from intarsia.errors import CompileError
from tests.unit.codegen.test_harness import program
from tests.unit.codegen.tools import BOARDS, CC

MAP = """
Discarded input sections

 .text.gone     0x0000000000000000      0x100 /tmp/net.2.o

Linker script and memory map

LOAD /tmp/net.2.o

.text           0x0000000000000400       0x90
 *(.text .text.*)
 .text.net      0x0000000000000400       0x60 /tmp/net.2.o
 .text.a_very_long_name
                0x0000000000000460       0x24 /tmp/other.3.o
                0x0000000000000460                a_very_long_name
 *fill*         0x0000000000000484        0x4 
 .text.expf     0x0000000000000488        0x8 /usr/lib/libm.a(lib_a-ef_exp.o)

.rodata         0x0000000000000490       0x10
 .rodata.weights
                0x0000000000000490       0x10 /tmp/net.2.o

.bss            0x0000000020000000       0x20
 COMMON         0x0000000020000000       0x20 /tmp/net.2.o

.debug_info     0x0000000000000000      0x999
 .debug_info    0x0000000000000000      0x999 /tmp/net.2.o
"""


def test_parts_are_summed_by_kind_and_file(tmp_path: Path) -> None:
    path = tmp_path / "map.txt"
    path.write_text(MAP, encoding="utf-8")
    found = link_map.read(path)
    assert dict(found.sizes) == {
        (CODE, "net.2.o"): 0x60,
        (CODE, "other.3.o"): 0x24,
        (CODE, link_map.PADDING): 4,
        (CODE, "libm.a:lib_a-ef_exp.o"): 8,
        (CONSTANTS, "net.2.o"): 16,
        (ZEROS, "net.2.o"): 32,
    }
    assert found.total(CODE) == 0x90
    assert found.total(CODE, without=("net", "libm")) == 0x28
    assert found.of("net") == {CODE: 0x60, CONSTANTS: 16, ZEROS: 32}


def test_what_is_no_map_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "map.txt").write_text("nothing", encoding="utf-8")
    with pytest.raises(CompileError, match=r"map.txt is not a map of GNU ld"):
        link_map.read(tmp_path / "map.txt")


BODY = f"""static const float weights[40] = {{{", ".join(f"{number * number}.0f" for number in range(1, 41))}}};
void net(const void *const *inputs, void *const *outputs, void *workspace)
{{
    (void)workspace;
    const float *x = inputs[0];
    float *y = outputs[0];
    for (int i = 0; i < 4; i++) {{
        y[i] = weights[(int)x[i]] + expf(x[i]);
    }}
    *(int8_t *)outputs[1] = 0;
}}
"""


@BOARDS
@pytest.mark.parametrize("board", EMULATED.values(), ids=list(EMULATED))
def test_the_sums_are_those_of_the_program(tmp_path: Path, board: Board) -> None:
    tools = toolchain.cross("arm-none-eabi")
    made = harness.build(program(BODY), tmp_path, calls=1, board=board, tools=tools)
    found = link_map.read(tmp_path / harness.MAP)
    listing = processes.run([tools.tool("size"), "-A", made], name="size", timeout_s=60).stdout
    sections = {name: int(size) for name, size in re.findall(r"^(\.\S+)\s+(\d+)", listing, re.M)}
    assert found.total(CODE) == sections[".vectors"] + sections[".text"] + sections.get(".ARM.exidx", 0)
    assert found.total(CONSTANTS) == sections[".rodata"]
    assert found.total(DATA) == sections.get(".data", 0)
    assert found.of("net")[CONSTANTS] >= 160
    assert found.total(ZEROS) >= sum(size for name, size in sections.items() if name in (".bss", ".memory.files"))


@CC
def test_the_map_of_a_program_of_this_machine_is_read(tmp_path: Path) -> None:
    harness.build(program(BODY), tmp_path, calls=1, board=None, tools=toolchain.host())
    found = link_map.read(tmp_path / harness.MAP)
    assert found.of("net")[CODE] > 20
    assert found.of("net")[CONSTANTS] >= 160
