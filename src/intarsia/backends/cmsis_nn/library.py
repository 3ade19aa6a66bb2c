"""CMSIS-NN's sources as the user has them: where they lie, and which of its files a text needs."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from intarsia.errors import BackendUnavailableError, CompileError

if TYPE_CHECKING:
    from intarsia.target import Target

VARIABLE = "INTARSIA_CMSIS_NN"
OPTION = "sources"
HEADERS = "Include"
HEADER = '"arm_nnfunctions.h"'
SINGLE_ROUNDING = "CMSIS_NN_USE_SINGLE_ROUNDING"
"""The library's own switch for one rounding instead of two, with which it computes what ONNX Runtime does."""
GIVE = (
    f"get them from https://github.com/ARM-software/CMSIS-NN, and name their folder as in cmsis-nn -{OPTION}=/path or "
    f"in the environment variable {VARIABLE}"
)
_NAMED = re.compile(r"\barm_\w+")
_DEFINED = re.compile(r"^(?P<before>[A-Za-z_][\w \t*]*?)\b(?P<name>arm_\w+)\s*\([^;{]*\)\s*\{", re.MULTILINE)
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_IN_FLOAT = re.compile(r"_(f16|f32|flt)\b")


def stated(target: Target | None = None) -> Path | None:
    """The folder that the target names, else the environment; ``None`` if neither does."""
    named = None if target is None else target.options.get(OPTION)
    named = named or os.environ.get(VARIABLE)
    return Path(named) if named else None


def lack(path: Path | None) -> str | None:
    """Why a folder does not do; ``None`` if it is CMSIS-NN's."""
    if path is None:
        return "CMSIS-NN's sources are not here"
    if not (path / HEADERS / HEADER.strip('"')).is_file() or not (path / "Source").is_dir():
        return f"the folder {str(path)!r} does not hold CMSIS-NN: there is no {HEADERS}/{HEADER.strip(chr(34))} in it"
    return None


def folder(target: Target | None = None) -> Path:
    """The folder of CMSIS-NN's sources.

    Raises:
        BackendUnavailableError: None is named, or another one.
    """
    path = stated(target)
    reason = lack(path)
    if reason is not None:
        raise BackendUnavailableError(f"{reason}; {GIVE}")
    assert path is not None
    return path


def files_of(text: str, path: Path) -> tuple[str, ...]:
    """The files that define what a text calls, and what these call, as paths inside the folder.

    A superset where the library's own text is left out by a condition: what nothing calls, the linker drops.

    Raises:
        CompileError: The text calls a function that these sources lack.
    """
    defined, wanted = _definitions(path), set(_NAMED.findall(text))
    called = {name for name in wanted if f"{name}(" in text}
    if missing := sorted(called - defined.keys()):
        raise CompileError("cmsis-nn", f"the sources in {str(path)!r} have no {missing[0]}; take version 6 or newer")
    found: dict[str, None] = {}
    waiting = sorted(called)
    while waiting:
        file = defined[waiting.pop()]
        if file not in found:
            found[file] = None
            waiting += sorted(_named_in(path, file) & defined.keys())
    return tuple(sorted(found))


@cache
def _definitions(path: Path) -> Mapping[str, str]:
    """The file of each function that others may call."""
    found = {}
    for file in sorted((path / "Source").glob("*/*.c")):
        if _IN_FLOAT.search(file.stem):
            continue
        name = file.relative_to(path).as_posix()
        for each in _DEFINED.finditer(_plain(path, name)):
            if "static" not in each["before"]:
                found[each["name"]] = name
    return found


@cache
def _named_in(path: Path, file: str) -> frozenset[str]:
    return frozenset(_NAMED.findall(_plain(path, file)))


def _plain(path: Path, file: str) -> str:
    return _COMMENT.sub("", (path / file).read_text(encoding="utf-8", errors="replace"))
