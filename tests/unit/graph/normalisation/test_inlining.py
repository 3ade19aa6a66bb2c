from __future__ import annotations

from collections.abc import Callable

import onnx
import onnx_ir as ir
import pytest
from onnx_ir.passes.common import InlinePass

from intarsia.graph import load_model
from intarsia.graph.normalisation.naming import inline_functions
from tests.fuzz.base_models import BASES
from tests.malformed import bomb, with_function


@pytest.mark.parametrize("make", [lambda: bomb(2, width=3), BASES["calls"], BASES["function"]])
def test_names_are_those_that_the_library_gives(make: Callable[[], onnx.ModelProto]) -> None:
    ours, theirs = (ir.from_proto(make()) for _ in range(2))
    inline_functions(ours)
    InlinePass()(theirs)
    assert not ours.functions
    assert _names(ours) == _names(theirs)


def _names(model: ir.Model) -> list[tuple[str | None, list[str | None]]]:
    return [(node.name, [output.name for output in node.outputs]) for node in model.graph.all_nodes()]


def test_ten_thousand_copies_are_no_burden() -> None:
    assert len(load_model(bomb(4)).nodes) == 10_000


def test_attributes_of_the_call_arrive() -> None:
    graph = load_model(with_function())
    assert [node.op_type for node in graph.nodes] == ["LeakyRelu", "Add"]
    assert graph.nodes[0].attributes["alpha"] == 0.5
