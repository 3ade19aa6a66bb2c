"""What the page draws the graph from: nodes, edges, areas and the facts of each part and segment, as compact JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from intarsia.partitioning.linear import linear_order
from intarsia.report.page.engines import COLOURS, colour, label
from intarsia.report.page.folding import ASPECTS, NODE_HEIGHT, Picture, fold
from intarsia.report.page.rows import NODE_WIDTH, arrange
from intarsia.report.reasons import Json, about_ms, ms, percent, signed_ms

if TYPE_CHECKING:
    from intarsia.graph import Graph, Node, Value

UNKNOWN = "type unknown"


def drawing(report: Json, graph: Graph | None) -> dict[str, Any]:
    """The object that the page's script reads; without a graph, nodes have neither place nor type."""
    parts = report["partitions"]
    facts = {
        "colours": COLOURS,
        "parts": [_part(number, report) for number in range(len(parts))],
        "segments": [],
        "single": len({part["target"] for part in parts}) == 1,
    }
    if graph is None:
        ids = [id_ for part in parts for id_ in part["nodes"]]
        part_of = [number for number, part in enumerate(parts) for _ in part["nodes"]]
        return facts | {"nodes": {"id": ids, "part": part_of}, "pictures": None}
    position = graph.position
    numbers = [sorted(position[id_] for id_ in part["nodes"] if id_ in position) for part in parts]
    covered = {node for part in numbers for node in part}
    if len(covered) < len(graph.nodes):  # a report of another graph: draw what there is, and put it nowhere
        return drawing(report, None)
    edges = sorted({(v.producer, end) for v in graph.values.values() if v.producer is not None for end in v.consumers})
    rows = arrange(len(graph.nodes), edges, numbers)
    segments = report.get("segments", ())
    return facts | {
        "nodes": _nodes(graph, numbers, _segments_of(graph, segments)),
        "segments": [_segment(segment) for segment in segments],
        "pictures": [_picture(fold(rows, edges, numbers, aspect), edges) for aspect in ASPECTS],
        "edges": [node for edge in edges for node in edge],
    }


def _part(number: int, report: Json) -> dict[str, Any]:
    part = report["partitions"][number]
    target, device = part["target"], part.get("device")
    return {
        "engine": colour(target, device),
        "label": label(target, device),
        "target": target,
        "nodes": len(part["nodes"]),
        "ms": ms(part["measured_ms"]),
        "predicted": ms(part["predicted_ms"]),
        "share": percent(part.get("share")),
        "transition": None if part.get("transition_ms") is None else ms(part["transition_ms"]),
        "alternatives": [
            {
                "target": each["target"],
                "engine": colour(each["target"]),
                "ms": about_ms(each),
                "plan": None if each["plan_ms"] is None else signed_ms(each["plan_ms"]),
            }
            for each in part.get("runners_up", ())
        ],
        "refused": [dict(each) for each in part.get("not_chosen", ())],
    }


def _segment(segment: Json) -> dict[str, Any]:
    costs = sorted(((each, target) for target, each in segment["ms"].items() if each is not None))
    longest = costs[-1][0] if costs else 0.0
    return {
        "nodes": segment["nodes"],
        "first": segment["first"],
        "last": segment["last"],
        "costs": [
            {
                "target": target,
                "engine": colour(target),
                "ms": ms(each),
                "width": round(100 * each / longest, 1) if longest else 0,
            }
            for each, target in costs
        ],
    }


def _segments_of(graph: Graph, segments: Sequence[Json]) -> list[int | None]:
    """The segment of each node: segments are runs of the linear order. None is known where they do not fit it."""
    nothing: list[int | None] = [None] * len(graph.nodes)
    if sum(segment["nodes"] for segment in segments) != len(graph.nodes):
        return nothing
    order, position = linear_order(graph), graph.position
    found, start = list(nothing), 0
    for number, segment in enumerate(segments):
        end = start + segment["nodes"]
        if {segment["first"], segment["last"]} - set(order[start:end]):
            return nothing
        for id_ in order[start:end]:
            found[position[id_]] = number
        start = end
    return found


def _nodes(graph: Graph, parts: Sequence[Sequence[int]], segments: Sequence[int | None]) -> dict[str, Any]:
    """Columns: of 5,000 nodes, the names of the fields would take more than what they hold."""
    part_of = {node: number for number, part in enumerate(parts) for node in part}
    texts: dict[str, int] = {}

    def number(text: str) -> int:
        return texts.setdefault(text, len(texts))

    reads = [[number(_value(graph, name)) for name in node.inputs if name] for node in graph.nodes]
    makes = [[number(_value(graph, name)) for name in node.outputs if name] for node in graph.nodes]
    ops = {op: place for place, op in enumerate(dict.fromkeys(_operator(node) for node in graph.nodes))}
    return {
        "id": [node.id for node in graph.nodes],
        "ops": list(ops),
        "op": [ops[_operator(node)] for node in graph.nodes],
        "part": [part_of[node.index] for node in graph.nodes],
        "segment": list(segments),
        "texts": list(texts),
        "reads": reads,
        "makes": makes,
    }


def _operator(node: Node) -> str:
    return f"{node.domain}.{node.op_type}" if node.domain else node.op_type


def _value(graph: Graph, name: str) -> str:
    """Type and shape, and whether it is a weight, an input or an output of the model."""
    value = graph.values.get(name)
    if value is None:
        return UNKNOWN
    role = "weight " if value.is_weight else f"input {name} " if value.is_input else ""
    return f"{role}{_type(value)}{f' = output {name}' if value.is_output else ''}"


def _type(value: Value) -> str:
    if value.dtype is None or value.shape is None:
        return value.dtype or UNKNOWN
    return f"{value.dtype} {'x'.join(map(str, value.shape)) or 'scalar'}"


def _picture(picture: Picture, edges: Sequence[tuple[int, int]]) -> dict[str, Any]:
    """Whole pixels: nobody sees less."""
    return {
        "x": [round(x) for x, _ in picture.nodes],
        "y": [round(y) for _, y in picture.nodes],
        "node": [NODE_WIDTH, NODE_HEIGHT],
        "extent": [0, round(picture.top), round(picture.width), round(picture.height)],
        "routes": {
            number: [round(each) for point in picture.routes[edge] for each in point]
            for number, edge in enumerate(edges)
            if edge in picture.routes
        },
        "turns": [number for number, edge in enumerate(edges) if edge in picture.turns],
        "boxes": [[box.part, *map(round, (box.left, box.top, box.right, box.bottom))] for box in picture.boxes],
    }
