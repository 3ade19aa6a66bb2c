"""The Makefile of an exported network, for the processor that its code is written for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from intarsia.codegen.boards.board import Board
from intarsia.codegen.boards.linker import script
from intarsia.codegen.boards.of_target import roomy
from intarsia.codegen.emulator import SYSTEM, board_sources, printing_source
from intarsia.codegen.project import Project
from intarsia.codegen.toolchain import FAMILIES

FOLDER = "board"
"""Where the files lie that only the example and the test need."""
_STACK_BYTES = 16384
"""Of the example and the test, which call ``printf``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What the code is written for.

    Attributes:
        triple: Of the compiler; empty for this machine's own.
        flags: For it.
        board: The emulated board that runs the example and the test, if the processor is that of one.
    """

    triple: str = ""
    flags: tuple[str, ...] = ()
    board: Board | None = None


def board_files(machine: Machine) -> Mapping[str, str]:
    """What the example and the test need on an emulated board: start-up code, ``printf``, the linker's script."""
    if machine.board is None:
        return {}
    board = roomy(machine.board)
    largest = sorted(board.written, key=lambda each: -each.size)
    texts = {**board_sources(), "printing.c": printing_source()}
    texts["board.ld"] = script(replace(board, memories=(*largest, board.flash)), _STACK_BYTES)
    return {f"{FOLDER}/{name}": text for name, text in texts.items()}


def units(project: Project) -> list[str]:
    """The files of C and assembly that are compiled into the library, without those of another one."""
    return [each for each in (*project.own_sources(), *project.weight_sources()) if each.endswith((".c", ".s"))]


def make_text(project: Project, machine: Machine, *, has_test: bool) -> str:
    """``Makefile``: ``make``, ``make example``, ``make test``, and ``make shared`` under an operating system."""
    name = project.name
    objects = [each[:-1] + "o" for each in units(project)]
    lines = [*_tools(machine), "CFLAGS ?= -O3", f"override CFLAGS += {' '.join(['-std=c99', *machine.flags])}"]
    if project.sources:
        folders = " ".join(
            [*(f"-I$(INTARSIA_LIBRARY)/{e}" for e in project.include_folders), *(f"-D{e}" for e in project.defines)]
        )
        lines += ["ifndef INTARSIA_LIBRARY", "$(error say where the library lies: make INTARSIA_LIBRARY=/path)"]
        lines += ["endif", f"override CFLAGS += {folders}", f"LIBRARY = {' '.join(project.sources)}"]
        lines += ["LIBRARY_OBJECTS = $(notdir $(LIBRARY:.c=.o))"]
        lines += ["vpath %.c $(sort $(dir $(addprefix $(INTARSIA_LIBRARY)/,$(LIBRARY))))"]
        objects.append("$(LIBRARY_OBJECTS)")
    lines += [f"OBJECTS = {' '.join(objects)}", *_running(machine), ""]
    lines += [f"lib{name}.a: $(OBJECTS)", "\t$(AR) rcs $@ $(OBJECTS)", "", f"$(OBJECTS): {name}.h", ""]
    if project.assembly:
        lines += ["%.o: %.s", "\t$(CC) $(CFLAGS) -c -o $@ $<", ""]
    programs = [("example", "main.c"), *([("test", f"{name}_test.c")] if has_test else [])]
    math = " -lm" if project.needs_math else ""
    for what, file in programs:
        lines += [f"{name}_{what}: {file} lib{name}.a $(BOARD)"]
        lines += [f"\t$(CC) $(CFLAGS) -o $@ {file} $(BOARD) lib{name}.a $(LDFLAGS){math}", ""]
        lines += [f"{what}: {name}_{what}", f"\t$(RUN) ./{name}_{what}", ""]
    made = [f"lib{name}.a", *(f"{name}_{what}" for what, _ in programs)]
    if machine.board is None:
        sources = [*units(project), *(["$(addprefix $(INTARSIA_LIBRARY)/,$(LIBRARY))"] if project.sources else [])]
        lines += [f"lib{name}.so: {' '.join(sources)} {name}.h"]
        lines += [f"\t$(CC) $(CFLAGS) -fPIC -shared -o $@ $(filter %.c %.s,$^){math}", "", f"shared: lib{name}.so", ""]
        made.append(f"lib{name}.so")
    lines += ["clean:", f"\trm -f $(OBJECTS) {' '.join(made)}", "", ".PHONY: example test shared clean", ""]
    return "\n".join(lines)


def _tools(machine: Machine) -> Iterator[str]:
    """Which compiler it is; whoever says ``make CC=...`` has another one."""
    for variable, own, program in (("CC", "cc", "gcc"), ("AR", "ar", "ar")):
        if machine.triple:
            yield f"ifeq ($(origin {variable}),default)"
            yield f"{variable} = {machine.triple}-{program}"
            yield "endif"
        else:
            yield f"{variable} ?= {own}"


def _running(machine: Machine) -> Iterator[str]:
    """How the example and the test are linked and run."""
    board, family = machine.board, FAMILIES.get(machine.triple)
    if board is not None:
        yield f"BOARD = {FOLDER}/board.c {FOLDER}/printing.c"
        yield f"LDFLAGS += -nostartfiles --specs=nosys.specs -T{FOLDER}/board.ld"
        yield (
            f"RUN ?= {SYSTEM} -M {board.name} -display none -monitor none -serial none -semihosting-config "
            "enable=on,target=native -kernel"
        )
    elif family is not None and family.emulator:
        yield "LDFLAGS += -static"
        yield f"RUN ?= {family.emulator}"
