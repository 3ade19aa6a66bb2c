"""Einstein sums, as products of matrices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import prod

from intarsia.backends.lowering.builder import Builder
from intarsia.backends.lowering.program import Term, UnsupportedError

_SPARE = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
"""Letters for the dimensions behind an ellipsis, where the equation does not use them."""


def einsum(b: Builder, equation: str, operands: Sequence[Term]) -> Term:
    """The sum of products that the equation describes."""
    sides, result = _parsed(equation.replace(" ", ""), operands)
    sizes: dict[str, int] = {}
    for side, term in zip(sides, operands, strict=True):
        for label, size in zip(side, term.shape, strict=True):
            if sizes.setdefault(label, size) != size:
                raise UnsupportedError("an Einsum that repeats a dimension of size 1")
    term, side = operands[0], sides[0]
    for place, (other, theirs) in enumerate(zip(operands[1:], sides[1:], strict=True), start=1):
        needed = set(result).union(*sides[place + 1 :])
        term, side = _joined(b, (term, side), (other, theirs), needed, sizes)
    return _arranged(b, term, side, result)


def _parsed(equation: str, operands: Sequence[Term]) -> tuple[list[str], str]:
    left, arrow, result = equation.partition("->")
    sides = left.split(",")
    spare = "".join(letter for letter in _SPARE if letter not in equation)
    if any(len(set(side.replace(".", ""))) != len(side.replace(".", "")) for side in sides):
        raise UnsupportedError("an Einsum with a diagonal")
    ranks = [term.rank - len(side.replace("...", "")) for side, term in zip(sides, operands, strict=True)]
    most = max((rank for side, rank in zip(sides, ranks, strict=True) if "..." in side), default=0)
    sides = [side.replace("...", spare[most - rank : most]) for side, rank in zip(sides, ranks, strict=True)]
    if arrow:
        return sides, result.replace("...", spare[:most])
    counts = Counter("".join(sides))
    once = sorted(each for each, count in counts.items() if count == 1 and each not in spare[:most])
    return sides, spare[:most] + "".join(once)


def _joined(
    b: Builder, one: tuple[Term, str], other: tuple[Term, str], needed: set[str], sizes: dict[str, int]
) -> tuple[Term, str]:
    """Two operands as one, without the dimensions that nobody needs any more."""
    (x, mine), (y, theirs) = _summed(b, *one, needed | set(other[1])), _summed(b, *other, needed | set(one[1]))
    batch = [label for label in mine if label in theirs and label in needed]
    inner = [label for label in mine if label in theirs and label not in needed]
    rows = [label for label in mine if label not in theirs]
    columns = [label for label in theirs if label not in mine]
    left = _grouped(b, x, mine, [batch, rows, inner], sizes)
    right = _grouped(b, y, theirs, [batch, inner, columns], sizes)
    labels = [*batch, *rows, *columns]
    return b.reshape(b.matmul(left, right), [sizes[label] for label in labels]), "".join(labels)


def _summed(b: Builder, term: Term, side: str, kept: set[str]) -> tuple[Term, str]:
    axes = [place for place, label in enumerate(side) if label not in kept]
    return b.reduce("sum", term, axes, keep=False), "".join(label for label in side if label in kept)


def _grouped(b: Builder, term: Term, side: str, groups: Sequence[Sequence[str]], sizes: dict[str, int]) -> Term:
    order = [side.index(label) for group in groups for label in group]
    return b.reshape(b.transpose(term, order), [prod(sizes[label] for label in group) for group in groups])


def _arranged(b: Builder, term: Term, side: str, result: str) -> Term:
    term, side = _summed(b, term, side, set(result))
    return b.transpose(term, [side.index(label) for label in result])
