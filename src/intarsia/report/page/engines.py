"""Which colour stands for which engine on a page: those of the plan first, so that they differ most."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

COLOURS = 8
"""As many as the style sheet tells apart for everybody; engines beyond share the last one, a grey."""

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Engines:
    """Engines, each with its place if that is not the CPU, in the order of their colours."""

    labels: tuple[str, ...]

    def number(self, target: str, device: str | None = None) -> int:
        """The colour of what runs there, from 0."""
        return min(self._place(target, device), COLOURS)

    def label(self, target: str, device: str | None = None) -> str:
        """What it is called: the engine, and its device."""
        return _label(target, device)

    def _place(self, target: str, device: str | None) -> int:
        label = _label(target, device)
        if label not in self.labels:  # a plan that was timed names no devices
            label = next((each for each in self.labels if each.split()[0] == label.split()[0]), label)
        return self.labels.index(label) if label in self.labels else COLOURS


def engines_of(report: Json) -> Engines:
    """The engines of a report: those of the plan by their share of the time, then the others that were timed."""
    spent = shares(report)
    labels = sorted(spent, key=lambda label: -spent[label])
    labels += [_label(each["target"], None) for each in report["singles"] if "failure" not in each]
    labels += [_label(target, None) for mix in report.get("mixes", ()) for target in mix["targets"]]
    return Engines(labels=tuple(dict.fromkeys(labels)))


def shares(report: Json) -> dict[str, float]:
    """The share of the time that each engine of the plan has, by label; of the nodes, where no time is known."""
    parts = report["partitions"]
    times = [part["measured_ms"] for part in parts]
    if None in times:
        times = [part["predicted_ms"] for part in parts]
    if None in times or not sum(times):
        times = [len(part["nodes"]) for part in parts]
    whole = sum(times) or 1
    found: dict[str, float] = {}
    for part, spent in zip(parts, times, strict=True):
        label = _label(part["target"], part.get("device"))
        found[label] = found.get(label, 0.0) + spent / whole
    return found


def names(targets: Iterable[str]) -> tuple[str, ...]:
    """The engines of target texts, each once."""
    return tuple(dict.fromkeys(_label(target, None) for target in targets))


def _label(target: str, device: str | None) -> str:
    """A target's text starts with its kind, which is called as its engine is."""
    engine = target.split(maxsplit=1)[0]
    return engine if device is None or device.startswith("cpu") else f"{engine} on {device}"
