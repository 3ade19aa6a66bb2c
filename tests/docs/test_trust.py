"""The table of ``docs/trust.md`` says what the engines declare; ``pytest tests/docs --regenerate`` writes it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from intarsia.backends import registry
from intarsia.target import KINDS

PAGE = Path(__file__).parents[2] / "docs" / "trust.md"
TABLE = re.compile(r"(?<=<!-- engines -->\n).*?(?=<!-- end -->)", re.DOTALL)
HEADER = """\

| engine | machine code in an artifact | refused by | code that an artifact may name | runs only with |
| --- | --- | --- | --- | --- |
"""


def table() -> str:
    """A row for each engine of ours, by what its class and its kind declare."""
    ours = [name for name in registry.names() if type(registry.get(name)).__module__.startswith("intarsia.")]
    return HEADER + "".join(map(_row, ours)) + "\n"


def _row(name: str) -> str:
    files = ", ".join(f"`{file}`" for file in registry.get(name).machine_code)
    named = ", ".join(f"`-{option.name}`" for option in KINDS[name].options.values() if option.type.executes)
    refused = "`--no-machine-code`, `machine_code=False`" if files else ""
    return f"| {name} | {files or 'none: graph and weights'} | {refused} | {named} | `--allow PATH`, `allow=` |\n"


def test_the_table_says_what_the_engines_declare(request: pytest.FixtureRequest) -> None:
    text = PAGE.read_text(encoding="utf-8")
    if request.config.getoption("--regenerate"):
        PAGE.write_text(TABLE.sub(lambda _: table(), text), encoding="utf-8")
        return
    found = TABLE.search(text)
    assert found is not None
    assert found[0] == table()
