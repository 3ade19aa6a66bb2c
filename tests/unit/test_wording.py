"""One thread, two threads: in every message that a person reads."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from intarsia.wording import counted, listed

SOURCE = Path(__file__).parents[2] / "src" / "intarsia"
NOUNS = (
    "segments", "buckets", "cores", "CPUs", "dimensions", "engines", "inputs", "layers", "mixes", "models",
    "nodes", "options", "outputs", "parts", "partitions", "places", "processes", "providers", "records", "requests",
    "rounds", "sets", "stages", "transitions", "tags", "threads", "transfers",
)  # fmt: skip
AFTER_A_NUMBER = re.compile(rf" (?:more |validation |logical )?(?:{'|'.join(NOUNS)})\b")
MORE_THAN_ONE = {
    ("deploy/choice.py", "stages"),
    ("graph/ranges.py", "buckets"),
    ("graph/reference/stages.py", "rounds"),
    ("planning/run_settings.py", "threads"),
    ("backends/contract/traits.py", "threads"),
    ("backends/ncnn/lowering/builder.py", "dimensions"),
    ("spec/similar_names.py", "tags"),
    ("graph/validation/scopes.py", "dimensions"),
    ("graph/validation/tensors.py", "dimensions"),
    ("report/reasons.py", "requests"),  # three digits of a rate: 1.00 requests
    ("report/comparison.py", "requests"),
}  # fmt: skip
"""What is never said of one."""


@pytest.mark.parametrize(
    ("number", "noun", "several", "told"),
    [
        (0, "thread", None, "0 threads"),
        (1, "thread", None, "1 thread"),
        (2, "thread", None, "2 threads"),
        (1, "more mix", "more mixes", "1 more mix"),
        (3, "more mix", "more mixes", "3 more mixes"),
    ],
)
def test_a_number_with_what_it_counts(number: int, noun: str, several: str | None, told: str) -> None:
    assert counted(number, noun, several) == told


def test_words_are_listed_as_in_a_sentence() -> None:
    assert [listed(words) for words in ("a", "ab", "abc")] == ["a", "a and b", "a, b and c"]


def plurals(path: Path) -> Iterator[str]:
    """What stands in the plural behind a value that is filled in, whatever its number."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.JoinedStr):
            for value, text in zip(node.values, node.values[1:], strict=False):
                if isinstance(value, ast.FormattedValue) and isinstance(text, ast.Constant):
                    found = AFTER_A_NUMBER.match(str(text.value))
                    if found is not None:
                        yield found[0].split()[-1]


def test_the_check_sees_a_plural(tmp_path: Path) -> None:
    path = tmp_path / "said.py"
    path.write_text("told = f'{count} threads, {other} more nodes, {counted(count, noun)}'")
    assert list(plurals(path)) == ["threads", "nodes"]


def test_no_message_says_one_threads() -> None:
    found = {(path.relative_to(SOURCE).as_posix(), noun) for path in SOURCE.rglob("*.py") for noun in plurals(path)}
    assert found == MORE_THAN_ONE
