"""What engines without a backend take, by their tables."""

from __future__ import annotations

from importlib.resources import files

import pytest

from intarsia.backends.described import described_capability, operator_table
from intarsia.target import KINDS, Target
from tests.fakes import fake_graph

ETHOS_U, CMSIS_NN = Target("ethos-u"), Target("cmsis-nn")
TABLES = sorted(file.name.removesuffix(".json") for file in (files("intarsia.backends") / "operator_tables").iterdir())
QUANTISED = fake_graph(
    [
        ("enter", "QuantizeLinear", ["x"], ["q"]),
        ("dq", "DequantizeLinear", ["q"], ["f"]),
        ("conv", "Conv", ["f", "w"], ["c"]),
        ("relu", "Relu", ["c"], ["r"]),
        ("quantise", "QuantizeLinear", ["r"], ["rq"]),
        ("pool", "MaxPool", ["rq"], ["p"]),
        ("dq2", "DequantizeLinear", ["p"], ["pf"]),
        ("tanh", "Tanh", ["pf"], ["t"]),
        ("quantise2", "QuantizeLinear", ["t"], ["tq"]),
        ("leave", "DequantizeLinear", ["tq"], ["y"]),
    ],
    weights=["w"],
    dtypes=dict.fromkeys(("q", "rq", "p", "tq"), "int8"),
)


def taken(target: Target) -> list[str]:
    capability = described_capability(QUANTISED, target)
    return [node.id for node in QUANTISED.nodes if capability.takes(node.id)]


@pytest.mark.parametrize("name", TABLES)
def test_every_table_says_its_source_and_names_a_kind(name: str) -> None:
    table = operator_table(name)
    assert table is not None
    assert table.source
    assert table.operators
    assert KINDS[name].partial


def test_quantised_groups_are_taken_whole_and_floats_are_not() -> None:
    group = ["dq", "conv", "relu", "quantise"]
    assert taken(CMSIS_NN) == [*group, "pool"]
    assert taken(ETHOS_U) == [*group, "pool", "dq2", "tanh", "quantise2"]


def test_refusals_name_the_operator_or_the_value() -> None:
    refusals = described_capability(QUANTISED, CMSIS_NN).refusals
    assert refusals["enter"] == "cmsis-nn takes no QuantizeLinear"
    assert refusals["dq2"] == refusals["tanh"] == "cmsis-nn takes no Tanh"
    floats = fake_graph([("relu", "Relu", ["x"], ["y"])])
    assert described_capability(floats, ETHOS_U).refusals == {
        "relu": "ethos-u takes int8 or uint8 values, and 'x' is float32"
    }
    deep = fake_graph(
        [("relu", "Relu", ["x"], ["y"])],
        shapes=dict.fromkeys("xy", (1, 1, 1, 1, 1)),
        dtypes=dict.fromkeys("xy", "int8"),
    )
    assert described_capability(deep, ETHOS_U).refusals == {
        "relu": "ethos-u takes values of up to 4 dimensions, and 'x' has 5"
    }


def test_a_device_takes_all_and_an_unknown_accelerator_nothing() -> None:
    assert taken(Target("c")) == [node.id for node in QUANTISED.nodes]
    refusals = described_capability(QUANTISED, Target("tensorrt")).refusals
    assert set(refusals.values()) == {"nothing here says which operators tensorrt takes"}
    assert len(refusals) == len(QUANTISED.nodes)
