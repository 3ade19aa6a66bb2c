"""Random instructions on int8, as one program: each between two tables, so that its result may lie over its operand."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from intarsia.backends.c.network import network
from intarsia.backends.c.processor import Processor
from intarsia.backends.lowering.integer.fixed_point import Scaling, fitted
from intarsia.backends.lowering.integer.reference import computed
from intarsia.backends.lowering.program import CONSTANT, INPUT, Instruction, Program
from intarsia.codegen import harness, programs
from intarsia.codegen.boards.board import Board


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Case:
    """An instruction with all that it reads.

    Attributes:
        name: The instruction.
        x: What flows into it.
        constants: Its further operands.
        attrs: Its attributes.
        shape: Of its result.
        dtype: Of its result.
    """

    name: str
    x: tuple[np.ndarray, ...]
    constants: tuple[np.ndarray, ...] = ()
    attrs: dict[str, Any] = field(default_factory=dict)
    shape: tuple[int, ...]
    dtype: str = "int8"

    def expected(self) -> np.ndarray:
        """By the reference."""
        found = computed(self.name, [*self.x, *self.constants], self.attrs)
        return found.reshape(self.shape)


IDENTITY = list(range(-128, 128))


def program_of(cases: list[Case]) -> tuple[Program, dict[int, np.ndarray]]:
    """All cases, each with inputs and an output of its own."""
    made: list[Instruction] = []
    known: dict[int, np.ndarray] = {}
    outputs: dict[str, int] = {}

    def add(each: Instruction) -> int:
        made.append(each)
        return len(made) - 1

    def passed(read: int, dtype: str, shape: tuple[int, ...]) -> int:
        if dtype != "int8":
            return read
        return add(Instruction("q_lookup", (read,), {"table": IDENTITY}, "int8", shape))

    for number, case in enumerate(cases):
        reads = []
        for place, array in enumerate(case.x):
            leaf = add(Instruction(INPUT, (), {"name": f"x{number}_{place}"}, array.dtype.name, array.shape))
            reads.append(passed(leaf, array.dtype.name, array.shape))
        for place, array in enumerate(case.constants):
            reads.append(add(Instruction(CONSTANT, (), {"name": f"k{number}_{place}"}, array.dtype.name, array.shape)))
            known[reads[-1]] = array
        result = add(Instruction(case.name, tuple(reads), case.attrs, case.dtype, case.shape))
        outputs[f"y{number}"] = passed(result, case.dtype, case.shape)
    names = {made[place].attributes["name"]: array for place, array in known.items()}
    return Program(instructions=tuple(made), outputs=outputs, constants=names), known


def results(cases: list[Case], processor: Processor, board: Board | None) -> list[np.ndarray]:
    """What the kernels compute: on a board, or on this machine under the sanitizers."""
    module = network(*program_of(cases), processor)
    checks = () if board is not None else ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-O1")
    program = programs.program_of(module, flags=checks)
    program = replace(program, what=replace(program.what, strict=True, link=checks))
    feeds = [array for case in cases for array in case.x]
    (found,) = harness.run(program, [feeds], board=board).results
    return list(found)


class Draw:
    """Random cases from a seed."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def one(self, *choices: Any) -> Any:
        """One of several."""
        return choices[int(self.rng.integers(len(choices)))]

    def codes(self, *shape: int, low: int = -128, dtype: str = "int8") -> np.ndarray:
        """Any codes, the extremes among them."""
        numbers = self.rng.integers(low, 128, shape)
        extreme = self.rng.random(shape) < 0.1
        return np.where(extreme, self.rng.choice([low, 127], shape), numbers).astype(dtype)

    def bounds(self) -> tuple[int, int]:
        """Codes between which a result is held."""
        low, high = self.one((-128, 127), (-128, 127), (-100, 90), (-128, 40), (3, 127))
        return int(low), int(high)

    def layer(self, rows: int, k: int, scale: float | None = None) -> tuple[np.ndarray, dict[str, Any]]:
        """Bias and attributes of a layer whose results spread over the codes."""
        bits = int(self.rng.integers(30, 31))
        wanted = scale or 60.0 / (73.0 * 73.0 * np.sqrt(k))
        _, exponent = np.frexp(wanted)
        shift = bits + 1 - int(exponent)
        each = wanted * self.rng.uniform(0.5, 1.0, rows)
        low, high = self.bounds()
        zero = int(self.rng.integers(-128, 128))
        # As a scale in float32 has them: 24 digits.
        by = Scaling(
            multipliers=tuple(int(number) << bits - 23 for number in np.rint(each * 2.0 ** (shift - bits + 23))),
            shifts=(shift,) * rows,
        )
        attrs = {
            "x_zero": int(self.rng.integers(-128, 128)), "y_zero": zero, "low": low, "high": high,
            "multipliers": list(by.multipliers), "fitted": list(fitted(by, zero, low, high)),
            "shifts": [shift] * rows, "weight_bits": 8,
        }  # fmt: skip
        return self.rng.integers(-20000, 20000, rows).astype(np.int32), attrs

    def convolution(self, kind: str) -> Case:
        """``whole``, ``point``, ``depthwise``, ``grouped`` or ``line``."""
        rng = self.rng
        n, c, o = self.one(1, 1, 2), int(rng.integers(1, 20)), int(rng.integers(1, 20))
        c, o = self.one((c, o), (16, 16), (8, 4), (3, 8), (32, 12))
        groups = 1
        if kind == "depthwise":
            c = o = groups = self.one(c, 4, 8, 16, 32, 24)
        if kind == "grouped":
            groups, inner, outer = int(rng.integers(2, 4)), int(rng.integers(1, 5)), int(rng.integers(1, 5))
            c, o = groups * inner, groups * outer
        rank = 1 if kind == "line" else 2
        kernel = [1] * rank if kind == "point" else [int(k) for k in rng.integers(1, 5, rank)]
        if kind == "depthwise" and self.one(True, True, False):
            kernel = [3, 3]
        attrs: dict[str, Any] = {
            "strides": [1] * rank if kind == "point" else [int(s) for s in rng.integers(1, 4, rank)],
            "dilations": [int(self.one(1, 1, 1, 2)) for _ in range(rank)],
            "before": [0 if kind == "point" else int(rng.integers(0, k)) for k in kernel],
            "after": [0 if kind == "point" else int(rng.integers(0, k)) for k in kernel],
            "groups": groups,
        }
        reach = [d * (k - 1) + 1 for k, d in zip(kernel, attrs["dilations"], strict=True)]
        sizes = [
            int(rng.integers(max(1, r - b - a), r + 7))
            for r, b, a in zip(reach, attrs["before"], attrs["after"], strict=True)
        ]
        out = [
            (size + b + a - r) // s + 1
            for size, b, a, r, s in zip(sizes, attrs["before"], attrs["after"], reach, attrs["strides"], strict=True)
        ]
        w = self.codes(o, *kernel, c // groups, low=-127)
        bias, more = self.layer(o, c // groups * int(np.prod(kernel)))
        return Case(
            name="q_conv_last", x=(self.codes(n, *sizes, c),), constants=(w, bias), attrs={**attrs, **more},
            shape=(n, *out, o),
        )  # fmt: skip

    def dense(self) -> Case:
        """A product by weights."""
        rows, k, o = self.one(1, 1, 3), int(self.rng.integers(1, 90)), int(self.rng.integers(1, 20))
        k, o = self.one((k, o), (64, 8), (160, 16))
        bias, attrs = self.layer(o, k)
        w = self.codes(o, k, low=self.one(-127, -128))
        return Case(name="q_dense", x=(self.codes(rows, k),), constants=(w, bias), attrs=attrs, shape=(rows, o))

    def scales(self, *names: str) -> dict[str, Any]:
        """Scales and zero points, and bounds."""
        low, high = self.bounds()
        attrs: dict[str, Any] = {"low": low, "high": high}
        for name in names:
            attrs |= {
                f"{name}_scale": float(np.float32(self.rng.uniform(0.01, 0.05))),
                f"{name}_zero": int(self.rng.integers(-128, 128)),
            }
        return attrs

    def pair(self, name: str) -> Case:
        """A sum, a difference or a product of two values, repeated along some dimensions."""
        shape = (int(self.rng.integers(1, 4)), int(self.rng.integers(1, 9)), int(self.rng.integers(1, 9)))
        other = self.one(shape, shape, (1, shape[1], 1), (shape[2],), ())
        attrs = self.scales("a", "b", "y")
        if self.one(True, False, False, False):
            attrs |= {"a_scale": 0.0625, "b_scale": self.one(0.0625, 0.03125), "y_scale": self.one(0.125, 0.0625)}
        if name != "q_mul":
            attrs["behind"] = self.one(0, 128)
        return Case(name=name, x=(self.codes(*shape), self.codes(*other)), attrs=attrs, shape=shape)

    def pool(self, name: str) -> Case:
        """A pool, padded or not, of the whole or not."""
        rng = self.rng
        n, c = self.one(1, 2), int(rng.integers(1, 20))
        kernel = [int(k) for k in rng.integers(1, 4, 2)]
        is_padded = self.one(True, False)
        attrs: dict[str, Any] = {
            "kernel": kernel,
            "strides": [int(s) for s in rng.integers(1, 3, 2)],
            "dilations": [1, 1],
            "before": [int(rng.integers(0, k)) if is_padded else 0 for k in kernel],
            "after": [int(rng.integers(0, k)) if is_padded else 0 for k in kernel],
        }
        sizes = [int(rng.integers(k, k + 7)) for k in kernel]
        if self.one(True, False, False):
            attrs |= {"kernel": sizes, "before": [0, 0], "after": [0, 0]}
            is_padded = False
        out = [
            (size + b + a - k) // s + 1
            for size, b, a, k, s in zip(
                sizes, attrs["before"], attrs["after"], attrs["kernel"], attrs["strides"], strict=True
            )
        ]
        attrs |= self.scales("x", "y")
        if self.one(True, False):
            attrs["y_scale"] = attrs["x_scale"]
        if name == "q_pool_avg_last":
            attrs["divisor"] = self.one(0, int(np.prod(attrs["kernel"])))
            whole = not (is_padded and attrs["divisor"]) and attrs["y_scale"] == attrs["x_scale"]
            attrs["even_codes"] = bool(whole and self.one(True, False))
        return Case(name=name, x=(self.codes(n, *sizes, c),), attrs=attrs, shape=(n, *out, c))

    def other(self, name: str) -> Case:
        """The rest."""
        rng = self.rng
        shape = tuple(int(size) for size in rng.integers(1, 9, int(rng.integers(2, 5))))
        x = self.codes(*shape)
        if name == "q_softmax":
            attrs = {**self.scales("x"), "y_scale": float(np.float32(1 / 256)), "y_zero": -128}
            attrs["steps"] = self.one(256 << 8, int(rng.integers(1, 1 << 18)))
            return Case(name=name, x=(x,), attrs={**attrs, "axis": int(rng.integers(len(shape)))}, shape=shape)
        if name == "q_mean":
            axes = sorted({int(axis) for axis in rng.integers(0, len(shape), 2)})
            kept = tuple(1 if axis in axes else size for axis, size in enumerate(shape))
            return Case(name=name, x=(x,), attrs={**self.scales("x", "y"), "axes": axes}, shape=kept)
        if name == "q_lookup":
            return Case(name=name, x=(x,), attrs={"table": self.codes(256).tolist()}, shape=shape)
        if name == "q_matmul":
            m, k, n = (int(size) for size in rng.integers(1, 9, 3))
            outer = self.one((), (2,), (2, 3))
            attrs = {**self.scales("a", "b", "y"), "multiplier": int(rng.integers(1 << 30, (1 << 31) - 1)), "shift": 38}
            a, b = self.codes(*outer, m, k), self.codes(*self.one(outer, ()), k, n)
            return Case(name=name, x=(a, b), attrs=attrs, shape=(*outer, m, n))
        if name == "dequantize":
            return Case(name=name, x=(x,), attrs={"scale": 0.037, "zero": 5}, shape=shape, dtype="float32")
        if name == "q_flip":
            if self.one(True, False):
                return Case(name=name, x=(x,), shape=shape, dtype="uint8")
            return Case(name=name, x=(x.view(np.uint8),), shape=shape)
        order = [int(axis) for axis in rng.permutation(len(shape))]
        scale = float(np.float32(rng.uniform(0.01, 0.1)))
        floats = rng.normal(0, 60 * scale, shape).astype(np.float32)
        floats.reshape(-1)[:: max(1, floats.size // 3)] = self.one(1e30, -np.inf, 2.5 * scale, -0.0)
        attrs = {"scale": scale, "zero": int(rng.integers(-128, 128)), "order": order}
        return Case(name="quantize", x=(floats,), attrs=attrs, shape=tuple(shape[axis] for axis in order))


EVERY = (
    *(("convolution", kind) for kind in ("whole", "point", "depthwise", "grouped", "line")),
    ("dense", ""),
    *(("pair", name) for name in ("q_add", "q_sub", "q_mul")),
    *(("pool", name) for name in ("q_pool_avg_last", "q_pool_max_last")),
    *(("other", name) for name in
      ("q_softmax", "q_mean", "q_lookup", "q_matmul", "dequantize", "q_flip", "quantize")),
)  # fmt: skip
"""Families of cases, as the method of `Draw` that makes one and what it is told."""


def drawn(family: tuple[str, str], seed: int, count: int) -> list[Case]:
    """So many cases of a family."""
    draw = Draw(seed)
    method, attrs = family
    return [getattr(draw, method)(attrs) if attrs else getattr(draw, method)() for _ in range(count)]
