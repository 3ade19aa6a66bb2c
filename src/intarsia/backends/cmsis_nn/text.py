"""How calls of CMSIS-NN are written: its structures, and a function around each call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from intarsia.backends.c.site import NoKernelError, Site, function, indented
from intarsia.backends.cmsis_nn.library import HEADER, HEADERS, SINGLE_ROUNDING
from intarsia.backends.lowering.integer.fixed_point import doubled
from intarsia.codegen.module import Function, Given, Kernel, Scratch

_MOST_SHIFT = 30
_ACCUMULATOR = 2.0**31
MOST_SIZE = (1 << 15) - 1
"""The library keeps some sizes and indices in 16 bits."""


def guard(site: Site) -> Function:
    """What has the compiler refuse another processor than the one whose scratch memory was planned."""
    processor = site.processor
    if processor.has_mve:
        wanted, what = "defined(ARM_MATH_MVEI)", "vectors (MVE)"
    elif processor.has_dsp:
        wanted, what = "defined(ARM_MATH_DSP) && !defined(ARM_MATH_MVEI)", "packed products (DSP) and no vectors"
    else:
        wanted, what = "!defined(ARM_MATH_DSP) && !defined(ARM_MATH_MVEI)", "neither packed products nor vectors"
    message = f"the memory of CMSIS-NN's functions is planned for a processor with {what}; say so to the compiler"
    return Function(
        name="cmsis_nn_processor",
        text=f'#if !({wanted})\n#error "{message}"\n#endif',
        headers=(HEADER,),
    )


def dims(name: str, n: int, h: int, w: int, c: int) -> str:
    """The definition of the sizes of an array."""
    return f"static const cmsis_nn_dims {name} = {{{n}, {h}, {w}, {c}}};"


def struct(kind: str, name: str, fields: Mapping[str, str | int]) -> str:
    """The definition of a structure by the names of its fields."""
    attrs = ", ".join(f".{field} = {value}" for field, value in fields.items())
    return f"static const {kind} {name} = {{{attrs}}};"


def call(
    site: Site,
    stem: str,
    parameters: Sequence[tuple[str, Given]],
    lines: Sequence[str],
    *,
    scratch: int = 0,
    in_place: Mapping[int, int] | None = None,
) -> Kernel:
    """A kernel: a function of these parameters with these statements.

    Args:
        site: What it is for.
        stem: What it does, in words of C.
        parameters: Each as C declares it, and what is handed over.
        lines: Statements. Where scratch memory is asked for, ``scratch`` is a pointer to it.
        scratch: Bytes.
        in_place: As of `Kernel`.
    """
    checked = guard(site)
    given = [*parameters, *([("void *scratch", Scratch(scratch))] if scratch else [])]
    made = function(
        f"cmsis_{stem}", ", ".join(text for text, _ in given), indented(lines), needs=(checked,), headers=(HEADER,)
    )
    return Kernel(
        functions=(made, checked),
        arguments=tuple(each for _, each in given),
        in_place=dict(in_place or {}),
        include_folders=(HEADERS,),
        defines=(SINGLE_ROUNDING,),
    )


def context(scratch: int, memory: str = "scratch") -> str:
    """The definition of the context that hands scratch memory over."""
    return f"const cmsis_nn_context context = {{{memory if scratch else 'NULL'}, {scratch}}};"


def scale(multiplier: int, shift: int, reach: float) -> tuple[int, int]:
    """A scale as the library writes it, for accumulators up to a magnitude.

    Raises:
        NoKernelError: An accumulator that is shifted to the left first, as vectors do, would not fit into 32 bits.
    """
    found, left = doubled(multiplier, shift)
    if found == 0:
        return 0, 0
    if left > _MOST_SHIFT or reach * 2.0 ** max(0, left + 1) >= _ACCUMULATOR:
        raise NoKernelError(f"accumulators that are scaled up {multiplier / 2.0**shift:.3g} times overflow 32 bits")
    return found, left


def scales(multipliers: np.ndarray, shift: int, reach: np.ndarray) -> np.ndarray:
    """The same for each output channel: int32, (2, channels), multipliers and shifts."""
    rows = [scale(int(each), shift, float(most)) for each, most in zip(multipliers, reach, strict=True)]
    return np.ascontiguousarray(np.array(rows, np.int32).T)


def check_sizes(site: Site, *sizes: int) -> None:
    """Whether the library's 16 bits hold these.

    Raises:
        NoKernelError: They do not.
    """
    if max(sizes) > MOST_SIZE:
        raise NoKernelError(f"its sizes have 16 bits, and one of {site.each.name} is {max(sizes)}")
