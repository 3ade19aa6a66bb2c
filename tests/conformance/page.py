"""Draws ``docs/engines.md`` from what came of the cases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tests.conformance.node_cases import NodeCase
from tests.conformance.suite import Outcome, Record

PAGE = Path(__file__).parents[2] / "docs" / "engines.md"
_HEAD = """# Engines

This page says what each engine takes, and whether its answers are right. The `onnx` package generates {count} test
cases for backends; each case runs on every engine. `make engines` runs them and writes this page.

| column | what it counts |
| --- | --- |
| accepted | cases of which the engine's rules take every node |
| passed | accepted cases with the right answer |
| failed | accepted cases with a wrong answer or an error; there must be none |
| given away | cases that the rules refuse although the engine answers them rightly |
| of numeric tensors | share passed of the cases that have only numeric tensors and an operator set it knows |

"""
_OPERATORS = """
## Operators

Cases passed, of all that use the operator. An empty cell means that the engine accepts none.

"""
_COLUMNS = ("engine", "version", "accepted", "passed", "failed", "given away", "of numeric tensors")


def page(records: Sequence[Record], cases: Sequence[NodeCase]) -> str:
    """The whole page."""
    lines = [
        _HEAD.format(count=f"{len(cases):,}"),
        *_table(_COLUMNS, _rows(records, cases)),
        _OPERATORS,
        *_table(("operator", *(record.engine for record in records)), _operators(records, cases)),
    ]
    return "".join(lines)


def share_accepted(record: Record, cases: Iterable[NodeCase]) -> float:
    """Share of accepted cases among those of numeric tensors whose operator set the engine knows."""
    outcomes = [record.outcomes[case.name] for case in cases if case.is_numeric]
    known = [outcome for outcome in outcomes if outcome not in (Outcome.UNREAD, Outcome.NEWER)]
    return sum(outcome is Outcome.PASSED for outcome in known) / len(known)


def _rows(records: Sequence[Record], cases: Sequence[NodeCase]) -> Iterator[tuple[str, ...]]:
    for record in records:
        counts = Counter(record.outcomes.values())
        passed, failed, missed = (counts[each] for each in (Outcome.PASSED, Outcome.FAILED, Outcome.MISSED))
        yield (
            record.engine,
            record.version,
            str(passed + failed),
            str(passed),
            str(failed),
            f"{missed} ({missed / max(1, passed + missed):.1%})",
            f"{share_accepted(record, cases):.0%}",
        )


def _operators(records: Sequence[Record], cases: Sequence[NodeCase]) -> Iterator[tuple[str, ...]]:
    for operator in sorted({operator for case in cases for operator in case.operators}, key=str.lower):
        names = [case.name for case in cases if operator in case.operators]
        passed = [sum(record.outcomes[name] is Outcome.PASSED for name in names) for record in records]
        yield (operator, *(f"{count}/{len(names)}" if count else "" for count in passed))


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    for row in (head, ["---"] * len(head), *rows):
        yield f"| {' | '.join(row)} |\n"
