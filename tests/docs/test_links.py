"""What the texts of the repository name is there: pages, places on them, and files in code style.

Links between pages of ``docs/`` are checked a second time, as links of the site.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token
from myst_parser.slugs import github_slugify

ROOT = Path(__file__).parents[2]
TEXTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
FILE = re.compile(r"(?!.*/[A-Z]+\.)(?:src|tests|docs|benchmarks|\.ci)/[\w./-]*\w")
"""A path from the root, as it is written in code style, without a wildcard or a placeholder such as ``NAME.py``."""

SCRIPT = re.compile(r"[\w/]+\.py")
"""The name of a source file, as the text of a link."""
END = Token("", "", 0)


@cache
def tokens(path: Path) -> tuple[Token, ...]:
    found = MarkdownIt().enable("table").parse(path.read_text(encoding="utf-8"))
    return tuple(part for token in found for part in (token, *(token.children or ())))


def places(path: Path) -> set[str]:
    parts = tokens(path)
    titles = [part for before, part in pairwise(parts) if before.type == "heading_open"]
    return {github_slugify(title.content) for title in titles}


def broken(path: Path) -> Iterator[str]:
    for token, text in pairwise((*tokens(path), END)):
        if token.type == "link_open":
            link = urlsplit(str(token.attrs["href"]))
            target = (path.parent / unquote(link.path)).resolve() if link.path else path
            if link.scheme or link.netloc:
                continue
            if not target.exists():
                yield f"no file {link.path}"
            elif link.fragment and link.fragment not in places(target):
                yield f"no place {link.fragment} in {link.path or path.name}"
            elif SCRIPT.fullmatch(text.content) and not target.as_posix().endswith(f"/{text.content}"):
                yield f"the text {text.content} leads to {target.name}"
        if token.type == "code_inline" and FILE.fullmatch(token.content) and not (ROOT / token.content).exists():
            yield f"no file {token.content}"


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_what_a_text_names_is_there(path: Path) -> None:
    assert list(broken(path)) == []


def test_what_is_not_there_is_found(tmp_path: Path) -> None:
    (tmp_path / "other.md").write_text("# Two words\n")
    page = tmp_path / "page.md"
    page.write_text(
        "[a](other.md#two-words) [b](other.md#two) [c](none.md) [a.py](other.md)\n"
        "`src/intarsia/none.py` `src/intarsia`\n"
    )
    assert list(broken(page)) == [
        "no place two in other.md",
        "no file none.md",
        "the text a.py leads to other.md",
        "no file src/intarsia/none.py",
    ]
