"""What a session tells of its model, in the classes that scripts for ONNX Runtime know."""

from __future__ import annotations

from dataclasses import dataclass, field

from intarsia.graph.reading.interface import End, Interface


@dataclass(frozen=True, slots=True)
class NodeArg:
    """An input or output."""

    name: str
    type: str
    """As ``tensor(float)``."""
    shape: list[int | str | None]
    """A number for each dimension, its name where it is open, ``None`` for one without a name."""


@dataclass(frozen=True, slots=True)
class ModelMetadata:
    """Where a model came from, and its own key-value pairs."""

    producer_name: str
    graph_name: str
    domain: str
    description: str
    graph_description: str
    version: int
    custom_metadata_map: dict[str, str] = field(hash=False)


def node_args(ends: tuple[End, ...]) -> list[NodeArg]:
    """Inputs or outputs, in the model's order."""
    return [NodeArg(end.name, end.type, list(end.dims or ())) for end in ends]


def metadata_of(interface: Interface) -> ModelMetadata:
    """What the model's file says beside its graph."""
    return ModelMetadata(
        producer_name=interface.producer,
        graph_name=interface.name,
        domain=interface.domain,
        description=interface.description,
        graph_description=interface.graph_description,
        version=interface.version,
        custom_metadata_map=dict(interface.metadata),
    )
