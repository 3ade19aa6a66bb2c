"""Places of a graph."""

from __future__ import annotations

from intarsia.devices.resolved_constraints import Places
from tests.fakes import fake_graph


def test_nodes_inputs_and_outputs_are_places() -> None:
    graph = fake_graph([("a", "Add", ["x", "w"], ["u"]), ("b", "Neg", ["u"], ["v"])], weights=["w"], outputs=["u", "v"])
    places = Places(graph)
    assert [places.name(place) for place in range(places.count)] == [
        *("node 'a'", "node 'b'", "input 'x'"),
        *("output 'u'", "output 'v'"),
    ]
    ends = {value.name: (places.producer(value), places.readers(value)) for value in places.values()}
    assert ends == {"x": (2, (0,)), "u": (0, (1, 3)), "v": (1, (4,))}
