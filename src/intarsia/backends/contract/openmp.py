"""GNU's OpenMP, which several engines carry: how long its threads look for work behind a loop."""

from __future__ import annotations

from collections.abc import Mapping

from intarsia.config.settings import Spin

ENVIRONMENT: Mapping[Spin, Mapping[str, str | None]] = {
    Spin.FREE: {"OMP_WAIT_POLICY": None, "GOMP_SPINCOUNT": None},
    Spin.CALL: {"OMP_WAIT_POLICY": None, "GOMP_SPINCOUNT": "2000"},
    Spin.NEVER: {"OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "0"},
}
"""What it reads while it loads. 2000 rounds of spinning (a few µs) bridge the gap between the loops of one call."""
