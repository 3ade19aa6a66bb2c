"""Names that are text."""

from __future__ import annotations

from collections.abc import Iterable

from intarsia.errors import ModelError


def check_text(names: Iterable[object], where: str) -> None:
    """Refuse names that are no text: protobuf hands such out as bytes.

    Raises:
        ModelError: One is not.
    """
    for name in names:
        if not isinstance(name, str):
            raise ModelError(f"{where} is damaged: {name!r} is a name in it, and no text")
