"""Which options of a target an engine reads, as a table beside the engine; `Backend.reads` is one."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

Reads = Mapping[str, frozenset[str]]
"""Names of options by the target kind that has them: the engine's own kind, and the kinds of its bases."""

READ_FOR_ALL = frozenset({"base", "compiler", "python", "target_device_type"})
"""Options that decide which engine is asked, where it runs and for which device: planning reads them for every one."""


def reading(table: Mapping[str, str]) -> Reads:
    """The table, whose values are names of options with blanks between."""
    return MappingProxyType({kind: frozenset(names.split()) for kind, names in table.items()})
