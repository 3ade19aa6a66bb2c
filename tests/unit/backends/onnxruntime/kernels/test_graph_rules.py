from __future__ import annotations

from intarsia.backends.contract import KernelChoice
from intarsia.backends.onnxruntime.kernels.graph_rules import kernels
from intarsia.graph import load_model
from tests.conformance.cases import Case, f32, node

BLOCK = 8


def choices(*layouts: tuple[str, str]) -> tuple[KernelChoice, ...]:
    return tuple(KernelChoice(name=kernel, layout=layout) for kernel, layout in layouts)


def test_each_node_has_its_kernels_and_the_layout_of_each() -> None:
    case = Case(
        name="several",
        nodes=(
            node("Conv", "x w", "a", pads=[1, 1, 1, 1]),
            node("LRN", "a", "b", size=3),
            node("Conv", "b point", "e"),
            node("Conv", "e colours", "c"),
            node("Relu", "c", "y"),
        ),
        inputs={"x": f32(1, 8, 9, 9)},
        weights={"w": (8, 8, 3, 3), "colours": (3, 16, 1, 1), "point": (16, 8, 1, 1)},
    )
    graph = load_model(case.model())
    found = kernels(graph, BLOCK)
    ids = [each.id for each in graph.nodes]
    assert found == {
        ids[0]: choices(("", "blocks"), ("tile-4", "blocks"), ("host", "blocks")),
        ids[1]: choices(("", "blocks"), ("host", "plain")),
        ids[2]: choices(("", "blocks"), ("ours", "blocks")),
        ids[3]: choices(("", "blocks"), ("host", "blocks")),
    }


def test_the_host_computes_volumes_plain() -> None:
    case = Case(
        name="volume",
        nodes=(node("Conv", "x w", pads=[1] * 6),),
        inputs={"x": f32(1, 8, 5, 5, 5)},
        weights={"w": (8, 8, 3, 3, 3)},
    )
    [several] = kernels(load_model(case.model()), BLOCK).values()
    assert several[-1] == KernelChoice(name="host", layout="plain")


def test_a_depthwise_convolution_is_chosen_together_with_the_one_before_it() -> None:
    case = Case(
        name="mobile",
        nodes=(
            node("Conv", "x u", "a"),
            node("Sigmoid", "a", "s"),
            node("Mul", "s a", "b"),
            node("Conv", "b w", "c", pads=[1, 1, 1, 1], group=16),
            node("Conv", "c v", "d"),
            node("Conv", "d w", "e", dilations=[2, 2], group=16),
        ),
        inputs={"x": f32(1, 8, 9, 9)},
        weights={"u": (16, 8, 1, 1), "w": (16, 1, 3, 3), "v": (16, 16, 1, 1)},
        outputs=("e",),
    )
    graph = load_model(case.model())
    found = kernels(graph, BLOCK)
    ids = [each.id for each in graph.nodes]
    both = tuple(KernelChoice(name=name, layout="blocks", also=(ids[0],)) for name in ("", "host"))
    assert found == {ids[3]: both, ids[4]: choices(("", "blocks"), ("ours", "blocks"))}
