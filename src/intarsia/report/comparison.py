"""Every engine side by side, and one sentence of advice with its reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_SHARED = ("model", "singles", "mixes", "best_single", "speedup_vs_best_single", "search", "threads", "machine")


@dataclass(frozen=True, slots=True)
class Comparison:
    """What ``compare`` shows, made from a compile's report."""

    report: Mapping[str, Any]

    @property
    def recommendation(self) -> str:
        """What to ship, with which options, and why."""
        chosen, best = self.report["chosen"], self.report["best_single"]
        if chosen != best:
            engines = " + ".join(dict.fromkeys(part["target"] for part in self.report["partitions"]))
            return f"Ship the mix of {engines}: {self.report['reason']}."
        single = next(single for single in self.report["singles"] if single["target"] == best)
        return f"Ship {single['tuned']} with spin {single['spin']}: {self.report['reason']}."

    def json(self) -> dict[str, Any]:
        """The object that ``intarsia compare --json`` prints."""
        return {key: self.report[key] for key in _SHARED} | {"recommendation": self.recommendation}
