"""Aliases: other spellings of specs. Unlike a tag, an alias leaves no trace in what is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Alias:
    """Another spelling.

    Attributes:
        form: What it stands for, as a dict that names a kind.
        whole: Whether, standing alone, it means a whole that the spec is the chief part of (`Level.whole`).
    """

    form: Mapping[str, object]
    whole: bool = False
