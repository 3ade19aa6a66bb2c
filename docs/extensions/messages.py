"""The directive ``error-messages`` lists the messages of one class of errors, each with the file that raises it.

The list is read from the sources when the site is built. ``…`` stands for a value that is filled in.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

SOURCE = Path(__file__).parents[2] / "src" / "intarsia"
GAP = "…"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Message:
    """One message of one class of errors, and the file under ``src/intarsia`` that raises it."""

    text: str
    file: str


@cache
def messages() -> Mapping[str, list[Message]]:
    """The messages of each class of errors. A message that is not written where the error is made is left out."""
    found: dict[str, set[Message]] = defaultdict(set)
    for path in SOURCE.rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        for call in _calls(source) if "Error(" in source else ():
            text = _text(call.args[-1])
            if text is not None and isinstance(call.func, ast.Name):
                found[call.func.id].add(Message(text=text, file=path.relative_to(SOURCE).as_posix()))
    return {name: sorted(each) for name, each in found.items()}


def _calls(source: str) -> Iterator[ast.Call]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and node.args:
            yield node


def _text(node: ast.expr) -> str | None:
    """The text of a message, with ``…`` for each value; ``None`` if it has no words of its own."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        parts = [part.value if isinstance(part, ast.Constant) else GAP for part in node.values]
        text = "".join(str(part) for part in parts)
        return text if text.strip(f"{GAP} :\n") else None
    return None


class ErrorMessages(SphinxDirective):
    """``{error-messages} SpecError``: a list that a reader can unfold."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the list for the class that the page names."""
        listed = messages().get(self.arguments[0])
        if not listed:
            raise self.error(f"no source file raises a {self.arguments[0]} with a message written beside it")
        items = nodes.bullet_list()
        for message in listed:
            text = nodes.paragraph("", "", nodes.literal(text=message.text), nodes.Text(f" ({message.file})"))
            items += nodes.list_item("", text)
        opening = nodes.raw("", f"<details><summary>{len(listed)} messages</summary>", format="html")
        return [opening, items, nodes.raw("", "</details>", format="html")]


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive; Sphinx calls this."""
    app.add_directive("error-messages", ErrorMessages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
