"""`Scale`: how many replicas of a server there may be, as text that parses back."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from intarsia.errors import ConfigError
from intarsia.numbers import shown

_SCALE: Final = re.compile(r"([0-9]{1,9})(?:\.\.([0-9]{1,9}))?")
_MOST: Final = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """The least and the most replicas.

    Raises:
        ConfigError: There are none, too many, or less at most than at least.
    """

    least: int
    most: int

    def __post_init__(self) -> None:
        if not 1 <= self.least <= self.most <= _MOST:
            raise ConfigError(f"{self} is no number of replicas: at least 1, at most {_MOST}, the smaller one first")

    @classmethod
    def parse(cls, text: str) -> Scale:
        """The scale of ``MIN..MAX``, or of ``N`` for always so many; a `ConfigError` if it is neither."""
        found = _SCALE.fullmatch(text)
        if found is None:
            raise ConfigError(f"{shown(text)} is no number of replicas: write MIN..MAX, as 1..4, or one number")
        return cls(least=int(found[1]), most=int(found[2] or found[1]))

    def __str__(self) -> str:
        return str(self.least) if self.least == self.most else f"{self.least}..{self.most}"
