"""The hand-made cut of resnet50 has the pieces that it promises."""

from __future__ import annotations

from collections import Counter

import networks
from intarsia.graph import load_model
from networks.resnet_cut import cut


def test_resnet50_falls_into_23_partitions_that_take_turns_and_cover_it_once() -> None:
    graph = load_model(networks.build("resnet50"))
    partitions = cut(graph)
    assert [target for target, _ in partitions] == ["onnxruntime", "ncnn"] * 11 + ["onnxruntime"]
    assert Counter(id_ for _, ids in partitions for id_ in ids) == Counter(node.id for node in graph.nodes)


def test_each_inlay_is_one_convolution_of_the_right_size_with_what_is_fused_to_it() -> None:
    graph = load_model(networks.build("resnet50"))
    inlays = [sorted(graph.node(id_).op_type for id_ in ids) for target, ids in cut(graph) if target == "ncnn"]
    assert inlays == [["BatchNormalization", "Conv", "Relu"]] * 11
    convolutions = [
        graph.node(id_)
        for target, ids in cut(graph)
        if target == "ncnn"
        for id_ in ids
        if graph.node(id_).op_type == "Conv"
    ]
    shapes = [graph.values[node.outputs[0]].shape for node in convolutions]
    assert shapes == [(1, 64, 56, 56)] * 3 + [(1, 128, 28, 28)] * 3 + [(1, 256, 14, 14)] * 5


def test_no_partition_reads_from_a_later_one() -> None:
    graph = load_model(networks.build("resnet50"))
    place = {id_: number for number, (_, ids) in enumerate(cut(graph)) for id_ in ids}
    for node in graph.nodes:
        for name in node.reads:
            producer = graph.values[name].producer
            assert producer is None or place[graph.nodes[producer].id] <= place[node.id]
