"""A link to a file of the repository leads to a page of the site that shows the file with numbered lines.

Write such a link as it works in a checkout: ``[text](../src/intarsia/errors.py)``. A missing file is a warning, so the
build fails. A link to a folder leads to a list of its files.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import TextLexer, get_lexer_for_filename
from pygments.util import ClassNotFound
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.util import logging

REPOSITORY = Path(__file__).parents[2]
FOLDER = "source"
"""The folder of the site in which the pages of files lie."""
LONGEST = 400_000
"""Bytes of a file that its page shows at most."""
logger = logging.getLogger(__name__)


class SourceLinks(SphinxTransform):
    """Replaces links that leave ``docs/`` before MyST looks for them among the pages."""

    default_priority = 5

    def apply(self, **kwargs: Any) -> None:
        """Turn every such link of one page into a reference to the page of the file."""
        for link in list(self.document.findall(addnodes.pending_xref)) + list(
            self.document.findall(addnodes.download_reference)
        ):
            path = self._file(link)
            if path is None:
                continue
            if not (path.is_relative_to(REPOSITORY) and path.exists()):
                logger.warning("the link %r leads to no file of the repository", link["reftarget"], location=link)
                continue
            wanted = path.relative_to(REPOSITORY).as_posix()
            _linked(self.app).add(wanted)
            up = "../" * self.env.docname.count("/")
            found = nodes.reference(refuri=f"{up}{FOLDER}/{wanted}.html", internal=True)
            found += link.children
            link.replace_self(found)

    def _file(self, link: nodes.Element) -> Path | None:
        """The file that a link leads to; ``None`` if it leads to a page of the site, a heading, or a figure."""
        target = str(link.get("reftarget", ""))
        if target in self.env.found_docs or target.startswith("#") or link.get("refdomain") not in (None, "doc"):
            return None
        name = f"{target}.md" if link.get("refdomain") == "doc" else target.partition("#")[0]
        path = Path(os.path.normpath(Path(self.env.doc2path(self.env.docname)).parent / name))
        return None if path.is_relative_to(REPOSITORY / "docs" / "figures") else path


def _linked(app: Sphinx) -> set[str]:
    """The files that pages link to. Sphinx stores them, so a build that reads only changed pages knows them all."""
    if not hasattr(app.env, "intarsia_linked"):
        app.env.intarsia_linked = set()  # type: ignore[attr-defined]
    found: set[str] = app.env.intarsia_linked  # type: ignore[attr-defined]
    return found


def pages(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield a page for each file that some page links to."""
    for wanted in sorted(_linked(app)):
        path = REPOSITORY / wanted
        body = _listing(path) if path.is_dir() else _text(path)
        title = f"<h1><code>{wanted}</code></h1>"
        yield f"{FOLDER}/{wanted}", {"title": wanted, "body": title + body, "parents": []}, "page.html"


def _listing(path: Path) -> str:
    names = sorted(each.name for each in path.iterdir() if each.suffix in (".py", ".md", ".json", ".txt"))
    return "<ul>" + "".join(f"<li><code>{name}</code></li>" for name in names) + "</ul>"


def _text(path: Path) -> str:
    try:
        lexer = get_lexer_for_filename(path.name)
    except ClassNotFound:
        lexer = TextLexer()
    text = path.read_text(encoding="utf-8")[:LONGEST]
    found: str = highlight(text, lexer, HtmlFormatter(linenos="inline"))
    return found


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the transform and the pages; Sphinx calls this."""
    app.add_transform(SourceLinks)
    app.connect("html-collect-pages", pages)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
