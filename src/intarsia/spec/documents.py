"""Texts that people write in files: read within limits, and told with line and caret where they are wrong.

What a text means is left to `intarsia.spec.json_text`, `intarsia.spec.yaml_text` and the readers of specs.
"""

from __future__ import annotations

import codecs
import os
import stat
from pathlib import Path

from intarsia.spec.problems import caret
from intarsia.spec.syntax import Piece

MOST_BYTES = 8 << 20
"""Of one text: many times what a person writes, or a compile writes for a very large model."""
TOO_LARGE = f"it is larger than {MOST_BYTES >> 20} MiB, the most that is read"
MOST_DEEP = 64
"""Lists and maps within each other."""
_OTHERS = {
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}
"""How texts begin that are no UTF-8; the longer beginnings first."""


class TextError(ValueError):
    """What is wrong with a text, and where. The message holds the number of the line, the line, and a caret.

    ``start`` and ``stop`` count characters; without a start no place is known.
    """

    def __init__(self, problem: str, text: str = "", start: int | None = None, stop: int | None = None) -> None:
        self.problem = problem
        self.start = start
        self.stop = start if stop is None else stop
        self._lines: tuple[str, ...] = ()
        self._line = 0
        if start is not None:
            self._line = text.count("\n", 0, start) + 1
            self._lines = caret(Piece.whole(text).cut(start, max(start, self.stop or start)))
        super().__init__(self.told(""))

    def told(self, source: str) -> str:
        """The message, with what the text is called: ``a.yaml, line 3: …``."""
        place = ", ".join(filter(None, (source, f"line {self._line}" if self._line else "")))
        lines = () if "\n" in self.problem else self._lines  # one that has several lines shows its own place
        return "\n".join((f"{place}: {self.problem}" if place else self.problem, *lines))


def read_text(path: str | os.PathLike[str]) -> str:
    """The text of a file, or of a pipe, with Python's own line ends, and without the mark that UTF-8 may begin with.

    Raises:
        OSError: It cannot be read.
        ValueError: It is no file, is too large for a text that a person wrote, or is no UTF-8.
    """
    with Path(path).open("rb") as stream:
        mode = os.fstat(stream.fileno()).st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode)):
            raise ValueError("it is neither a file nor a pipe")
        content = stream.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise ValueError(TOO_LARGE)
    for mark, name in _OTHERS.items():
        if content.startswith(mark):
            raise ValueError(f"it is written in {name}; save it as UTF-8")
    return content.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
