"""Code that a file names which was handed over: it runs only where the user names it too, by a target of his own."""

from __future__ import annotations

from collections.abc import Iterable

from intarsia.errors import ConfigError

Executed = tuple[str, str]
"""An option, and the path that it has loaded or run, as `Spec.executed` tells."""


def refuse_unstated(named: Iterable[Executed], stated: Iterable[Executed], who: str) -> None:
    """Refuse libraries and interpreters of which only a file speaks.

    Args:
        named: What the file names.
        stated: What the user does.
        who: The file, in words.

    Raises:
        ConfigError: Naming the first of them, and how to say that it may run.
    """
    known = {path for _, path in stated}
    for option, path in named:
        if path not in known:
            raise ConfigError(
                f"{who} names {path!r} (-{option}), and compiling would run it; if you trust that file, name it "
                f"yourself: --target 'ENGINE -{option}={path}'"
            )
