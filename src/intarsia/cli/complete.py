"""What a shell is told that completes a spec."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem


def complete_target(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Kinds, aliases and tags for the last of the targets that stand there; tags once their vendor does."""
    from intarsia.target import ALIASES, KINDS, list_tags

    before, comma, last = incomplete.rpartition(",")
    start = before + comma + last[: len(last) - len(last.lstrip())]
    names = [*KINDS, *ALIASES]
    tags = list(list_tags())
    names += tags if "/" in last else dict.fromkeys(f"{tag.partition('/')[0]}/" for tag in tags)
    return [CompletionItem(start + name) for name in names if name.startswith(last.lstrip())]
