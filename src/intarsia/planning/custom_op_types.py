"""The types of custom operators' results: the only step of planning that starts a process, as only an engine knows."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from intarsia.cost.reference.custom_ops import custom_op_types
from intarsia.graph import Graph
from intarsia.graph.normalisation.normalise import Types
from intarsia.graph.reference.contrib_ops import custom_op_values
from intarsia.planning.engine_set import Engine, leaves, present, tells
from intarsia.target import Target


def ask_types(
    graph: Graph, engines: Iterable[Engine], normalised: Callable[[Types], Graph]
) -> tuple[Graph, Target | None]:
    """The graph with the types of what its custom operators compute, and the type oracle, if it has such operators.

    Args:
        graph: The normalised graph; without custom operators, it stays as it is and no process starts.
        engines: The first of them that can run custom operators runs the model, in a process of its own.
        normalised: Normalises the model with these types. Called only where a type was unknown: what follows from it in
            the rest of the graph is unknown too.

    Raises:
        ModelError: The engine cannot run the model.
    """
    if not custom_op_values(graph):
        return graph, None
    type_oracle = next((target for target in leaves(present(engines)) if tells(target)), None)
    if type_oracle is None:
        return graph, None
    types = custom_op_types(graph, type_oracle)
    is_unknown = any(graph.values[name].dtype is None or graph.values[name].shape is None for name in types)
    return (normalised(types) if is_unknown else graph), type_oracle
