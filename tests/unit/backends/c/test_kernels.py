"""Every kernel there is, on every type it takes, in one text: strictly clean, without a finding, and right."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest

from intarsia.backends.c.choose import MAKERS, lack
from intarsia.backends.c.kernels.scalars import ELEMENTWISE, OF_FLOATS
from intarsia.backends.c.network import known_of, network
from intarsia.backends.c.processor import Processor
from intarsia.backends.lowering.builder import Builder
from intarsia.backends.lowering.program import Program, Term
from intarsia.codegen.emit import TYPES
from tests.unit.backends.c.running import SCALAR, VECTORS, needs_compiler, run_module
from tests.unit.backends.lowering.rewritten_kernels import run

FLOATS = ("float32", "float64")
INTEGERS = tuple(name for name in TYPES if "int" in name)
SHAPE = (2, 3, 4, 5)
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
UNARY = ("abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh", "erf", "exp", "floor",
         "identity", "log", "neg", "not", "relu", "round", "sigmoid", "sign", "sin", "sinh", "sqrt", "tan",
         "tanh")  # fmt: skip
BITS = ("and", "or", "xor")
BINARY = ("add", "div", "fmod", "int_div", "max", "min", "mod", "mul", "pow", "shift_left", "shift_right", "sub", *BITS)
LAYERS = {"conv_last", "conv_transpose_last", "pool_max_last", "pool_sum_last", "loop"}
"""What the passes make: `test_network` has them."""


def _inputs(dtype: str) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(7)
    if dtype == "bool":
        return {"a": rng.random(SHAPE) < 0.5, "b": rng.random((3, 1, 5)) < 0.5}
    if dtype in FLOATS:
        a = rng.uniform(0.1, 0.9, SHAPE)
        return {"a": a.astype(dtype), "b": rng.uniform(1.0, 3.0, (3, 1, 5)).astype(dtype)}
    low = 0 if dtype.startswith("u") else -9
    b = rng.integers(1, 6, (3, 1, 5))
    return {"a": rng.integers(low, 10, SHAPE).astype(dtype), "b": b.astype(dtype)}


def _all(dtype: str) -> tuple[Program, dict[str, np.ndarray]]:
    """A program with every instruction on values of a type, each result an output."""
    b = Builder(frozenset({"sigmoid", "softmax", "relu"}))
    feeds = _inputs(dtype)
    x, y = (b.input(name, dtype, array.shape) for name, array in feeds.items())
    made: list[Term] = []
    made += [b.unary(name, _shifted(b, name, x)) for name in UNARY if _has(name, dtype)]
    made += [b.binary(name, x, y) for name in BINARY if _has(name, dtype)]
    made += [b.compare(name, x, y) for name in COMPARISONS]
    made += [b.cast(x, other) for other in TYPES if other != dtype]
    made += [b.where(b.compare("ne", x, 0), x, y), *_moves(b, x, y), *_sums(b, x, dtype)]
    return b.program({f"y{number}": term for number, term in enumerate(made)}), feeds


def _has(name: str, dtype: str) -> bool:
    """Whether an instruction is defined for a type."""
    if dtype == "bool":
        return name in ("not", "identity", *BITS)
    if dtype in FLOATS:
        return name not in ("not", "int_div", "shift_left", "shift_right", *BITS)
    return name not in OF_FLOATS and name != "div"


def _shifted(b: Builder, name: str, x: Term) -> Term:
    """Operands are between 0 and 1, where most functions are defined."""
    return b.binary("add", x, 1) if name == "acosh" else x


def _moves(b: Builder, x: Term, y: Term) -> list[Term]:
    index = b.constant(np.array([[1, 0], [2, 1]], np.int64))
    along = b.constant(np.random.default_rng(1).integers(0, 4, (2, 3, 2, 5)).astype(np.int64))
    return [
        b.transpose(x, [2, 0, 3, 1]), b.transpose(x, [0, 2, 3, 1]),
        b.transpose(x, [3, 2, 1, 0]),
        b.reshape(x, (6, 20)), b.expand(y, (2, 3, 4, 5)), b.flip(x, 2),
        b.slice(x, [0, 0, 3, 4], [2, 3, -1, 0], [1, 2, -1, -2]), b.part(x, 1, 1, 3),
        b.concat([x, x, b.part(x, 2, 0, 1)], 2), b.concat([x, x], 0), b.concat([x, x], 3),
        b.pad(x, [0, 1, 0, 2], [1, 0, 3, 0], 1), b.take(x, index, 1), b.take(x, index, 3),
        b.take_along(x, along, 2),
        b.scatter_along(x, along, b.part(x, 2, 1, 3), 2, "none"),
    ]  # fmt: skip


def _sums(b: Builder, x: Term, dtype: str) -> list[Term]:
    if dtype == "bool":
        return []
    axes = ([3], [0], [1], [0, 2], [1, 3], [0, 1, 2, 3], [2, 3])
    over = [
        b.reduce(name, x, each, keep)
        for (name, each), keep in product(product(("sum", "max", "min", "prod"), axes), (True, False))
    ]
    over += [b.reduce("mean", x, each) for each in axes if dtype in FLOATS]
    over += [b.arg("max", x, each, True) for each in range(4)]
    over += [b.arg("min", x, 2, False), b.cumulate("sum", x, 1), b.cumulate("prod", x, 3)]
    over += [b.argsort(x, 2, way) for way in (True, False)]
    window = {"strides": [2, 1], "dilations": [1, 2], "before": [1, 0], "after": [0, 1]}
    over += [
        b.pool("max", x, (2, 3, 2, 4), kernel=[2, 2], **window),
        b.pool("sum", x, (2, 3, 2, 4), kernel=[2, 2], **window),
        b.matmul(x, b.transpose(x, [0, 1, 3, 2])),
        b.conv(x, b.part(b.reshape(x, (8, 3, 5, 1)), 2, 0, 2), None, (2, 8, 2, 6), **window, groups=1),
        b.conv_transpose(x, b.part(b.reshape(x, (3, 8, 5, 1)), 2, 0, 2), (2, 8, 8, 6), strides=[2, 1],
                                 dilations=[1, 2], before=[0, -1], after=[0, 0], groups=1),
    ]  # fmt: skip
    if dtype in FLOATS:
        over += [b.emit("softmax", (x,), dtype, x.shape, axis=axis) for axis in (1, 3)]
    along = b.constant(np.random.default_rng(2).integers(0, 4, (2, 3, 2, 5)).astype(np.int64))
    over += [b.scatter_along(x, along, b.part(x, 2, 1, 3), 2, how) for how in ("add", "mul", "max", "min")]
    return over


ALIKE = ("uint16", "int16", "uint32", "uint64")
"""Types whose kernels are written as those of another size are."""


@needs_compiler
@pytest.mark.parametrize(
    ("dtype", "processor"),
    [
        *(pytest.param(dtype, SCALAR, marks=pytest.mark.large if dtype in ALIKE else ()) for dtype in TYPES),
        *((dtype, VECTORS) for dtype in FLOATS),
    ],
)
def test_every_kernel_on_every_type(dtype: str, processor: Processor, tmp_path: Path) -> None:
    program, feeds = _all(dtype)
    want = run(program, program.known, feeds)
    got = run_module(network(program, known_of(program, {}), processor), feeds, tmp_path)
    for name, place in program.outputs.items():
        each = program.instructions[place]
        if "float" in each.dtype:
            np.testing.assert_allclose(got[name], want[name], rtol=2e-5, atol=1e-6, err_msg=str(each))
        else:
            np.testing.assert_array_equal(got[name], want[name], err_msg=str(each))


def test_nothing_is_left_out() -> None:
    """A kernel that no case here asks for would go untested."""
    asked = {each.name for dtype in TYPES for each in _all(dtype)[0].instructions}
    floats = {name for name in MAKERS if not name.startswith("q_") and name not in ("quantize", "dequantize")}
    assert floats - asked - LAYERS == set()
    assert ELEMENTWISE - asked == set()


def test_what_has_no_c_is_said() -> None:
    b = Builder()
    x = b.input("x", "float16", (2, 3))
    b.unary("relu", x)
    b.unary("erf", b.input("i", "int32", (2,)))
    b.emit("fft", (x,), "float32", (2, 3))
    b.arg("max", b.input("n", "float32", (0, 3)), 0, True)
    made = b.instructions
    reasons = [lack(each, [made[read] for read in each.reads]) for each in made if each.reads]
    assert reasons == [
        "c has no relu of float16",
        "c has no erf of int32",
        "c has no fft",
        "c has no argmax of nothing",
    ]
