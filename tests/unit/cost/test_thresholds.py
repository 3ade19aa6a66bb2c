"""Each threshold says what it bounds, and cannot be changed while the process runs."""

from __future__ import annotations

import ast
from dataclasses import FrozenInstanceError
from pathlib import Path
from types import ModuleType

import pytest

from intarsia.cost import thresholds as of_cost
from intarsia.cost.thresholds import PAIRED
from intarsia.search import thresholds as of_search


@pytest.mark.parametrize("module", [of_cost, of_search], ids=["cost", "search"])
def test_each_field_says_what_it_bounds(module: ModuleType) -> None:
    tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
    for each in (node for node in tree.body if isinstance(node, ast.ClassDef)):
        fields = [node for node in each.body if isinstance(node, ast.AnnAssign)]
        documented = [
            node
            for node, after in zip(each.body, each.body[1:], strict=False)
            if isinstance(node, ast.AnnAssign) and isinstance(after, ast.Expr)
        ]
        assert fields
        assert documented == fields


def test_a_threshold_cannot_be_set() -> None:
    with pytest.raises(FrozenInstanceError):
        PAIRED.settled_sets = 3  # type: ignore[misc]
