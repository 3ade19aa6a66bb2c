"""The description of stages reads back as it was written, and what contradicts itself is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from intarsia.backends.contract import Signature
from intarsia.deploy.stage_rows import Description, StageRow, read_description
from intarsia.errors import ArtifactError

X, H, Y = (Signature(name=name, dtype="float32", shape=(1, 4)) for name in "xhy")
FILES = {"stages/0.intarsia": 10, "stages/1.intarsia": 10}
PATH = Path("two.intarsia")


def described() -> Description:
    return Description.of(
        {"a": {"targets": ["onnxruntime"]}, "b": {"targets": ["openvino"]}},
        [X],
        [Y],
        [
            StageRow(machine="a", file="stages/0.intarsia", nodes=("n0",), inputs=("x",), outputs=("h",)),
            StageRow(machine="b", file="stages/1.intarsia", nodes=("n1",), inputs=("h", "x"), outputs=("y",)),
        ],
    )


def test_it_reads_back() -> None:
    assert read_description(described().json().encode(), PATH, FILES) == described()


def test_values_are_dropped_once_nobody_needs_them() -> None:
    assert described().drops() == [frozenset(), frozenset({"x", "h"})]


def _set(*path: Any, value: Any) -> Callable[[Any], None]:
    def change(facts: Any) -> None:
        for key in path[:-1]:
            facts = facts[key]
        facts[path[-1]] = value

    return change


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (_set("form", value=7), "form: is 7"),
        (_set("stages", value=[]), "stages: are 0"),
        (_set("stages", 0, "machine", value="c"), "'c', which is no machine"),
        (_set("stages", 1, "file", value="../else"), "which it does not hold"),
        (_set("stages", 0, "inputs", value=["z"]), "'z', which no stage before it makes"),
        (_set("stages", 1, "outputs", value=[]), "'y', which no stage makes"),
        (_set("stages", 0, "nodes", value="n0"), "must be a list"),
        (_set("inputs", 0, "shape", value=[-1]), "a size below 0"),
        (_set("version", value=2), "must be"),
        (_set("more", value=1), "no such field"),
    ],
)
def test_what_contradicts_itself_is_refused(change: Callable[[Any], None], says: str) -> None:
    facts = json.loads(described().json())
    change(facts)
    with pytest.raises(ArtifactError, match=r"two\.intarsia: its description of stages is damaged") as error:
        read_description(json.dumps(facts).encode(), PATH, FILES)
    assert says in str(error.value)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff", b"[" * 10_000])
def test_no_description_at_all(content: bytes) -> None:
    with pytest.raises(ArtifactError):
        read_description(content, PATH, FILES)
