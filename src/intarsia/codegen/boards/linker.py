"""The linker's script of a board: which section lies in which memory."""

from __future__ import annotations

from intarsia.codegen.boards.board import Board


def script(board: Board, stack_bytes: int) -> str:
    """The text of the script.

    The stack begins at the lowest address of the board's first memory, so that what overruns it meets no memory instead
    of somebody's values. A variable in the section ``.memory.NAME`` lies in the memory of that name.
    """
    every = (*board.memories, board.vectors, board.files)
    memories = "\n".join(
        f"    {each.name} ({'rw' if each.is_written else 'rx'}) : ORIGIN = {each.address:#x}, LENGTH = {each.size:#x}"
        for each in every
    )
    named = "\n".join(
        f"    .memory.{each.name} (NOLOAD) : {{ . = ALIGN(16); *(.memory.{each.name}) }} > {each.name}"
        for each in every
        if each.is_written
    )
    data, flash = board.written[0].name, board.flash.name
    return f"""MEMORY
{{
{memories}
}}
ENTRY(reset_handler)
SECTIONS
{{
    .vectors : {{ KEEP(*(.vectors)) }} > {board.vectors.name}
    .text : {{ *(.text .text.*) }} > {flash}
    .ARM.exidx : {{ *(.ARM.exidx* .ARM.extab*) }} > {flash}
    .rodata : {{ . = ALIGN(16); *(.rodata .rodata.*) }} > {flash}
    .stack (NOLOAD) : {{ stack_bottom = .; . += {stack_bytes}; stack_top = .; }} > {data}
    .data : {{ . = ALIGN(16); *(.data .data.*) }} > {data}
    .bss (NOLOAD) : {{
        . = ALIGN(16); bss_start = .; *(.bss .bss.* COMMON); . = ALIGN(4); bss_end = .;
    }} > {data}
{named}
    /DISCARD/ : {{ *(.comment .ARM.attributes .init .fini .init_array* .fini_array* .eh_frame) }}
}}
"""
