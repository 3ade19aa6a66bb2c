"""Whether a machine can hold what a graph computes: asked before anything of that size is made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from intarsia.errors import ModelError

if TYPE_CHECKING:
    from intarsia.graph.graph import Graph


def check_fits(graph: Graph, memory: int) -> None:
    """Refuse a graph of which one value alone takes more than ``memory`` bytes. Weights may stay in their files.

    Raises:
        ModelError: It names the value and what computes it.
    """
    value = max((value for value in graph.values.values() if not value.is_weight), key=lambda value: value.nbytes)
    if value.nbytes <= memory:
        return
    what = "input" if value.producer is None else f"node {graph.nodes[value.producer].id!r} computes"
    raise ModelError(
        f"{what} {value.name!r} {value.dtype}{list(value.shape or ())}, which takes {_gigabytes(value.nbytes)}, and "
        f"this machine has {_gigabytes(memory)}: state smaller shapes by --shape, or compile on a larger machine"
    )


def _gigabytes(count: int) -> str:
    return f"{count / 1e9:.3g} GB"
