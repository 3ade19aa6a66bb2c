"""Places are narrow, and what is counted as sent is what crosses the borders of a stage."""

from __future__ import annotations

import onnx
from hypothesis import given

from intarsia.deploy.cuts import MOST_PLACES, line_of
from intarsia.graph import load_model
from intarsia.partitioning import boundaries
from tests.unit.graph.models import branching, random_dags, two_layers


@given(random_dags())
def test_what_is_sent_is_what_crosses_the_borders(model: onnx.ModelProto) -> None:
    graph = load_model(model)
    line = line_of(graph, {node.id: 1.0 for node in graph.nodes})
    assert sorted(line.nodes) == sorted(node.id for node in graph.nodes)
    assert (line.places[0], line.places[-1]) == (0, len(line.nodes))
    assert list(line.places) == sorted(set(line.places))
    for (start, end), nbytes in line.sent.items():
        border = boundaries(graph, line.run(start, end))
        assert nbytes == sum(graph.values[name].nbytes for name in (*border.inputs, *border.outputs))


def test_only_the_narrowest_of_places_that_are_near_stays() -> None:
    graph = load_model(branching())
    whole = line_of(graph, {node.id: 1.0 for node in graph.nodes})
    one = line_of(graph, {node.id: float(number == 0) for number, node in enumerate(graph.nodes)})
    assert 2 < len(whole.places) <= MOST_PLACES + 1
    assert len(one.places) < len(whole.places)


def test_a_model_of_which_an_output_is_an_input_is_not_divided() -> None:
    model = two_layers()
    model.graph.output.append(model.graph.input[0])
    graph = load_model(model)
    if any(graph.values[name].producer is None for name in graph.outputs):
        assert len(line_of(graph, {node.id: 1.0 for node in graph.nodes}).places) == 2
    else:  # the model was made to copy it
        assert all(graph.values[name].producer is not None for name in graph.outputs)
