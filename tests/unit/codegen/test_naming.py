from __future__ import annotations

from dataclasses import replace

import numpy as np

from intarsia.codegen.module import Read
from intarsia.codegen.naming import named_by_layer
from tests.unit.codegen.projects import BY, ORDER, network


def test_weights_are_called_by_the_layer_that_reads_them_first() -> None:
    found = named_by_layer(network())
    assert list(found.constants) == ["first_weights", "second_node_weights"]
    for name, array in (("first_weights", BY), ("second_node_weights", ORDER)):
        assert found.constants[name].name == name
        np.testing.assert_array_equal(found.constants[name].array, array)
    assert Read("first_weights") in found.calls[0].arguments
    assert Read("first_weights") in found.calls[3].arguments


def test_names_differ_where_layers_have_none() -> None:
    module = network()
    bare = replace(module, calls=tuple(replace(call, nodes=()) for call in module.calls))
    assert list(named_by_layer(bare).constants) == ["copy_weights", "copy_weights_2"]
