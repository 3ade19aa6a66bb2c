"""A compiled model as its user meets it: called in every form, printed, shown in a notebook."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from onnx import helper

from intarsia.errors import ClosedError, FeedError
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


def made() -> CompiledModel:
    """d = a - b."""
    return unmeasured(
        model([helper.make_node("Sub", ["a", "b"], ["d"])], [info("a"), info("b")], [info("d")]), "reference"
    )


DOORS: Mapping[str, Callable[[CompiledModel], object]] = {
    "call": lambda each: each(A, B),
    "load": lambda each: each.load(),
    "stream": lambda each: list(each.stream([{"a": A, "b": B}])),
    "profile": lambda each: each.profile({"a": A, "b": B}, runs=1),
}


@pytest.mark.parametrize("is_loaded", [False, True])
@pytest.mark.parametrize("input_spec", DOORS)
def test_a_closed_model_says_so_at_every_door_and_loads_nothing(input_spec: str, is_loaded: bool) -> None:
    closed = made()
    executor = closed.load() if is_loaded else None
    with closed:
        pass
    closed.close()
    for _ in range(2):
        with pytest.raises(ClosedError, match="the model was closed; load it again"):
            DOORS[input_spec](closed)
    if executor is not None:
        with pytest.raises(ClosedError):
            executor.run({"a": A, "b": B})
    assert closed.plan.engines == ("reference",)


def test_a_stream_that_is_open_when_the_model_is_closed_says_so() -> None:
    closed = made()
    stream = closed.stream([{"a": A, "b": B}] * 3)
    assert next(stream)["d"].tolist() == [[-1.0] * 3] * 2
    closed.close()
    with pytest.raises(ClosedError):
        next(stream)


def test_a_closed_model_that_nobody_saved_cannot_be_saved(tmp_path: Path) -> None:
    kept = made()
    kept.close()
    assert kept.save(tmp_path / "kept.intarsia").exists()
    kept.artifact.path.unlink()
    with pytest.raises(ClosedError, match="save it, then close it"):
        kept.save(tmp_path / "gone.intarsia")


def test_threads_that_meet_at_the_first_call_load_once() -> None:
    fresh, executors, together = made(), [], threading.Barrier(4)

    def first() -> None:
        together.wait()
        executors.append(fresh.load())

    threads = [threading.Thread(target=first) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(executors) == 4
    assert len(set(map(id, executors))) == 1
    fresh.close()


def test_a_name_that_is_no_text_and_a_mapping_beside_arrays_are_told(difference: CompiledModel) -> None:
    with pytest.raises(FeedError, match="0 is no name of an input; the inputs are a, b"):
        difference({0: A, "a": A, "b": B})
    with pytest.raises(FeedError, match="put those into the mapping"):
        difference({"a": A}, b=B)
    for given in (None, "text", {1, 2}, object(), iter([A, B])):
        with pytest.raises(FeedError):
            difference(given)
