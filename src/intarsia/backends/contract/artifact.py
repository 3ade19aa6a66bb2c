"""What an engine compiled a sub-graph to, and the values at its borders."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from intarsia.graph import SubModel, Value


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineArtifact:
    """What an engine compiled a sub-graph to.

    Attributes:
        files: Named contents, in the engine's own format.
        weights: Names of the graph's weights that are handed over again at ``load`` instead of being copied into
            ``files``, so that an artifact stores each weight once.
        meta: JSON-able facts that ``load`` needs.
    """

    files: Mapping[str, bytes]
    weights: tuple[str, ...] = ()
    meta: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """Name, dtype (numpy name) and shape of one border value; a shape known only after a run is ``None``."""

    name: str
    dtype: str
    shape: tuple[int, ...] | None


def border_rows(model: SubModel) -> dict[str, list[list[Any]]]:
    """The inputs and outputs of a sub-graph as JSON-able rows, for ``EngineArtifact.meta``."""
    return {"inputs": signature_rows(model.inputs), "outputs": signature_rows(model.outputs)}


def signature_rows(values: Iterable[Value | Signature]) -> list[list[Any]]:
    """Border values as JSON-able rows; `signatures` reads them back."""
    return [[value.name, value.dtype, None if value.shape is None else list(value.shape)] for value in values]


def signatures(rows: Iterable[Sequence[Any]]) -> tuple[Signature, ...]:
    """What `signature_rows` wrote."""
    return tuple(
        Signature(name=name, dtype=dtype, shape=None if shape is None else tuple(shape)) for name, dtype, shape in rows
    )
