"""Weights that a step has for itself, since they are not the graph's: kept among the files of its engine's artifact."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from intarsia.backends.contract import EngineArtifact

if TYPE_CHECKING:
    from intarsia.graph import Graph, SubModel, Weight

_META = "own_weights"


def with_weights(
    artifact: EngineArtifact, model: SubModel | Graph, graph: Graph, *, same_names: bool = True
) -> EngineArtifact:
    """The artifact with those weights of ``model`` inside that it wants handed over and ``graph`` does not hold.

    Args:
        same_names: Whether weights of one name are one weight; without, their contents are compared.
    """

    def is_shared(name: str) -> bool:
        return name in graph.weights and (same_names or _is_one(model.weights[name], graph.weights[name]))

    own = [model.weights[name] for name in artifact.weights if not is_shared(name)]
    files = {_file(number): weight.array().tobytes() for number, weight in enumerate(own)}
    rows = [[weight.name, weight.dtype, list(weight.shape)] for weight in own]
    shared = tuple(filter(is_shared, artifact.weights))
    # Engines are handed all of them again under the names that they gave.
    meta = {**artifact.meta, _META: {"rows": rows, "wanted": list(artifact.weights)}}
    return replace(artifact, files={**artifact.files, **files}, weights=shared, meta=meta)


def _is_one(weight: Weight, other: Weight) -> bool:
    if (weight.dtype, weight.shape) != (other.dtype, other.shape):
        return False
    return np.array_equal(weight.array().reshape(-1).view(np.uint8), other.array().reshape(-1).view(np.uint8))


def own_weights(artifact: EngineArtifact) -> Mapping[str, np.ndarray]:
    """The weights that `with_weights` put inside."""
    rows = artifact.meta.get(_META, {}).get("rows", ())
    return {name: artifact.array(_file(number), dtype, shape) for number, (name, dtype, shape) in enumerate(rows)}


def own_files(artifact: EngineArtifact) -> Mapping[str, str]:
    """The file that holds each weight that `with_weights` put inside."""
    rows = artifact.meta.get(_META, {}).get("rows", ())
    return {name: _file(number) for number, (name, _, _) in enumerate(rows)}


def as_compiled(artifact: EngineArtifact) -> EngineArtifact:
    """The artifact as its engine made it, which names every weight that it wants."""
    if _META not in artifact.meta:
        return artifact
    return replace(artifact, weights=tuple(artifact.meta[_META]["wanted"]))


def _file(number: int) -> str:
    return f"own-weight-{number}"
