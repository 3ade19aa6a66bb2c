"""The error function, for which LiteRT has no operator: as the Gelu that it is mostly a part of, or by way of one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import isclose, sqrt

from intarsia.backends.litert.builder import Laid, ModelBuilder, Operator, plain

ERF = "ERF"
"""Stands for the error function until all operators are there."""

Before = Callable[[int], Operator | None]
"""What gives a tensor that nothing else reads."""
Number = Callable[[int], float | None]
"""The number that a tensor holds, if it is one."""


def spelled_out(draft: ModelBuilder, each: Operator) -> list[Operator]:
    """An error function from Gelu(z) = z (1 + erf(z / sqrt 2)) / 2, at distances from 0 that can be divided by."""
    source = draft.tensors[each.reads[0]]
    x = Laid(each.reads[0], source.dtype, source.shape, plain(len(source.shape)))
    start = len(draft.operators)
    z = draft.compute("MAXIMUM", draft.compute("MUL", draft.compute("ABS", x), sqrt(2)), 1e-30)
    share = draft.compute("DIV", draft.compute("GELU", z, approximate=False), z)
    far = draft.compute("SUB", draft.compute("MUL", share, 2.0), 1.0)
    draft.compute("MUL", draft.compute("SIGN", x), far)
    *others, final = draft.operators[start:]
    return [*others, replace(final, writes=each.writes)]


def whole(each: Operator, before: Before, number: Number) -> tuple[Operator, Sequence[int]] | None:
    """The Gelu that ends in this product, and the tensors that go with it.

    Three factors are multiplied in any order: 0.5, x and 1 + erf(x / sqrt 2).
    """
    for tensor, other in (each.reads, each.reads[::-1]):
        first = before(tensor)
        if first is None or first.name != "MUL":
            continue
        for x, share in _pairs((*first.reads, other), number):
            gone = _erf_of(x, share, before, number)
            if gone:
                gelu = Operator(name="GELU", reads=(x,), writes=each.writes, options={"approximate": False})
                return gelu, (tensor, *gone)
    return None


def _pairs(factors: Sequence[int], number: Number) -> Iterator[tuple[int, int]]:
    """What is left of three factors without a half, both ways round."""
    for half in factors:
        if number(half) == 0.5:
            one, other = (tensor for tensor in factors if tensor != half)
            yield one, other
            yield other, one


def _erf_of(x: int, share: int, before: Before, number: Number) -> tuple[int, ...]:
    """The tensors from x to 1 + erf(x / sqrt 2), if that is what ``share`` is."""
    plus = before(share)
    if plus is None or plus.name != "ADD" or 1.0 not in map(number, plus.reads):
        return ()
    bent = next((tensor for tensor in plus.reads if number(tensor) is None), share)
    erf = before(bent)
    scaled = before(erf.reads[0]) if erf is not None and erf.name == ERF else None
    if erf is None or scaled is None or x not in scaled.reads or not _is_by_root_of_two(scaled, number):
        return ()
    return share, bent, erf.reads[0]


def _is_by_root_of_two(each: Operator, number: Number) -> bool:
    factor = next(filter(None, map(number, each.reads)), 0.0)
    wanted = {"DIV": sqrt(2), "MUL": sqrt(0.5)}.get(each.name, -1.0)
    return isclose(factor, wanted, rel_tol=1e-5) and (each.name == "MUL" or number(each.reads[1]) is not None)
