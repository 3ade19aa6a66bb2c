"""What comes out of operators that ONNX does not define, from an engine that knows them.

It is asked in a process of its own, since what computes them is anybody's library.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from intarsia.backends import registry
from intarsia.cost.reference.reference_io import recorded_values
from intarsia.cost.thresholds import PATIENCE
from intarsia.cost.worker.client import WorkerClient, ask_twice
from intarsia.cost.worker.protocol import OBSERVING, Answer, Failed, Observe, Observed
from intarsia.errors import ModelError
from intarsia.files import scratch
from intarsia.graph import Graph, save_graph
from intarsia.graph.normalisation.normalise import Types
from intarsia.graph.reference.contrib_ops import custom_op_values
from intarsia.runtime.environment import load_environment
from intarsia.target import Target

SEEDS = (0, 1)


def custom_op_types(graph: Graph, target: Target) -> Types:
    """Element types and shapes of what these operators compute on a target; none where its engine tells nothing.

    Told are shapes on which runs with the inputs of two seeds agree, as they may depend on the inputs' values; and none
    where sizes of the graph are open. A `ModelError` says why the engine cannot run the model.
    """
    (first, _), (second, _) = _observed(graph, target, SEEDS)
    return {
        name: (dtype, shape if second[name] == (dtype, shape) and not graph.sizes else None)
        for name, (dtype, shape) in first.items()
    }


def custom_op_arrays(graph: Graph, target: Target, seed: int) -> Mapping[str, np.ndarray]:
    """As `custom_op_types`, what these operators compute from the seeded inputs; texts are left out."""
    ((_, arrays),) = _observed(graph, target, (seed,))
    return arrays


def _observed(graph: Graph, target: Target, seeds: Sequence[int]) -> Iterator[tuple[Types, Mapping[str, np.ndarray]]]:
    """For each seed the types, and the values but for texts: all from one process."""
    names = custom_op_values(graph)
    environment = load_environment([registry.engine_of(target)], OBSERVING)
    with scratch() as folder:
        saved = folder / "graph"
        save_graph(graph, saved)
        with WorkerClient(saved, environment) as worker:
            for seed in seeds:
                values = folder / str(seed)
                request = Observe(target=str(target), names=names, seed=seed, folder=str(values))
                types = _types(target, ask_twice(worker, request, PATIENCE.custom_ops_s))
                arrays = {name: np.array(array) for name, array in recorded_values(values, names).items()}
                yield types, arrays


def _types(target: Target, answer: Answer) -> Types:
    if isinstance(answer, Failed):
        raise ModelError(
            f"{str(target)!r} does not run this model, which has operators that ONNX does not define: "
            f"{answer.reason}; if a library brings them, name it with --custom-ops"
        )
    assert isinstance(answer, Observed)
    return answer.types or {}
