"""The layers of the model, with what each takes on every engine that tells: where which kernel is the faster one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from intarsia.report.reasons import Json, here, percent
from intarsia.wording import counted

if TYPE_CHECKING:
    from intarsia.graph import Graph
    from intarsia.partitioning import Partition

MOST: Final = 200
"""Layers of a report: those that take longest on some engine."""


def layers_json(
    graph: Graph,
    partitions: Iterable[Partition],
    told: Mapping[str, Mapping[str, float]],
    kernels: Mapping[str, str] = MappingProxyType({}),
) -> list[dict[str, Any]]:
    """The layers in running order, each with the target that it runs on in a plan.

    A layer is a kernel with what engines fuse into it: they name the whole after one node or another.

    Args:
        graph: The model.
        partitions: The plan's.
        told: Milliseconds of nodes by id, by the targets that ran the whole model.
        kernels: The kernels of ours that compute nodes, by id.
    """
    if not told:
        return []
    from intarsia.partitioning import kernel_groups

    target = {node: str(partition.target) for partition in partitions for node in partition.nodes}
    groups = kernel_groups(graph)
    times = [{name: sum(ms.get(id_, 0.0) for id_ in group) for name, ms in told.items()} for group in groups]
    longest = [max(each.values()) for each in times]
    shown = set(sorted(range(len(groups)), key=lambda place: -longest[place])[:MOST])
    return [
        {
            "node": group[0],
            "op": " + ".join(graph.node(id_).op_type for id_ in group),
            "target": target.get(group[0]),
            "kernel": next((kernels[id_] for id_ in group if id_ in kernels), None),
            "ms": times[place],
        }
        for place, group in enumerate(groups)
        if place in shown and longest[place] > 0
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """A row of the table of layers.

    Attributes:
        node: The id of its first node in the model.
        op: Its operators.
        target: The target that it runs on in what ships; empty where that is the same for all layers.
        kernel: Which kernel of ours computes it there; empty for none.
        ms: Milliseconds on each engine of the table.
        least: The least of them.
    """

    node: str
    op: str
    target: str
    kernel: str
    ms: tuple[float, ...]
    least: float


def how(report: Json) -> str:
    """Where the figures of the table of layers are from."""
    return (
        f"ms{here(report)}, as each engine reports of its own kernels in a call of the whole model; what it fuses over "
        "several layers counts for one of them"
    )


def engines_of(report: Json) -> tuple[str, ...]:
    """The engines of the table of layers; none where no engine told anything."""
    layers = report.get("layers") or ()
    return tuple(layers[0]["ms"]) if layers else ()


def rows_of(report: Json) -> Sequence[Layer]:
    """The layers, those first that take longest on the engine that they run on, else on the fastest."""
    engines, layers = engines_of(report), report.get("layers") or ()
    is_mixed = len({layer["target"] for layer in layers}) > 1
    rows = [
        Layer(
            node=layer["node"],
            op=layer["op"],
            target=layer["target"] or "" if is_mixed else "",
            kernel=layer["kernel"] or "",
            ms=tuple(layer["ms"][engine] for engine in engines),
            least=_least_ms(layer),
        )
        for layer in layers
    ]
    return [row for _, row in sorted(zip(map(_own_ms, layers), rows, strict=True), key=lambda pair: -pair[0])]


def own_kernels(report: Json) -> str | None:
    """How much of what ships kernels of ours compute; ``None`` where they compute nothing of it."""
    layers = report.get("layers") or ()
    ours, whole = [layer for layer in layers if layer["kernel"]], sum(map(_own_ms, layers))
    if not ours or not whole:
        return None
    share = sum(map(_own_ms, ours)) / whole
    return (
        f"kernels of ours compute {len(ours)} of {counted(len(layers), 'layer')}, {percent(share)} of the time of all"
    )


def _own_ms(layer: Json) -> float:
    """What a layer takes on the engine that it runs on, else on the fastest that tells."""
    return float(layer["ms"].get(layer["target"], _least_ms(layer)))


def _least_ms(layer: Json) -> float:
    """What it takes on the fastest engine that tells."""
    return min((float(each) for each in layer["ms"].values() if each > 0), default=0.0)
