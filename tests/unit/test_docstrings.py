"""Sections of docstrings: each entry names a parameter or a field that is there, and stands on a line of its own."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = [path for folder in ("src", "networks", "benchmarks") for path in sorted((ROOT / folder).rglob("*.py"))]
ENTRY = re.compile(r"\*{0,2}(\w+):")


def section(doc: str, title: str) -> list[str]:
    """The lines of a section of a docstring in Google's form."""
    _, found, rest = doc.partition(f"\n{title}:\n")
    return re.split(r"^\S", rest, maxsplit=1, flags=re.MULTILINE)[0].splitlines() if found else []


def parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    """The names of all parameters."""
    return {each.arg for each in ast.walk(function.args) if isinstance(each, ast.arg)}


def fields(class_: ast.ClassDef) -> set[str]:
    """The names of what a class defines, and of what its methods set on ``self``."""
    found = set()
    for node in ast.walk(class_):
        if isinstance(node, ast.FunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            found.add(node.id if isinstance(node, ast.Name) else node.attr)
    return found


def faults(text: str) -> Iterator[str]:
    """Entries that name nothing, and those that stand behind another one on its line."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ClassDef):
            title, known = "Attributes", fields(node)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            title, known = "Args", parameters(node)
        else:
            continue
        lines = section(ast.get_docstring(node) or "", title)
        named = [match[1] for line in lines if (match := ENTRY.match(line.removeprefix("    ")))]
        yield from (f"{node.name}: {name}" for name in named if name not in known)
        behind = set(re.findall(r"[.;] (\w+): ", " ".join(map(str.strip, lines))))
        yield from (f"{node.name}: {name}" for name in sorted(behind & known - set(named)))


def test_entries_name_what_is_there() -> None:
    found = {str(path.relative_to(ROOT)): list(faults(path.read_text(encoding="utf-8"))) for path in SOURCES}
    assert {path: wrong for path, wrong in found.items() if wrong} == {}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('def f(a: int) -> None:\n    """F.\n\n    Args:\n        b: It.\n    """', "f: b"),
        ('def f(a: int, b: int) -> None:\n    """F.\n\n    Args:\n        a: One. b: Two.\n    """', "f: b"),
        ('class C:\n    """C.\n\n    Attributes:\n        b: It.\n    """\n    a: int', "C: b"),
    ],
)
def test_a_planted_fault_is_found(text: str, fault: str) -> None:
    assert list(faults(text)) == [fault]
