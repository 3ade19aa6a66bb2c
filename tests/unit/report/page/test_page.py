"""The page as a file: whole, harmless whatever a model's names are, without any address to load from, and small."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from typing import Any

import pytest

from intarsia.report.page import Provenance, render
from intarsia.report.page.page import _ASSETS, _LIBRARIES, counted
from tests.cli_fakes import ALONE, OLD, PLAN, REPORT
from tests.fakes import fake_graph
from tests.reports import EVIL, large, small

MOST_BYTES = 8_000_000
PROVENANCE = Provenance(engines={"mnn": {"version": "3.6.1", "licence": "BSD-3-Clause"}}, plan=PLAN, run_ms=(12.0, 4.0))


class Tags(HTMLParser):
    """Every tag with its attributes, and the text inside scripts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.scripts: list[str] = []
        self.styles: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in {"meta", "link", "input", "img", "col", "br"}:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in {"script", "style"}:
            (self.scripts if self.open[-1] == "script" else self.styles).append(data)
        else:
            self.text += data

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


UNTIMED: dict[str, Any] = REPORT | {
    "latency_ms": None,
    "speedup_vs_best_single": None,
    "best_single": None,
    "predicted_ms": None,
    "prediction": None,
    "max_rel_error": None,
    "singles": [single for single in REPORT["singles"] if "failure" in single],
    "mixes": [],
    "partitions": [part | {"predicted_ms": None, "measured_ms": None, "share": None} for part in REPORT["partitions"]],
}
"""Of a plan that nothing was measured for."""


def data_of(page: str) -> Any:
    return json.loads(Tags(page).scripts[0])


@pytest.mark.parametrize("report", [REPORT, ALONE, OLD, UNTIMED])
def test_every_report_makes_a_page_whose_tags_close(report: dict[str, Any]) -> None:
    _, graph = small()
    for page in (render(report), render(report, graph, PROVENANCE)):
        found = Tags(page)
        assert found.open == []
        assert "mnn" in found.text


def test_the_sentences_that_explain_prints_are_there() -> None:
    text = " ".join(Tags(render(REPORT, *small()[1:], PROVENANCE)).text.split())
    for said in (
        "the mix is 1.22 times as fast (1.19 to 1.24)",
        "latency 16.0 ms (min 15.4, p90 17.2); predicted 15.2 ms, 4.8 % less than measured",
        "not measured: 1 of 3 segments on ncnn",
        "failed at crash: signal 11",
        "14.1 (+2.44) onnxruntime -optimization-level=all",
        "measured just now, 16.0 ms together",
        "intarsia compile model.onnx --threads 2 --partition collage",
        "3.6.1 BSD-3-Clause",
    ):
        assert said in text


def test_what_is_known_of_the_error_stands_beside_it() -> None:
    why, remark = "the model rounds inside", "output y is all zero: comparing it shows little"
    told = {"max_rel_error": 0.0177, "allowed_error": 0.05, "allowed_reason": why, "remarks": [remark]}
    page = render(REPORT | told | {"verified": True}, *small()[1:], PROVENANCE)
    assert f"5.0e-02 is allowed: {why}" in page
    assert remark in page
    assert "not verified" not in page
    assert "not verified" in render(REPORT | told | {"verified": False}, *small()[1:], PROVENANCE)


def test_the_strip_shows_the_shares_beside_it_whatever_a_run_took() -> None:
    ran = Provenance(engines={}, plan=PLAN, run_ms=(1.0, 9.0))
    strips = [re.search(r'<div class="strip".*?</div>', render(*small(), p), re.DOTALL) for p in (PROVENANCE, ran)]
    assert strips[0] is not None
    assert strips[1] is not None
    assert strips[0].group() == strips[1].group()
    assert "width:74.375%" in strips[0].group()


def test_names_of_a_model_are_only_text() -> None:
    rows = [(EVIL, "Conv", ["x"], [EVIL + "value"]), (EVIL + "2", EVIL, [EVIL + "value"], ["y"])]
    report, _ = small()
    parts = [
        part | {"nodes": [row[0]], "target": f"mnn -x={EVIL}"}
        for part, row in zip(report["partitions"], rows, strict=True)
    ]
    strange = {
        "partitions": parts,
        "reason": EVIL,
        "model": EVIL,
        "config": EVIL,
        "machine": {"cpu": EVIL},
        "segments": [],
    }
    page = render(report | strange, fake_graph(rows), PROVENANCE)
    plain = render(*small(), PROVENANCE)
    assert [tag for tag, _ in Tags(page).tags].count("script") == [tag for tag, _ in Tags(plain).tags].count("script")
    assert "img" not in {tag for tag, _ in Tags(page).tags}
    assert "<img" not in page
    assert not any(name.startswith("on") for _, attributes in Tags(page).tags for name in attributes)
    assert data_of(page)["nodes"]["id"] == [EVIL, EVIL + "2"]


def test_nothing_is_loaded_from_anywhere() -> None:
    page = render(*large(200), PROVENANCE)
    found = Tags(page)
    for _, attributes in found.tags:
        for name in ("src", "href", "action", "poster", "data"):
            assert (attributes.get(name) or "#").startswith(("#", "data:"))
    assert not re.search(r"url\(|@import", found.styles[0])
    assert not re.search(
        r"\b(fetch|XMLHttpRequest|WebSocket|EventSource|sendBeacon|importScripts)\b", "".join(found.scripts[1:])
    )
    (policy,) = (a["content"] or "" for tag, a in found.tags if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'")
    assert "connect-src" not in policy


def test_the_policy_lets_in_what_the_page_holds_and_nothing_else() -> None:
    found = Tags(render(*small()))
    (policy,) = (a["content"] or "" for tag, a in found.tags if a.get("http-equiv") == "Content-Security-Policy")
    digests = {
        f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
        for text in (*found.scripts[1:], *found.styles)
    }
    assert set(re.findall(r"'sha256-[^']+'", policy)) == digests


def test_five_thousand_nodes_fit() -> None:
    report, graph = large(5000, prefix="/model/encoder/some_long_name_as_exporters_write_them/layers")
    page = render(report, graph)
    assert len(data_of(page)["nodes"]["id"]) == 5000
    assert len(page.encode()) < MOST_BYTES


def test_a_page_that_has_it_all_sends_nobody_elsewhere() -> None:
    more = REPORT | {"opportunities": ALONE["opportunities"] * 3}
    for report in (REPORT, ALONE, ALONE | {"opportunities": ALONE["opportunities"] * 5}, more, OLD, UNTIMED):
        assert "--verbose" not in Tags(render(report, *small()[1:], PROVENANCE)).text


def test_one_of_a_thing_is_one() -> None:
    alone = {**ALONE, "partitions": [ALONE["partitions"][0] | {"nodes": ["conv_0"]}], "threads": 1, "segments": []}
    accuracy = {"max_error": 0.05, "inputs": 1, "worst": {"y": 0.012}, "mean": {"y": 0.003}}
    text = " ".join(Tags(render(alone | {"transitions": 1, "accuracy": accuracy})).text.split())
    for thing in ("node", "transition", "input", "part"):
        assert f"1 {thing}s" not in text
        assert f"1 {thing}es" not in text
    for said in ("1 node in running order", "1 transition", "On 1 input that decided"):
        assert said in text
    assert (counted(1, "thread"), counted(2, "thread"), counted(0, "transition", "transitions")) == (
        "1 thread", "2 threads", "0 transitions",
    )  # fmt: skip
    assert counted(5000, "node") == "5,000 nodes"


def test_the_timeline_of_one_part_is_not_on_the_page() -> None:
    _, graph = small()
    for content in (render(ALONE), render(ALONE, graph, PROVENANCE)):
        ids = {attributes.get("id") for _, attributes in Tags(content).tags}
        assert "timeline" not in ids
        assert "#timeline" not in {attributes.get("href") for _, attributes in Tags(content).tags}
    assert "timeline" in {attributes.get("id") for _, attributes in Tags(render(REPORT)).tags}


def test_stacked_rows_have_the_names_of_their_columns() -> None:
    """On a narrow screen the head of a table is gone: each figure says itself what it is."""
    bucket = {"ranges": {"seq": [1, 32]}, "measured_at": {"seq": 16}, **REPORT}
    page = render(REPORT | {"buckets": [bucket]}, *small()[1:], PROVENANCE)
    tables = re.findall(r'<table class="[^"]*stack">.*?</table>', page, re.DOTALL)
    assert len(tables) == 4
    for table in tables:
        for cell in re.findall(r"<td[^>]*>", table):
            assert "data-name=" in cell or "remark" in cell or "none" in cell


def test_options_are_not_split() -> None:
    named = [part | {"target": "mnn -threads=2 -x=<b>"} for part in REPORT["partitions"]]
    written = ("mnn", "-threads=2", "-x=&lt;b&gt;")
    wanted = " ".join(f'<span class="word">{word}</span>' for word in written)
    assert f'<span class="mono">{wanted}</span>' in render(REPORT | {"partitions": named})


def test_buckets_devices_and_memory_have_their_places() -> None:
    bucket = {"ranges": {"seq": [1, 32]}, "measured_at": {"seq": 16}, **REPORT}
    transfer = {
        "value": "a", "source": "cpu", "destination": "vulkan:0", "partition": 2, "readers": [2],
        "bytes": 4096, "is_inside": False, "ms": 0.25,
    }  # fmt: skip
    more: dict[str, Any] = {"buckets": [bucket], "transfers": [transfer], "memory": {"peak_bytes": 12_300_000}}
    more |= {
        "figures": None,
        "accuracy": {"max_error": 0.05, "inputs": 32, "worst": {"y": 0.012}, "mean": {"y": 0.003}},
    }
    text = " ".join(Tags(render(REPORT | more)).text.split())
    for said in ("seq 1 to 32", "cpu → vulkan:0", "4,096", "0.250", "12.3 MB", "32 inputs", "y1.20e-023.00e-03"):
        assert said in text


def test_the_libraries_are_there_with_their_licence() -> None:
    vendor = _ASSETS / "vendor"
    readme = (vendor / "README.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^\| (d3-\w+) \|", readme, re.MULTILINE)) == sorted(_LIBRARIES)
    for name, version in re.findall(r"^\| (d3-\w+) \| ([\d.]+) \|", readme, re.MULTILINE):
        assert f"{name}/ v{version} Copyright" in (vendor / f"{name}.min.js").read_text(encoding="utf-8")
        assert name in (vendor / "LICENSE").read_text(encoding="utf-8")
