"""A small network as a program, kernels made up for it, and its inputs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from intarsia.backends.c.network import known_of
from intarsia.backends.c.site import NoKernelError, Site, function
from intarsia.backends.lowering.builder import Builder
from intarsia.backends.lowering.program import Program
from intarsia.codegen.module import Kernel, Operand, Result, Scratch
from intarsia.search.boards.answers import Answers
from intarsia.search.boards.candidates import Offer

Known = dict[int, np.ndarray]
FEEDS = {"x": np.linspace(-2, 2, 60, dtype=np.float32).reshape(4, 15)}


def network() -> tuple[Program, Known]:
    """exp(tanh(x @ w) @ v)."""
    build, rng = Builder(), np.random.default_rng(1)
    x = build.input("x", "float32", (4, 15))
    first = build.matmul(x, build.constant(rng.standard_normal((15, 8)).astype(np.float32)))
    second = build.matmul(build.unary("tanh", first), build.constant(rng.standard_normal((8, 6)).astype(np.float32)))
    program = build.program({"y": build.unary("exp", second)})
    return program, known_of(program, {})


def right() -> np.ndarray:
    """What it computes."""
    rng = np.random.default_rng(1)
    w, v = (rng.standard_normal(shape).astype(np.float32) for shape in ((15, 8), (8, 6)))
    answer: np.ndarray = np.exp(np.tanh(FEEDS["x"] @ w) @ v)
    return answer


def answers() -> Answers:
    """What is right."""
    return Answers(values={"y": right()})


def product(text: str, scratch: int = 0) -> Kernel:
    """A kernel of a product, of this text."""
    parameters = f"const float *a, const float *b, float *y{', void *scratch' if scratch else ''}"
    made = function("made_up_product", parameters, text)
    own = (Scratch(scratch),) if scratch else ()
    return Kernel(functions=(made,), arguments=(Operand(place=0), Operand(place=1), Result(), *own))


def products(text: str, scratch: int = 0) -> Offer:
    """An engine that has nothing but products of matrices, computed so; ``M``, ``N`` and ``K`` are their sizes."""

    def offer(site: Site) -> Sequence[Kernel]:
        if site.each.name != "matmul":
            raise NoKernelError(f"made-up has no {site.each.name}")
        (m, k), (_, n) = site.reads[0].shape, site.reads[1].shape
        return (product(text.replace("M", str(m)).replace("N", str(n)).replace("K", str(k)), scratch),)

    return offer


NAIVE = """    for (int i = 0; i < M; i++) {
        for (int j = 0; j < N; j++) {
            float sum = 0.0f;
            for (int k = 0; k < K; k++) {
                sum += a[i * K + k] * b[k * N + j];
            }
            y[i * N + j] = sum;
        }
    }"""
WASTEFUL = "    for (volatile int again = 0; again < 20000; again++) {}\n" + NAIVE
