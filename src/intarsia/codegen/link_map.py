"""What a program takes in memory, file by file, as the map of GNU's linker says."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from intarsia.errors import CompileError

CODE, CONSTANTS, DATA, ZEROS = "code", "constants", "data", "zeros"
PADDING = "*fill*"
"""Stands for a file where the linker aligned something."""
_START = "Linker script and memory map"
_OUTPUT = re.compile(r"^(?P<name>[.\w]\S*)(?:\s|$)")
_PART = re.compile(r"^ (?P<name>\S+)\s+0x[0-9a-f]+\s+0x(?P<size>[0-9a-f]+)(?:\s+(?P<file>\S.*))?\s*$")
_NAME_ALONE = re.compile(r"^ (?P<name>[.\w*]\S*)$")
_MEMBER = re.compile(r"(?P<archive>[^/]+\.a)\((?P<member>[^)]*)\)$")
_KINDS = (
    (ZEROS, (".bss", ".tbss", ".memory.", "COMMON")),
    (CODE, (".text", ".vectors", ".init", ".fini", ".plt", ".ARM.ex", ".iplt")),
    (CONSTANTS, (".rodata", ".eh_frame", ".gcc_except", ".data.rel.ro", ".srodata")),
    (DATA, (".data", ".tdata", ".got", ".sdata", ".preinit_array", ".init_array", ".fini_array")),
)
"""Sections by how their names begin; ``.data.rel.ro`` before ``.data``, ``.init_array`` is looked for first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkMap:
    """Bytes by kind and file. A library's file is ``libm.a:member.o``.

    Attributes:
        sizes: Of each kind (`CODE`, `CONSTANTS`, `DATA`, `ZEROS`) and file.
    """

    sizes: Mapping[tuple[str, str], int]

    def total(self, kind: str, *, without: tuple[str, ...] = ()) -> int:
        """Bytes of a kind, without those of some files, which are named as far as the first dot."""
        return sum(
            size for (each, file), size in self.sizes.items() if each == kind and file.partition(".")[0] not in without
        )

    def of(self, file: str) -> Mapping[str, int]:
        """Bytes by kind of a file, which is named as far as the first dot."""
        found: Counter[str] = Counter()
        for (kind, each), size in self.sizes.items():
            if each.partition(".")[0] == file:
                found[kind] += size
        return found


def read(path: Path) -> LinkMap:
    """The map that a linker wrote (``-Wl,-Map=PATH``).

    Raises:
        CompileError: It is no such map.
    """
    text = path.read_text(encoding="utf-8", errors="replace")
    if _START not in text:
        raise CompileError("the linker", f"{path.name} is not a map of GNU ld")
    sizes: Counter[tuple[str, str]] = Counter()
    for section, size, file in _parts(text.partition(_START)[2].splitlines()):
        kind = _kind(section)
        if kind is not None and size:
            sizes[kind, _short(file)] += size
    return LinkMap(sizes=dict(sizes))


def _parts(lines: list[str]) -> Iterator[tuple[str, int, str]]:
    """The output section, the bytes and the file of each part."""
    output, waiting = "", ""
    for line in lines:
        found = _OUTPUT.match(line)
        if found is not None:
            output, waiting = found["name"], ""
            continue
        alone = _NAME_ALONE.match(line)
        if alone is not None:
            waiting = alone["name"]
            continue
        part = _PART.match(f" {waiting} {line.strip()}" if waiting and line.startswith("      ") else line)
        waiting = ""
        if part is not None and (part["file"] or part["name"] == PADDING):
            yield output, int(part["size"], 16), part["file"] or PADDING


def _kind(section: str) -> str | None:
    if section.startswith((".init_array", ".fini_array")):
        return DATA
    return next((kind for kind, starts in _KINDS if section.startswith(starts)), None)


def _short(file: str) -> str:
    member = _MEMBER.search(file)
    return f"{member['archive']}:{member['member']}" if member else Path(file).name
