"""What LiteRT refuses, and how a program is written as its networks, without LiteRT."""

from __future__ import annotations

import onnx
import pytest

from intarsia.backends import registry
from intarsia.backends.litert.backend import LitertBackend
from intarsia.backends.litert.network import Network, networks
from intarsia.backends.lowering.lower import lower
from intarsia.graph import extract, load_model
from intarsia.target import Target
from tests.conformance.cases import Case, Feed, f32, i64, node, one, scalar


def reasons(case: Case) -> list[str]:
    graph = load_model(case.model())
    return list(registry.get("litert").capability(graph, Target("litert")).refusals.values())


def written(case: Case) -> tuple[Network, Network]:
    """What is run once, and what is run with each call."""
    graph = load_model(case.model())
    model = extract(graph, graph.position)
    numbers = {name: weight.array() for name, weight in model.weights.items() if weight.array().size == 1}
    program = lower(model, LitertBackend.natives)
    return networks(program, list(program.inputs), list(program.outputs), numbers)


def operators(network: Network) -> list[str]:
    return [each.name for each in network.operators]


def test_it_is_found_by_its_file() -> None:
    assert isinstance(registry.get("litert"), LitertBackend)


@pytest.mark.parametrize("dtype", ["float16", "float32", "int8", "uint8", "int32", "uint32", "int64"])
def test_it_adds_numbers_of_most_types(dtype: str) -> None:
    x = Feed(shape=(2, 3), dtype=dtype, low=0, high=9)
    assert reasons(one("Add", "a", {"x": x, "b": x})) == []


@pytest.mark.parametrize("dtype", ["float64", "uint64"])
def test_it_adds_no_others(dtype: str) -> None:
    x = Feed(shape=(2, 3), dtype=dtype, low=0, high=9)
    assert reasons(one("Add", "a", {"x": x, "b": x})) == [f"litert has no ADD of {dtype}"]


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_whole_numbers_are_not_taken_for_quantised_ones(dtype: str) -> None:
    """What ADD takes for 8 bits has a scale, and without one the process is aborted."""
    x = Feed(shape=(2, 3), dtype=dtype, low=0, high=9)
    _, always = written(one("Add", "a", {"x": x, "b": x}))
    (sum_,) = (each for each in always.operators if each.name == "ADD")
    assert always.tensors[sum_.reads[0]].dtype == "int32"


def test_it_pads_up_to_five_dimensions() -> None:
    pads = i64(*[1] * 10)
    assert reasons(one("Pad", "p", {"x": f32(2, 1, 2, 1, 2), "pads": pads})) == []
    (reason,) = reasons(one("Pad", "p", {"x": f32(2, 1, 2, 1, 2, 1), "pads": i64(*[1] * 12)}))
    assert reason == "litert has no PAD over 6 dimensions"


def test_it_pools_without_dilations() -> None:
    x = f32(1, 1, 8, 8)
    assert reasons(one("MaxPool", "m", {"x": x}, kernel_shape=[2, 2])) == []
    (reason,) = reasons(one("MaxPool", "m", {"x": x}, kernel_shape=[2, 2], dilations=[2, 2]))
    assert reason == "litert has no pool with dilations"


def test_it_convolves_over_up_to_three_dimensions() -> None:
    assert reasons(one("Conv", "c", {"x": f32(1, 1, 4, 4, 4), "w": (1, 1, 2, 2, 2)})) == []
    (reason,) = reasons(one("Conv", "c", {"x": f32(1, 1, 4, 4, 4, 4), "w": (1, 1, 2, 2, 2, 2)}))
    assert reason == "litert has no convolution over 4 dimensions"


def test_it_refuses_what_is_not_lowered() -> None:
    assert reasons(one("Det", "d", {"x": f32(3, 3)})) == ["Det: it has no lowering"]


RESIDUAL = Case(
    name="residual",
    nodes=(
        node("Conv", "x w b", "c", pads=[1, 1, 1, 1]),
        node("Relu", "c", "r"),
        node("Conv", "r v d", "e", pads=[1, 1, 1, 1]),
        node("Add", "e r", "s"),
        node("Relu", "s", "t"),
        node("GlobalAveragePool", "t", "g"),
        node("Flatten", "g", "y"),
    ),
    inputs={"x": f32(1, 3, 8, 8)},
    weights={"w": (4, 3, 3, 3), "b": (4,), "v": (4, 4, 3, 3), "d": (4,)},
)


def test_a_network_of_convolutions_keeps_its_channels_last() -> None:
    once, always = written(RESIDUAL)
    assert operators(always) == ["TRANSPOSE", "CONV_2D", "CONV_2D", "ADD", "MEAN", "RESHAPE"]
    assert operators(once) == ["TRANSPOSE", "TRANSPOSE"]


def test_activations_become_parts_of_layers() -> None:
    _, always = written(RESIDUAL)
    told = [each.options.get("fusedActivationFunction", 0) for each in always.operators]
    assert told == [0, 1, 0, 1, 0, 0]


def test_a_clip_from_0_to_6_is_an_activation() -> None:
    case = Case(
        name="clip",
        nodes=(node("Conv", "x w", "c"), node("Clip", "c low high")),
        inputs={"x": f32(1, 3, 8, 8)},
        weights={"w": (4, 3, 1, 1), "low": scalar(0.0), "high": scalar(6.0)},
    )
    _, always = written(case)
    assert operators(always) == ["TRANSPOSE", "CONV_2D", "TRANSPOSE"]
    assert always.operators[1].options["fusedActivationFunction"] == 3


def test_a_result_that_is_read_twice_stays() -> None:
    case = Case(
        name="twice",
        nodes=(node("Conv", "x w", "c"), node("Relu", "c", "y")),
        inputs={"x": f32(1, 3, 8, 8)},
        weights={"w": (4, 3, 1, 1)},
        outputs=("c", "y"),
    )
    _, always = written(case)
    assert "RELU" in operators(always)


def test_what_follows_a_layer_for_each_channel_goes_into_its_weights() -> None:
    case = Case(
        name="scaled",
        nodes=(node("Conv", "x w", "c"), node("Mul", "c k", "m"), node("Add", "m b", "y")),
        inputs={"x": f32(1, 3, 8, 8)},
        weights={"w": (4, 3, 1, 1), "k": (4, 1, 1), "b": (4, 1, 1)},
    )
    once, always = written(case)
    assert operators(always) == ["TRANSPOSE", "CONV_2D", "TRANSPOSE"]
    assert "MUL" in operators(once)


def test_a_product_with_a_known_matrix_is_a_layer_with_its_bias() -> None:
    case = Case(
        name="dense",
        nodes=(node("MatMul", "x w", "m"), node("Add", "b m", "y")),
        inputs={"x": f32(2, 5, 8)},
        weights={"w": (8, 6), "b": (6,)},
    )
    once, always = written(case)
    assert operators(always) == ["FULLY_CONNECTED"]
    assert len(always.operators[0].reads) == 3
    assert operators(once) == ["TRANSPOSE"]


def test_an_average_is_not_multiplied_and_divided_again() -> None:
    case = one("AveragePool", "a", {"x": f32(1, 2, 4, 4)}, kernel_shape=[2, 2], strides=[2, 2])
    _, always = written(case)
    assert operators(always) == ["TRANSPOSE", "AVERAGE_POOL_2D", "TRANSPOSE"]


HALF, ROOT, INVERSE = scalar(0.5), scalar(2**0.5), scalar(0.5**0.5)


@pytest.mark.parametrize(
    "nodes",
    [
        (
            node("Div", "x root", "d"),
            node("Erf", "d", "e"),
            node("Add", "e one", "a"),
            node("Mul", "x a", "m"),
            node("Mul", "m half"),
        ),
        (
            node("Mul", "inverse x", "d"),
            node("Erf", "d", "e"),
            node("Add", "one e", "a"),
            node("Mul", "half x", "m"),
            node("Mul", "m a"),
        ),
    ],
    ids=["half-last", "half-first"],
)
def test_a_gelu_in_five_nodes_is_one_operator(nodes: tuple[onnx.NodeProto, ...]) -> None:
    numbers = {"root": ROOT, "inverse": INVERSE, "one": scalar(1.0), "half": HALF}
    used = {name for each in nodes for name in each.input}
    weights = {name: number for name, number in numbers.items() if name in used}
    _, always = written(Case(name="gelu", nodes=nodes, inputs={"x": f32(2, 3)}, weights=weights))
    assert operators(always) == ["GELU"]
    assert always.operators[0].reads == always.inputs


def test_what_only_looks_like_a_gelu_is_none() -> None:
    nodes = (
        node("Div", "x root", "d"),
        node("Erf", "d", "e"),
        node("Add", "e one", "a"),
        node("Mul", "z a", "m"),
        node("Mul", "m half"),
    )
    weights = {"root": ROOT, "one": scalar(1.0), "half": HALF}
    _, always = written(Case(name="other", nodes=nodes, inputs={"x": f32(2, 3), "z": f32(2, 3)}, weights=weights))
    assert operators(always).count("GELU") == 1
    assert {"SIGN", "ABS"} <= set(operators(always))


def test_rows_and_columns_are_put_together_where_they_lie() -> None:
    case = Case(
        name="tokens",
        nodes=(node("Conv", "x w", "c"), node("Reshape", "c shape", "r"), node("Transpose", "r", "y", perm=[0, 2, 1])),
        inputs={"x": f32(1, 3, 8, 8)},
        weights={"w": (4, 3, 2, 2), "shape": i64(1, 4, 49)},
    )
    _, always = written(case)
    assert operators(always) == ["TRANSPOSE", "CONV_2D", "RESHAPE"]


def test_heads_are_not_moved_twice() -> None:
    """Keys of an attention: transposed to heads, and once more for the product."""
    case = Case(
        name="heads",
        nodes=(
            node("Reshape", "k shape", "p"),
            node("Transpose", "p", "h", perm=[0, 2, 3, 1]),
            node("MatMul", "q h", "y"),
        ),
        inputs={"k": f32(1, 5, 8), "q": f32(1, 2, 6, 4)},
        weights={"shape": i64(1, 5, 2, 4)},
    )
    _, always = written(case)
    assert operators(always) == ["RESHAPE", "TRANSPOSE", "BATCH_MATMUL"]


def test_a_shape_that_stays_is_not_written() -> None:
    _, always = written(one("Identity", "i", {"x": f32(2, 3)}))
    assert always.operators == ()
    assert always.inputs == always.outputs
