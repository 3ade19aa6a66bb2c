"""Modules of the parts of a network, put together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from intarsia.codegen.module import Buffer, Call, Constant, Function, Read, SourceModule, View, Write
from intarsia.codegen.parts.assembly import for_gnu, stem_of
from intarsia.codegen.parts.joining import Part, joined

ADD = Function(name="add", text="static void add(float *y, const float *x, const float *k) { *y = *x + *k; }")


def adding(taken: str, given: str, number: float) -> SourceModule:
    """A part that adds a number to one value, by way of a value of its own that a view names."""
    one = {name: Buffer(name=name, dtype="float32", shape=(1,)) for name in ("x", "y", "inner", "other")}
    return SourceModule(
        inputs={taken: one["x"]},
        outputs={given: one["y"]},
        buffers={"inner": one["inner"]},
        views={"other": View(buffer=one["other"], of="inner")},
        constants={"k": Constant(name="k", array=np.array([number], np.float32))},
        functions={"add": ADD},
        calls=(
            Call(function="add", arguments=(Write("inner"), Read("x"), Read("k"))),
            Call(function="add", arguments=(Write("y"), Read("other"), Read("k"))),
        ),
        assembly={f"of_{given}": ""},
        alignment=16,
    )


def value(name: str) -> Buffer:
    return Buffer(name=name, dtype="float32", shape=(1,))


def test_what_a_part_computes_is_read_by_the_next_and_names_are_apart() -> None:
    first = Part(module=adding("in", "middle", 1.0), engine="tvm", nodes=("a",))
    second = Part(module=adding("middle", "out", 2.0), engine="c", nodes=("b",))
    whole = joined([first, second], {"in": value("in")}, {"out": value("out"), "in": value("in")})
    assert list(whole.inputs) == ["in"]
    assert list(whole.outputs) == ["out", "in"]
    assert len(whole.buffers) == 3  # one of each part, and the one between
    assert len(whole.constants) == 2
    assert [call.engine for call in whole.calls] == ["tvm", "tvm", "c", "c", "c"]
    assert [call.nodes for call in whole.calls[:4]] == [("a",), ("a",), ("b",), ("b",)]
    written, read = whole.calls[1].arguments[0], whole.calls[2].arguments[1]
    assert isinstance(written, Write)
    assert isinstance(read, Read)
    assert written.name == read.name
    assert whole.alignment == 16
    assert set(whole.assembly) == {"of_middle", "of_out"}
    assert whole.calls[-1].function == "copy_bytes"  # the input that comes back as it is


def test_the_strictest_alignment_of_the_parts_holds_for_all() -> None:
    modules = (adding("in", "middle", 1.0), replace(adding("middle", "out", 2.0), alignment=64))
    parts = [Part(module=module, engine="c", nodes=()) for module in modules]
    assert joined(parts, {"in": value("in")}, {"out": value("out")}).alignment == 64


def test_lines_that_gnus_assembler_does_not_read_are_left_out() -> None:
    text = '\t.attribute\t5, "rv64i2p1"\n\t.file\t"a"\n\t.file\t1 "." "b"\n\t.loc\t1 0 0\n\t.prefalign\t4\n\tret\n'
    assert for_gnu(text) == '\t.file\t"a"\n\tret\n'
    assert stem_of("tvm", "a") != stem_of("tvm", "b")
