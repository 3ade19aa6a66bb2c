"""Weights that a step has for itself, since they are not the graph's: kept among the files of its engine's artifact."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from intarsia.backends.contract import EngineArtifact

if TYPE_CHECKING:
    from intarsia.graph import Graph, SubModel

_META = "own_weights"


def with_weights(artifact: EngineArtifact, model: SubModel, graph: Graph) -> EngineArtifact:
    """The artifact with those weights of ``model`` inside that it wants handed over and ``graph`` does not hold."""
    own = [model.weights[name] for name in artifact.weights if name not in graph.weights]
    files = {_file(number): weight.array().tobytes() for number, weight in enumerate(own)}
    rows = [[weight.name, weight.dtype, list(weight.shape)] for weight in own]
    shared = tuple(name for name in artifact.weights if name in graph.weights)
    # Engines are handed all of them again under the names that they gave.
    meta = {**artifact.meta, _META: {"rows": rows, "wanted": list(artifact.weights)}}
    return replace(artifact, files={**artifact.files, **files}, weights=shared, meta=meta)


def own_weights(artifact: EngineArtifact) -> Mapping[str, np.ndarray]:
    """The weights that `with_weights` put inside."""
    rows = artifact.meta.get(_META, {}).get("rows", ())
    return {name: artifact.array(_file(number), dtype, shape) for number, (name, dtype, shape) in enumerate(rows)}


def as_compiled(artifact: EngineArtifact) -> EngineArtifact:
    """The artifact as its engine made it, which names every weight that it wants."""
    if _META not in artifact.meta:
        return artifact
    return replace(artifact, weights=tuple(artifact.meta[_META]["wanted"]))


def _file(number: int) -> str:
    return f"own-weight-{number}"
