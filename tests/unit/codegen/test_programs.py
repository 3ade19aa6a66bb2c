from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from intarsia import Target
from intarsia.backends.c.choose import kernels_for
from intarsia.backends.c.processor import Processor
from intarsia.codegen import harness
from intarsia.codegen.module import Buffer, Call, Constant, Function, Read, SourceModule, Write
from intarsia.codegen.programs import program_of
from intarsia.runtime.aot.place import place_of
from intarsia.search.boards.candidates import candidates_of
from tests.unit.codegen.tools import AARCH64, BOARDS, CC, RISCV64
from tests.unit.search.boards.programs import FEEDS, network, right

TARGETS = [
    pytest.param("llvm", marks=CC),
    pytest.param("arm/rasp4b64", marks=AARCH64),
    pytest.param("riscv/sifive-u74", marks=RISCV64),
    pytest.param("arm/mps2-an386", marks=BOARDS),
]


def module(target: str) -> SourceModule:
    return candidates_of(*network(), Processor.of(Target(target)), {"c": kernels_for}).module({})


def run(
    made: SourceModule, feeds: list[dict[str, np.ndarray]], target: str, library: Path | None = None
) -> list[dict[str, np.ndarray]]:
    place = place_of(Target(target))
    program = program_of(made, library, () if place.board else place.flags)
    ordered = [[each[name] for name in made.inputs] for each in feeds]
    ran = harness.run(program, ordered, board=place.board, tools=place.tools())
    return [dict(zip(made.outputs, arrays, strict=True)) for arrays in ran.results]


@pytest.mark.parametrize("target", TARGETS)
def test_a_module_computes_the_same_wherever_it_runs(target: str) -> None:
    feeds = [FEEDS, {"x": FEEDS["x"][::-1].copy()}]
    first, second = run(module(target), feeds, target)
    np.testing.assert_allclose(first["y"], right(), rtol=1e-4)
    np.testing.assert_allclose(second["y"], right()[::-1], rtol=1e-4)


def large() -> SourceModule:
    """Adds one of two constants of a megabyte to its input; behind them is one of another type, and one of nothing."""
    text = """static void add(const float *x, const float *a, const int8_t *b, const int32_t *c, float *y)
{
    (void)c;
    for (int i = 0; i < 300000; i++) {
        y[i] = x[0] + a[i] + (float)b[i % 7];
    }
}"""
    names = ("a", "b", "c")
    arrays: list[np.ndarray] = [np.arange(300_000, dtype=np.float32), np.arange(-3, 4, dtype=np.int8)]
    arrays.append(np.zeros(0, np.int32))
    return SourceModule(
        inputs={"x": Buffer(name="v0", dtype="float32", shape=(1,))},
        outputs={"y": Buffer(name="v1", dtype="float32", shape=(300_000,))},
        buffers={},
        views={},
        constants={name: Constant(name=name, array=array) for name, array in zip(names, arrays, strict=True)},
        functions={"add": Function(name="add", text=text)},
        calls=(Call(function="add", arguments=(Read("v0"), *map(Read, names), Write("v1"))),),
    )


@pytest.mark.parametrize("target", TARGETS[:3])
def test_large_weights_are_taken_in_as_they_are(target: str) -> None:
    assert program_of(large()).what.blobs
    (found,) = run(large(), [{"x": np.array([0.5], np.float32)}], target)
    numbers = np.arange(300_000)
    np.testing.assert_array_equal(found["y"], np.float32(0.5) + numbers.astype(np.float32) + (numbers % 7 - 3))


@CC
def test_sources_of_a_library_are_compiled_too(tmp_path: Path) -> None:
    (tmp_path / "headers").mkdir()
    (tmp_path / "headers" / "twice.h").write_text("void twice(const float *x, float *y);\n", encoding="utf-8")
    text = '#include "twice.h"\nvoid twice(const float *x, float *y) { y[0] = 2 * x[0]; }\n'
    (tmp_path / "twice.c").write_text(text, encoding="utf-8")
    made = replace(
        large(),
        outputs={"y": Buffer(name="v1", dtype="float32", shape=(1,))},
        constants={},
        functions={"twice": Function(name="twice", text="", headers=('"twice.h"',))},
        calls=(Call(function="twice", arguments=(Read("v0"), Write("v1"))),),
        sources=("twice.c",),
        include_folders=("headers",),
    )
    (found,) = run(made, [{"x": np.array([21], np.float32)}], "c", tmp_path)
    assert found["y"].tolist() == [42]
