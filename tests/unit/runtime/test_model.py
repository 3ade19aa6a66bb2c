"""A compiled model as its user meets it: called in every form, printed, shown in a notebook."""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from onnx import helper

from intarsia.errors import FeedError
from intarsia.runtime import Artifact, CompiledModel, attach_report, write_artifact
from tests.unit.graph.models import info, model
from tests.unmeasured import unmeasured

A, B = np.ones((2, 3), np.float32), np.full((2, 3), 2, np.float32)
REPORT = {
    "model": "/models/<net>.onnx",
    "chosen": "mix-1",
    "best_single": "openvino",
    "reason": "faster & sure",
    "latency_ms": {"median": 1.2345},
    "speedup_vs_best_single": {"median": 1.2, "low": 1.1, "high": 1.3},
    "max_rel_error": 1e-6,
}


@pytest.fixture(scope="module")
def difference() -> Iterator[CompiledModel]:
    """d = a - b, s = a + b."""
    nodes = [helper.make_node(op_type, ["a", "b"], [name]) for op_type, name in (("Sub", "d"), ("Add", "s"))]
    with unmeasured(model(nodes, [info("a"), info("b")], [info("d"), info("s")]), "reference") as compiled:
        yield compiled


def test_every_form_of_a_call_is_the_same(difference: CompiledModel) -> None:
    for results in (
        difference({"a": A, "b": B}),
        difference({"b": B, "a": A}),
        difference(A, B),
        difference(A, b=B),
        difference(b=B, a=A),
        difference(A.tolist(), B.astype(int).tolist()),
    ):
        assert list(results) == ["d", "s"]
        assert results["d"].tolist() == [[-1.0] * 3] * 2
        assert {array.dtype for array in results.values()} == {np.dtype(np.float32)}


def test_results_are_the_caller_s(difference: CompiledModel) -> None:
    first = difference(A, B)["d"]
    first[:] = 7
    assert difference(A, B)["d"].tolist() == [[-1.0] * 3] * 2


def test_a_bad_call_is_told(difference: CompiledModel) -> None:
    with pytest.raises(FeedError, match=r"input b float32\[2,3\] is missing"):
        difference(A)
    with pytest.raises(FeedError, match="no input 'c'"):
        difference(A, B, c=A)


def test_the_text_tells_engines_and_ends(difference: CompiledModel) -> None:
    assert repr(difference).startswith("CompiledModel(a model: 2 nodes on reference; ")
    assert repr(difference).endswith("a float32[2,3], b float32[2,3] → d float32[2,3], s float32[2,3])")


@pytest.fixture(scope="module")
def reported(difference: CompiledModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("reported") / "model.intarsia"
    write_artifact(path, difference.artifact.graph(), difference.artifact.build())
    return path


def test_an_artifact_without_a_report_is_shown(reported: Path) -> None:
    shown = CompiledModel(Artifact(reported))
    assert repr(shown).startswith("CompiledModel(a model: 2 nodes on reference")
    assert "latency" not in shown._repr_html_()


class _Cells(HTMLParser):
    """The texts of a page, and its tags."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_a_notebook_shows_a_table(reported: Path) -> None:
    attach_report(reported, REPORT)
    shown = CompiledModel(Artifact(reported))
    cells = _Cells()
    cells.feed(shown._repr_html_())
    assert set(cells.tags) == {"table", "caption", "b", "tr", "th", "td", "br"}
    rows = ["CompiledModel", " <net>.onnx", "engines", "2 nodes on reference", "threads", "latency", "1.23 ms", "gain"]
    assert [text for text in cells.texts if not text.isdecimal()][: len(rows)] == rows
    assert "1.20 x the speed of openvino, the best single engine (1.10 to 1.30)" in cells.texts
    assert {"a float32[2,3]", "s float32[2,3]", "faster & sure"} <= set(cells.texts)
    assert "1.23 ms" in repr(shown)
