"""Reads text files that people write, within size limits, and points at errors with line and caret.

The text is parsed by `intarsia.spec.json_text`, `intarsia.spec.yaml_text` and the readers of specs.
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
    """An error in a text. The message holds the line number, the line and a caret.

    ``start`` and ``stop`` are character offsets; ``start`` is ``None`` if the place is not known.
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
        super().__init__(self.text_in(""))

    def text_in(self, source: str) -> str:
        """Return the message with the name of the text in front: ``a.yaml, line 3: …``."""
        place = ", ".join(filter(None, (source, f"line {self._line}" if self._line else "")))
        lines = () if "\n" in self.problem else self._lines  # one that has several lines shows its own place
        return "\n".join((f"{place}: {self.problem}" if place else self.problem, *lines))


def read_text(path: str | os.PathLike[str]) -> str:
    """Return the text of a file or pipe, with a line feed as line end and without a byte order mark.

    Raises:
        OSError: The file cannot be read.
        ValueError: It is not a file, is larger than `MOST_BYTES`, or is not UTF-8.
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
