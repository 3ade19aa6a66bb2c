"""The shape of the sources: no circle of imports, no crowded folder, files that are short as a rule."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median

import pytest

from tests.unit.test_architecture import SOURCE

MOST_FILES = 20
TYPICAL = 120
CODE = frozenset({".py", ".c", ".cpp", ".h", ".hpp"})
OF_LIKE_THINGS = {
    Path("cli"): "one file per verb, and what verbs share",
    Path("target/tags"): "one file per vendor",
}
"""Folders that may hold more files, each with the reason."""


def modules(root: Path) -> dict[str, Path]:
    """Every module of a package by its dotted name."""
    found = {}
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        found[".".join(["intarsia", *(parts[:-1] if parts[-1] == "__init__" else parts)])] = path
    return found


def homes_of_lazy_names(path: Path) -> Iterator[tuple[str, str]]:
    """Each name that a package loads when it is asked for, with the module that defines it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "attributes_of":
            for home, names in ast.literal_eval(node.args[1]).items():
                yield from ((name, home) for name in names)


def test_no_name_that_is_loaded_lazily_is_that_of_a_module_beside_it() -> None:
    """Python binds a module in its package once it is imported, and the name would be the module's."""
    known = modules(SOURCE)
    packages = {name: path for name, path in known.items() if path.name == "__init__.py"}
    lazy = [(package, *each) for package, path in packages.items() for each in homes_of_lazy_names(path)]
    assert len(lazy) > 50
    assert not [(package, name) for package, name, _ in lazy if f"{package}.{name}" in known]


def imported(name: str, path: Path, known: Mapping[str, Path]) -> set[str]:
    """The modules of the package that a file imports, lazily and for types too."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            inside = {alias.name: f"{node.module}.{alias.name}" for alias in node.names}
            found |= {each if each in known else node.module for each in inside.values()}
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("import_module", "__import__")):
            found |= {
                each.value for each in node.args if isinstance(each, ast.Constant) and isinstance(each.value, str)
            }
    return (found & known.keys()) - {name}


def circles(root: Path) -> list[list[str]]:
    """The strongly connected components of more than one module, by Tarjan (SIAM J. Comput. 1, 1972)."""
    known = modules(root)
    graph = {name: sorted(imported(name, path, known)) for name, path in known.items()}
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(name: str) -> None:
        index[name] = low[name] = len(index)
        stack.append(name)
        for other in graph[name]:
            if other not in index:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], index[other])
        if low[name] == index[name]:
            component = stack[stack.index(name) :]
            del stack[stack.index(name) :]
            if len(component) > 1:
                found.append(sorted(component))

    for name in graph:
        if name not in index:
            visit(name)
    return found


def crowded(root: Path) -> Iterator[str]:
    """Folders of code that hold too many files."""
    counts = Counter(path.relative_to(root).parent for path in root.rglob("*") if path.suffix in CODE)
    for folder, count in sorted(counts.items()):
        if count > MOST_FILES and folder not in OF_LIKE_THINGS:
            yield f"{folder}: {count} files"


def lengths(root: Path) -> list[int]:
    """The lines of each file."""
    return [path.read_text(encoding="utf-8").count("\n") for path in root.rglob("*.py")]


def test_no_import_goes_round_in_a_circle() -> None:
    assert circles(SOURCE) == []


@pytest.mark.parametrize(
    "first",
    [
        "from intarsia.one.b import B",
        "def f() -> None:\n    from intarsia.one import b",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from intarsia.one.b import B",
    ],
)
def test_a_planted_circle_is_found(tmp_path: Path, first: str) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "one/a.py").write_text(first, encoding="utf-8")
    (tmp_path / "one/b.py").write_text("from intarsia.one.c import C", encoding="utf-8")
    (tmp_path / "one/c.py").write_text("import intarsia.one.a", encoding="utf-8")
    assert circles(tmp_path) == [["intarsia.one.a", "intarsia.one.b", "intarsia.one.c"]]


def test_no_folder_is_crowded() -> None:
    assert list(crowded(SOURCE)) == []


def test_a_crowded_folder_is_found(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    for number in range(MOST_FILES + 1):
        (tmp_path / f"one/f{number}{'.py' if number else '.cpp'}").write_text("", encoding="utf-8")
    assert list(crowded(tmp_path)) == [f"one: {MOST_FILES + 1} files"]


def test_half_of_the_files_are_short() -> None:
    assert median(lengths(SOURCE)) <= TYPICAL
