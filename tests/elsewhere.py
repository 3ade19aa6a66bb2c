"""Other interpreters to run an engine in: environments of their own, made in a moment: nothing is installed there."""

from __future__ import annotations

import sysconfig
import venv
from collections.abc import Iterable
from pathlib import Path

TESTS = Path(__file__).parent
RULES = TESTS / "away_engine"
"""A plug-in whose engine is not here; put on the path, its rules are."""
LIBRARY = RULES / "library"
FAULTY = TESTS / "faulty_engine"


def make_interpreter(folder: Path, paths: Iterable[Path]) -> str:
    """The path of an interpreter that finds nothing but its standard library and these folders."""
    venv.create(folder, symlinks=True)
    purelib = sysconfig.get_path("purelib", "venv", {"base": str(folder), "installed_base": str(folder)})
    (Path(purelib) / "elsewhere.pth").write_text("".join(f"{path}\n" for path in paths), encoding="utf-8")
    return str(folder / "bin" / "python")


def dependencies() -> list[Path]:
    """Where what Intarsia needs is installed here."""
    return [Path(path) for path in dict.fromkeys((sysconfig.get_path("purelib"), sysconfig.get_path("platlib")))]
