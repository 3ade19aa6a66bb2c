from __future__ import annotations

from intarsia.report.program_lines import answer_line, memory_lines

PROGRAM = {
    "arenas": [
        {"memory": "dtcm", "bytes": 2048, "lower_bound": 2000},
        {"memory": "sram", "bytes": 0, "lower_bound": 0},
    ],
    "weights_bytes": 12345,
    "input_bytes": 490,
    "output_bytes": 12,
    "link_weights": True,
    "code_bytes": 4096,
    "stack_bytes": 320,
    "stack_unknown": "",
    "place": "QEMU's mps2-an386",
    "is_emulated": True,
    "calls": [],
    "instructions": None,
}


def test_each_memory_has_its_figures() -> None:
    lines = list(memory_lines(PROGRAM))
    assert lines[:3] == [
        "workspace 2,048 bytes in dtcm (at least 2,000 are alive at one time)",
        "workspace 0 bytes in sram (nothing to keep)",
        "weights 12,345 bytes, in the program",
    ]
    assert "code 4,096 bytes, deepest stack 320 bytes" in lines
    assert "built for and run on QEMU's mps2-an386, which is an emulator: nothing is timed" in lines
    assert "built for and run on this machine" in memory_lines(
        PROGRAM | {"place": "this machine", "is_emulated": False}
    )


def test_instructions_are_told_with_their_unit_and_each_engine_alone() -> None:
    counted = {
        "program": 1240000,
        "total": 1234567,
        "note": "instructions in QEMU, not cycles",
        "alone": {"c": 1300000, "cmsis-nn": 1400000},
    }
    *_, line = memory_lines(PROGRAM | {"instructions": counted})
    assert line == (
        "one run executes 1,240,000 instructions in QEMU, not cycles; its kernels 1,234,567 "
        "(1,300,000 with those of c alone, 1,400,000 with those of cmsis-nn alone)"
    )
    *_, line = memory_lines(PROGRAM | {"instructions": counted | {"alone": {"c": 1234567}}})
    assert line == "one run executes 1,240,000 instructions in QEMU, not cycles; its kernels 1,234,567"


def test_what_is_not_known_of_the_stack_is_said() -> None:
    doubtful = PROGRAM | {"stack_unknown": "f calls through a pointer", "link_weights": False}
    lines = list(memory_lines(doubtful))
    assert "code 4,096 bytes, deepest stack 320 bytes or more: f calls through a pointer" in lines
    assert "weights 12,345 bytes, handed over by the caller" in lines
    assert any("known for boards only" in line for line in memory_lines(PROGRAM | {"stack_bytes": None}))


def test_how_far_answers_are_off_is_one_line() -> None:
    told = {"max_rel_error": 0.0123, "allowed_error": 0.25, "allowed_reason": "the model's own rounding"}
    assert answer_line(told) == (
        "largest error against the reference 0.012, allowed 0.25, which is what the model's own rounding leaves open"
    )
    assert "could not be compared" in answer_line(told | {"max_rel_error": None})
