"""The option of each kind as a parameter of click: ``--target-llvm-mcpu``. There are more than five hundred.

So a command line declares those that stand on it, and no others.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from intarsia.errors import SpecError

if TYPE_CHECKING:
    from intarsia.config.cli_overrides.flags import Flag
    from intarsia.spec.types import OptionType

PREFIXES = ("--target-", "--executor-", "--runtime-")
"""How the flags of kinds begin."""


class KindValue(click.ParamType[Any]):
    """A value of one option of a kind."""

    name = "value"

    def __init__(self, type_: OptionType) -> None:
        self._type = type_

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The value, or a `SpecError` that shows its place."""
        from intarsia.config.cli_overrides.schemas import read_text

        return read_text(self._type, value, "" if param is None else param.opts[-1])


class KindOption(click.Option):
    """One option of one kind, in all spellings that a command line has of it. Help shows those of a kind together."""

    def __init__(self, flag: Flag, number: int, spellings: Sequence[str]) -> None:
        self.flag = flag
        super().__init__([*spellings, f"kind_option_{number}"], type=KindValue(flag.option.type), hidden=True)


def kind_options(words: Sequence[str]) -> list[KindOption]:
    """The options of kinds that these words of a command line name."""
    spelled = {word.partition("=")[0]: None for word in words if word.startswith(PREFIXES)}
    if not spelled:
        return []
    from intarsia.config.cli_overrides.flags import find_flag

    found: dict[str, tuple[Flag, list[str]]] = {}
    for word in spelled:
        flag = find_flag(word)
        if flag is not None:
            found.setdefault(str(flag), (flag, []))[1].append(word)
    return [KindOption(flag, number, spellings) for number, (flag, spellings) in enumerate(found.values())]


def with_values(words: Sequence[str], options: Sequence[click.Parameter]) -> list[str]:
    """The words with the value of each of these options after its ``=``: a bool of a kind may stand alone.

    Raises:
        SpecError: A value is missing.
    """
    named = {name: option for option in options for name in option.opts}
    found: list[str] = []
    left = deque(words)
    while left:
        word = left.popleft()
        if word == "--":
            return [*found, word, *left]
        found.append(f"{word}={_value(word, named, left)}" if word in named else word)
    return found


def _value(word: str, named: Mapping[str, click.Parameter], left: deque[str]) -> str:
    from intarsia.spec import Bool

    option = named[word]
    type_ = option.flag.option.type if isinstance(option, KindOption) else None
    if isinstance(type_, Bool) and not (left and type_.reads(left[0])):
        return "true"
    if not left or left[0].startswith("-"):
        raise SpecError(f"{word} needs a value; if it starts with '-', write it after '=', as in {word}=-x")
    return left.popleft()
