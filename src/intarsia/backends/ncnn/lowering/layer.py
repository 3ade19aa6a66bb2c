"""The small vocabulary that lowerings speak: layers, the weight blocks they read, and a refusal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

Shape = tuple[int, ...]
Parameter = int | float | tuple[int, ...] | tuple[float, ...]
Vector = Callable[[], "np.ndarray"]
"""Values derived from weights, computed only when a network is written: judging a node reads no large weight."""


class Refused(Exception):  # noqa: N818 - an answer inside this folder, never an error that leaves it
    """A node that ncnn would not compute, or would compute wrongly; the text is the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One block of ncnn's weight stream: a weight of the graph, or values derived from some.

    Attributes:
        weight: Name of the graph's weight; empty for derived values.
        derived: The values when ``weight`` is empty.
        view: Shape the weight is seen in before ``order`` is applied; ``None`` for the weight's own bytes.
        order: Axes of ``view`` in ncnn's order.
        factor: What each output channel (the leading rows) is multiplied by.
        tagged: The layer expects a storage tag of four bytes before the block; zero means raw float32.
    """

    weight: str = ""
    derived: Vector | None = None
    view: Shape | None = None
    order: Shape = ()
    factor: Vector | None = None
    tagged: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """One line of a param file. ``params`` maps ncnn's parameter ids to values."""

    type: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    params: Mapping[int, Parameter] = field(default_factory=dict)
    blocks: tuple[Block, ...] = ()
