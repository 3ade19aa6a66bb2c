"""What becomes a view, a call or a copy when a program is put together."""

from __future__ import annotations

import numpy as np

from intarsia.backends.c.network import known_of, network
from intarsia.backends.c.processor import Processor
from intarsia.backends.lowering.builder import Builder
from intarsia.backends.lowering.program import Term
from intarsia.codegen.module import SourceModule


def module(b: Builder, **outputs: Term) -> SourceModule:
    program = b.program(outputs)
    return network(program, known_of(program, {}), Processor())


def called(found: SourceModule) -> list[str]:
    return [call.function.rpartition("_")[0] or call.function for call in found.calls]


def test_a_reshape_is_another_name() -> None:
    b = Builder()
    x = b.input("x", "float32", (2, 6))
    found = module(b, y=b.unary("tanh", b.reshape(b.unary("exp", x), (3, 4))))
    assert called(found) == ["loop", "loop"]
    assert [view.buffer.shape for view in found.views.values()] == [(3, 4)]


def test_an_output_is_written_by_who_computes_it() -> None:
    b = Builder()
    x = b.input("x", "float32", (2, 6))
    found = module(b, y=b.reshape(b.unary("exp", x), (12,)))
    assert called(found) == ["loop"]
    assert found.outputs["y"].shape == (12,)
    assert not found.buffers


def test_inputs_constants_and_second_outputs_are_copied_out() -> None:
    b = Builder()
    x = b.input("x", "float32", (4,))
    y = b.unary("exp", x)
    found = module(b, again=x, known=b.constant(np.ones(3, np.float32)), first=y, second=y)
    assert called(found) == ["loop", "copy", "copy", "copy"]
    assert list(found.constants) == [name for call in found.calls for name in call.reads if name.startswith("k")]


def test_parts_are_computed_where_they_belong() -> None:
    b = Builder()
    x = b.input("x", "float32", (1, 4))
    found = module(b, y=b.unary("neg", b.concat([b.unary("exp", x), b.unary("tanh", x)], 1)))
    assert called(found) == ["loop", "loop", "loop"]
    assert sorted(view.offset for view in found.views.values()) == [0, 16]


def test_constants_that_are_packed_are_kept_packed_alone() -> None:
    b = Builder()
    x, w = b.input("x", "float32", (4, 8)), b.constant(np.ones((8, 3), np.float32))
    found = module(b, y=b.matmul(x, w))
    (packed,) = found.constants.values()
    assert packed.array.size >= 3 * 9


def test_what_has_no_elements_is_not_computed() -> None:
    b = Builder()
    x = b.input("x", "float32", (0, 3))
    found = module(b, y=b.unary("exp", x), sums=b.reduce("sum", x, [0], False))
    assert called(found) == ["fill"]
