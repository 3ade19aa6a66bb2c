"""The tables of one instruction-set architecture: its features, what implies what, and what each processor has.

The facts are data, in ``tables/``; how a target's options choose among them is left to `features`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

ARCHITECTURES = ("x86", "aarch64", "arm", "riscv")
"""Those there are tables of. A processor that several know is of the first that does: a Cortex-A53 is ``aarch64``."""

_TABLES = Path(__file__).with_name("tables")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Architecture:
    """One instruction-set architecture. Features and processors go by their LLVM names.

    Attributes:
        implies: For each feature, those that it implies directly.
        implied_by: The same, the other way round.
        spellings: Features by their names without case and punctuation, and by other words for them.
        processors: For each processor, all that it has.
        triples: For each first part of a triple, all that it promises by itself.
    """

    name: str
    source: str
    implies: Mapping[str, frozenset[str]] = field(repr=False)
    implied_by: Mapping[str, frozenset[str]] = field(repr=False)
    spellings: Mapping[str, str] = field(repr=False)
    processors: Mapping[str, frozenset[str]] = field(repr=False)
    triples: Mapping[str, frozenset[str]] = field(repr=False)

    def feature(self, name: str) -> str | None:
        """The feature of that name in any spelling (``AVX512_VNNI``, ``sse4_1``, ``fp16``), or ``None``."""
        return name if name in self.implies else self.spellings.get(_loose(name))

    def processor(self, name: str) -> frozenset[str] | None:
        """All that the processor or architecture version of that name has, or ``None`` if the table has neither."""
        if name in self.processors:
            return self.processors[name]
        name = name.lower().replace("_", "-")
        if name in self.processors:
            return self.processors[name]
        version = self.feature(name)
        return self.closed((version,)) if version and _is_version(version) else None

    def closed(self, features: Iterable[str]) -> frozenset[str]:
        """These features and all that they imply."""
        return _reached(features, self.implies)

    def without(self, features: Iterable[str], gone: str) -> frozenset[str]:
        """These features less one and all that imply it."""
        return frozenset(features) - _reached((gone,), self.implied_by)


@functools.cache
def architecture(name: str) -> Architecture:
    """The architecture of that name, one of `ARCHITECTURES`. Its table is read when it is first asked for."""
    import tomllib  # slow to import, and not needed by a target that names no processor

    table = tomllib.loads((_TABLES / f"{name}.toml").read_text(encoding="utf-8"))
    implies = dict.fromkeys(table["standalone"].split(), frozenset[str]())
    implies |= {feature: frozenset(implied.split()) for feature, implied in table["implies"].items()}
    processors: dict[str, frozenset[str]] = {}
    for processor, words in table["cpus"].items():
        processors[processor] = _sum_of(words, processors, implies)
    return Architecture(
        name=name,
        source=table["source"].strip(),
        implies=MappingProxyType(implies),
        implied_by=MappingProxyType(_reversed(implies)),
        spellings=MappingProxyType(_spellings(table, implies)),
        processors=MappingProxyType(processors),
        triples=MappingProxyType(
            {part: _sum_of(words, processors, implies) for part, words in table["triples"].items()}
        ),
    )


def _spellings(table: Mapping[str, Any], features: Iterable[str]) -> dict[str, str]:
    spellings = {_loose(feature): feature for feature in features}
    return {_loose(other): feature for other, feature in table["spellings"].items()} | spellings


def _loose(name: str) -> str:
    return re.sub("[-_.]", "", name).lower()


def _is_version(feature: str) -> bool:
    """Whether a feature is a version of the architecture, so that it may stand where a processor does."""
    return re.fullmatch(r"(armv|v|rv[ab])[0-9].*", feature) is not None


def _sum_of(
    words: str, processors: Mapping[str, frozenset[str]], implies: Mapping[str, frozenset[str]]
) -> frozenset[str]:
    features: set[str] = set()
    for word in words.split():
        features |= processors.get(word) or _reached((word,), implies)
    return frozenset(features)


def _reversed(implies: Mapping[str, frozenset[str]]) -> dict[str, frozenset[str]]:
    implied_by: dict[str, set[str]] = {feature: set() for feature in implies}
    for feature, implied in implies.items():
        for other in implied:
            implied_by[other].add(feature)
    return {feature: frozenset(others) for feature, others in implied_by.items()}


def _reached(start: Iterable[str], edges: Mapping[str, frozenset[str]]) -> frozenset[str]:
    reached, waiting = set(start), list(start)
    while waiting:
        new = edges[waiting.pop()] - reached
        reached |= new
        waiting += new
    return frozenset(reached)
