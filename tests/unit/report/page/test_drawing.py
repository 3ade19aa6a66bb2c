from __future__ import annotations

import json

from intarsia.report.page.drawing import drawing
from intarsia.report.page.folding import ASPECTS
from tests.reports import large, small


def test_each_node_has_its_part_its_segment_and_what_it_reads() -> None:
    report, graph = small()
    drawn = drawing(report, graph)
    nodes = drawn["nodes"]
    assert nodes["id"] == ["conv_0", "relu_0", "pool_0", "gru_1"]
    assert [nodes["ops"][op] for op in nodes["op"]] == ["Conv", "Relu", "MaxPool", "GRU"]
    assert (nodes["part"], nodes["segment"]) == ([0, 0, 0, 1], [0, 0, 1, 2])
    assert [nodes["texts"][text] for text in nodes["reads"][0]] == [
        "input x float32 1x3x8x8", "weight float32 4x3x3x3",
    ]  # fmt: skip
    assert [nodes["texts"][text] for text in nodes["makes"][3]] == ["float32 = output y"]


def test_edges_are_pairs_of_nodes() -> None:
    report, graph = small()
    drawn = drawing(report, graph)
    assert drawn["edges"] == [0, 1, 1, 2, 2, 3]
    for picture in drawn["pictures"]:
        assert len(picture["x"]) == len(picture["y"]) == 4
        assert {box[0] for box in picture["boxes"]} == {0, 1}


def test_there_is_a_picture_for_each_shape_of_screen() -> None:
    report, graph = large(300)
    extents = [each["extent"] for each in drawing(report, graph)["pictures"]]
    for aspect, (left, top, right, bottom) in zip(ASPECTS, extents, strict=True):
        assert 0.75 < (right - left) / (bottom - top) / aspect < 1.33


def test_a_part_tells_its_alternatives_and_who_refused() -> None:
    report, graph = small()
    first, second = drawing(report, graph)["parts"]
    assert (first["label"], first["ms"], first["share"], first["transition"]) == ("mnn", "11.9", "74 %", None)
    assert first["alternatives"][0]["target"] == "onnxruntime -optimization-level=all"
    assert (first["alternatives"][0]["ms"], first["alternatives"][0]["plan"]) == ("14.1", "+2.44")
    assert (second["alternatives"][0]["ms"], second["transition"]) == ("~8.30", "0.310")
    assert second["refused"][0] == {"target": "ncnn", "reason": "refused: no GRU (gru_1)"}


def test_segments_that_do_not_fit_the_graph_are_nobodys() -> None:
    report, graph = small()
    report["segments"] = [report["segments"][0] | {"first": "elsewhere"}, *report["segments"][1:]]
    assert drawing(report, graph)["nodes"]["segment"] == [None] * 4


def test_without_a_graph_the_nodes_are_listed() -> None:
    report, _ = small()
    drawn = drawing(report, None)
    assert drawn["pictures"] is None
    assert drawn["nodes"] == {"id": ["conv_0", "relu_0", "pool_0", "gru_1"], "part": [0, 0, 0, 1]}


def test_a_graph_that_the_report_is_not_of_is_not_drawn() -> None:
    report, _ = small()
    _, other = large(8)
    assert drawing(report, other)["pictures"] is None


def test_it_is_json_throughout() -> None:
    report, graph = large(100)
    assert json.dumps(drawing(report, graph), allow_nan=False)
