from __future__ import annotations

import pytest

from intarsia.errors import ConfigError
from intarsia.numbers import memory_bytes


@pytest.mark.parametrize(
    ("amount", "count"),
    [(4096, 4096), ("500MB", 500_000_000), ("1.5 GiB", 3 * 2**29), (".5kb", 500), ("12 B", 12)],
)
def test_amounts_are_bytes(amount: int | str, count: int) -> None:
    assert memory_bytes(amount) == count


@pytest.mark.parametrize("amount", ["500", "MB", "5 QB", "-5MB", "0MB", 0, -1, "", "1.2.3MB"])
def test_anything_else_is_refused_with_an_example(amount: int | str) -> None:
    with pytest.raises(ConfigError, match="write it as 500MB"):
        memory_bytes(amount)
