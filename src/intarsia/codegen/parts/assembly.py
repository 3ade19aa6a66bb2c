"""Assembly that the compiler of an engine wrote, as GNU's assembler takes it."""

from __future__ import annotations

import re
from hashlib import sha256

_UNKNOWN = re.compile(r"^\s*\.(?:attribute\s|prefalign\b|loc\s|file\s+\d).*\n", re.MULTILINE)


def for_gnu(text: str) -> str:
    """LLVM's assembly without what GNU's assembler does not read.

    It knows fewer names of RISC-V's extensions, and is told of the processor by its own options. Of lines of a source
    there is no source here.
    """
    return _UNKNOWN.sub("", text)


def stem_of(engine: str, text: str) -> str:
    """How names of an engine's functions begin, so that those of two networks may be in one program."""
    return f"{engine}_{sha256(text.encode()).hexdigest()[:8]}"
