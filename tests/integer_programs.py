"""Programs of integer instructions at random, and what they compute by definition: for engines of int8 kernels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from intarsia.backends.lowering.builder import Builder
from intarsia.backends.lowering.integer.fixed_point import fitted, scaling
from intarsia.backends.lowering.integer.reference import computed
from intarsia.backends.lowering.program import Program, Term

KINDS = ("conv", "point", "depthwise", "group", "row", "line", "dense")
ELEMENTWISE = ("add", "mul", "max", "average", "softmax")


def layer(b: Builder, name: str, kind: str, rng: np.random.Generator) -> Term | None:
    """A convolution or a product with an input of its own; ``None`` where the numbers drawn make none."""
    n = int(rng.choice([1, 1, 1, 2]))
    if kind == "dense":
        times, inner, outer = int(rng.integers(1, 6)), int(rng.integers(1, 70)), int(rng.integers(1, 40))
        x = b.input(name, "int8", (times, inner))
        return _emit(b, "q_dense", x, rng.integers(-127, 128, (outer, inner)), (times, outer), {}, rng)
    inner, outer, groups = int(rng.integers(1, 20)), int(rng.integers(1, 20)), 1
    sizes, kernel, strides, dilations, before, after = (_two(rng, *ends) for ends in _ENDS)
    if rng.random() < 0.7:
        dilations = [1, 1]
    if kind == "depthwise":
        inner = groups = int(rng.choice([2, 3, 4, 7, 8, 16, 17, 130]))
        outer = inner * int(rng.choice([1, 1, 1, 2, 4]))
        if rng.random() < 0.6:
            kernel, dilations, before = [3, 3], [1, 1], _two(rng, 0, 2)
    elif kind == "group":
        groups = int(rng.integers(2, 4))
        inner, outer = groups * int(rng.integers(1, 6)), groups * int(rng.integers(1, 6))
    elif kind == "point":
        kernel, before, after = [1, 1], [0, 0], [0, 0]
    elif kind in ("row", "line"):
        sizes[0] = kernel[0] = strides[0] = 1
        dilations, before[0], after[0], inner = [1, 1], 0, 0, int(rng.choice([2, 4, 8, 12]))
    if kind == "line":
        sizes, kernel, strides, dilations, before, after = (
            each[1:] for each in (sizes, kernel, strides, dilations, before, after)
        )
    rows = list(zip(sizes, kernel, strides, dilations, before, after, strict=True))
    out = [(size + b + a - d * (k - 1) - 1) // s + 1 for size, k, s, d, b, a in rows]
    if min(out) < 1:
        return None
    x = b.input(name, "int8", (n, inner, *sizes))
    told = {"strides": strides, "dilations": dilations, "before": before, "after": after, "groups": groups}
    weights = rng.integers(-127, 128, (outer, inner // groups, *kernel))
    return _emit(b, "q_conv", x, weights, (n, outer, *out), told, rng)


_ENDS = ((1, 14), (1, 5), (1, 4), (1, 4), (0, 3), (0, 3))


def _two(rng: np.random.Generator, low: int, high: int) -> list[int]:
    return [int(each) for each in rng.integers(low, high, 2)]


def _emit(
    b: Builder, name: str, x: Term, weights: np.ndarray, shape: tuple[int, ...], told: Mapping[str, Any],
    rng: np.random.Generator,
) -> Term:  # fmt: skip
    outer, spread = weights.shape[0], np.sqrt(np.prod(weights.shape[1:]))
    one = np.full(outer, 0.004) if rng.random() < 0.3 else rng.uniform(0.001, 0.005, outer)
    zero = int(rng.integers(-128, 128))
    low = -128 if rng.random() < 0.6 else zero
    scaled = scaling((one / spread).astype(np.float32).astype(float))
    bias = np.asarray(rng.integers(-2000, 2000, outer), np.int32)
    return b.emit(
        name, (x, b.constant(weights.astype(np.int8)), b.constant(bias)), "int8", shape, **told,
        x_zero=int(rng.integers(-128, 128)), y_zero=zero, multipliers=list(scaled.multipliers),
        fitted=list(fitted(scaled, zero, low, 127)), shifts=list(scaled.shifts), low=low, high=127, weight_bits=8,
    )  # fmt: skip


def elementwise(b: Builder, name: str, kind: str, rng: np.random.Generator) -> Term:
    """A sum, a product, a pool or a softmax with inputs of its own."""

    def zero() -> int:
        return int(rng.integers(-128, 128))

    if kind in ("max", "average"):
        x = b.input(name, "int8", (1, int(rng.integers(1, 20)), *_two(rng, 3, 12)))
        kernel = _two(rng, 1, 4) if kind == "max" else [int(each) for each in rng.choice([1, 3], 2)]
        strides = _two(rng, 1, 3)
        before, after = ([int(rng.integers(0, k)) if kind == "max" else 0 for k in kernel] for _ in "ba")
        rows = zip(x.shape[2:], kernel, strides, before, after, strict=True)
        out = [(size + b + a - k) // s + 1 for size, k, s, b, a in rows]
        told: dict[str, Any] = {
            "kernel": kernel,
            "strides": strides,
            "dilations": [1, 1],
            "before": before,
            "after": after,
        }
        if kind == "max":
            return b.emit("q_pool_max", (x,), "int8", (*x.shape[:2], *out), **told, low=-100, high=120)
        at = zero()
        same: dict[str, Any] = {
            "x_scale": 0.1,
            "y_scale": 0.1,
            "x_zero": at,
            "y_zero": at,
            "divisor": kernel[0] * kernel[1],
            "even_codes": False,
        }
        return b.emit("q_pool_avg", (x,), "int8", (*x.shape[:2], *out), **told, **same, low=-128, high=127)
    shape = (3, int(rng.integers(1, 40)))
    x = b.input(name, "int8", shape)
    if kind == "softmax":
        told = {"axis": 1, "x_scale": float(rng.uniform(0.02, 0.3)), "x_zero": zero()}
        return b.emit("q_softmax", (x,), "int8", shape, **told, y_scale=1 / 256, y_zero=-128, steps=256 << 8)
    other = b.input(f"{name}b", "int8", shape)
    first, second, third = (float(each) for each in rng.uniform(0.01, 0.1, 3))
    told = {"a_scale": first, "b_scale": second, "y_scale": first * 60 if kind == "mul" else third}
    zeros = {"a_zero": zero(), "b_zero": zero(), "y_zero": zero(), **({} if kind == "mul" else {"behind": 0})}
    return b.emit(f"q_{kind}", (x, other), "int8", shape, **told, **zeros, low=-128, high=127)


def program(seed: int, count: int, kinds: tuple[str, ...] = KINDS + ELEMENTWISE) -> tuple[Program, dict[str, Any]]:
    """So many instructions beside each other, each with inputs of its own and a result; and numbers for the inputs."""
    rng = np.random.default_rng(seed)
    b = Builder(frozenset())
    outputs: dict[str, Term] = {}
    tried = 0
    while len(outputs) < count:
        kind, name = kinds[tried % len(kinds)], f"x{len(outputs)}"
        tried += 1
        made = layer(b, name, kind, rng) if kind in KINDS else elementwise(b, name, kind, rng)
        if made is not None:
            outputs[f"y{len(outputs)}"] = made
    made_program = b.program(outputs)
    feeds = {
        name: rng.integers(-128, 128, made_program.instructions[place].shape).astype(np.int8)
        for name, place in made_program.inputs.items()
    }
    return made_program, feeds


def defined(made: Program, feeds: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What a program computes by the definition of its instructions."""
    values: dict[int, np.ndarray] = {}
    for place, each in enumerate(made.instructions):
        if each.name == "input":
            values[place] = feeds[each.attributes["name"]]
        elif each.name == "constant":
            values[place] = made.constants[each.attributes["name"]]
        elif each.name == "reshape":
            values[place] = values[each.reads[0]].reshape(each.shape)
        else:
            values[place] = computed(each.name, [values[read] for read in each.reads], each.attributes)
    return {name: values[place] for name, place in made.outputs.items()}
