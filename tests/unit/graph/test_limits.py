from __future__ import annotations

import re
from dataclasses import asdict
from pathlib import Path

from intarsia.graph.limits import LIMITS

PAGE = Path(__file__).parents[3] / "docs" / "models.md"


def test_the_page_says_each_limit_and_its_value() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (\d+) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert {name: int(value) for name, value in rows} == asdict(LIMITS)
