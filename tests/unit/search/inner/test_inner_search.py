"""What nested configurations run, by a table instead of a clock: never slower than the best of their engines alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper

from intarsia.config import CompilationConfig, NestedEngine, RunSettings, SearchSettings
from intarsia.cost.timing.sampling import Effort
from intarsia.graph import Graph, load_model
from intarsia.partitioning import Capability, Partition, Partitioning, nested_capability
from intarsia.planning.problem import Problem
from intarsia.search.inner.inner_search import InnerSearch
from intarsia.target import Target
from tests.unit.search.fakes import measured

if TYPE_CHECKING:
    from intarsia.cost.measure import Measurer
    from intarsia.cost.records.record import Measurement

A, B, C = Target("reference"), Target("c"), Target("xla")
"""Engines without options to tune."""
IDS = tuple(f"n{number}" for number in range(6))
ALL = Capability(refusals={})
SETTINGS = RunSettings(threads=4)
COSTS = st.lists(st.floats(0.1, 9.0), min_size=len(IDS), max_size=len(IDS))


def _chain() -> Graph:
    nodes = [helper.make_node("Relu", [f"v{place}"], [f"v{place + 1}"], id_) for place, id_ in enumerate(IDS)]
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in ("v0", f"v{len(IDS)}"))
    proto = helper.make_graph(nodes, "g", [x], [y])
    return load_model(helper.make_model(proto, opset_imports=[helper.make_opsetid("", 21)]))


GRAPH = _chain()


class TableMeasurer:
    """Costs of partitions by their leaves: each node's on its engine, and something for each partition."""

    def __init__(self, node_ms: Mapping[Target, Sequence[float]], step_ms: float = 0.5) -> None:
        self.asked: list[Partition] = []
        self._node_ms = node_ms
        self._step_ms = step_ms

    def cost(self, partition: Partition, settings: RunSettings, *, effort: Effort) -> Measurement:
        self.asked.append(partition)
        return measured(self.ms(partition))

    def ms(self, partition: Partition) -> float:
        """Of a partition, whatever is inside."""
        return sum(
            self._step_ms + sum(self._node_ms[leaf.target][IDS.index(id_)] for id_ in leaf.nodes)
            for leaf in partition.leaves
        )


def nest(*engines: Target | NestedEngine, **drives: str) -> NestedEngine:
    targets = [each.config if isinstance(each, NestedEngine) else each for each in engines]
    return NestedEngine(config=CompilationConfig.of({"kind": "config", "targets": targets, **drives}), engines=engines)


def problem(taken: Mapping[Target | NestedEngine, Capability], *nests: NestedEngine) -> Problem:
    """A problem of the last of these, which may hold the others."""
    inner = dict(taken)
    for each in nests:
        inner[each] = nested_capability(GRAPH, each, inner)
    last = nests[-1]
    return Problem(
        graph=GRAPH,
        targets=(last.target,),
        capabilities={last.target: inner[last]},
        settings=SearchSettings(),
        threads=4,
        segments=tuple((id_,) for id_ in IDS),
        nests={each.target: each for each in nests},
        inner=inner,
    )


def filled(given_: Problem, measurer: TableMeasurer, nodes: Sequence[str] = IDS) -> Partition:
    (target,) = given_.targets
    search = InnerSearch(given_)
    found = search(cast("Measurer", measurer), Partition(target=target, nodes=tuple(nodes)), SETTINGS)
    assert search(cast("Measurer", measurer), Partition(target=target, nodes=tuple(nodes)), SETTINGS) == found
    assert found.inside is not None
    parts = [(part.target, part.nodes) for part in found.leaves]
    rest = [(C, (id_,)) for id_ in IDS if id_ not in nodes]
    Partitioning.of(GRAPH, [*parts, *rest])
    return found


@given(COSTS, COSTS, st.integers(0, 5), st.integers(1, 6))
def test_it_never_loses_to_its_best_engine_alone(a: list[float], b: list[float], start: int, count: int) -> None:
    nodes = IDS[start : start + count]
    measurer = TableMeasurer({A: a, B: b})
    found = filled(problem({A: ALL, B: ALL}, nest(A, B)), measurer, nodes)
    alone = [measurer.ms(Partition(target=target, nodes=nodes)) for target in (A, B)]
    assert measurer.ms(found) <= min(alone)


@given(COSTS, COSTS, COSTS)
def test_brackets_inside_of_brackets_lose_nothing(a: list[float], b: list[float], c: list[float]) -> None:
    measurer = TableMeasurer({A: a, B: b, C: c})
    deep = nest(B, C)
    found = filled(problem({A: ALL, B: ALL, C: ALL}, deep, nest(A, deep)), measurer)
    assert measurer.ms(found) <= min(measurer.ms(Partition(target=target, nodes=IDS)) for target in (A, B, C))


@given(COSTS, COSTS, st.sets(st.sampled_from(IDS)), st.sets(st.sampled_from(IDS)))
def test_each_engine_gets_what_it_takes(a: list[float], b: list[float], not_a: set[str], not_b: set[str]) -> None:
    not_b -= not_a
    taken: dict[Target | NestedEngine, Capability] = {
        A: Capability(refusals=dict.fromkeys(not_a, "no")),
        B: Capability(refusals=dict.fromkeys(not_b, "no")),
    }
    found = filled(problem(taken, nest(A, B)), TableMeasurer({A: a, B: b}))
    assert all(taken[leaf.target].takes(id_) for leaf in found.leaves for id_ in leaf.nodes)


def test_a_mix_inside_is_found_run_by_run() -> None:
    measurer = TableMeasurer({A: [1, 1, 1, 9, 9, 9], B: [9, 9, 9, 1, 1, 1]})
    found = filled(problem({A: ALL, B: ALL}, nest(A, B)), measurer)
    assert [(leaf.target, leaf.nodes) for leaf in found.leaves] == [(A, IDS[:3]), (B, IDS[3:])]
    # What was chosen was measured as the one step that it is to what is around.
    assert found in measurer.asked


def test_a_region_that_is_no_union_of_segments_is_run_too() -> None:
    large = {"segments": (IDS[:4], IDS[4:])}
    given_ = problem({A: ALL, B: ALL}, nest(A, B))
    given_ = Problem(**{name: getattr(given_, name) for name in Problem.__slots__} | large)
    found = filled(given_, TableMeasurer({A: [2] * 6, B: [1] * 6}), IDS[2:5])
    assert [(leaf.target, leaf.nodes) for leaf in found.leaves] == [(B, IDS[2:5])]


@pytest.mark.parametrize(("stated", "depth"), [("pipeline -depth=2", 2), ("pipeline", 4)])
def test_a_pipeline_has_stages_whatever_is_fastest(stated: str, depth: int) -> None:
    measurer = TableMeasurer({A: [1.0] * 6})
    found = filled(problem({A: ALL}, nest(A, executor=stated)), measurer)
    assert found.inside is not None
    assert found.inside.pipeline is not None
    assert (found.inside.pipeline.stages, found.inside.pipeline.threads) == ((1, 1), (2, 2))
    assert found.inside.pipeline.depth == depth
    assert [leaf.nodes for leaf in found.leaves] == [IDS[:3], IDS[3:]]


def test_what_cannot_be_cut_has_no_stages() -> None:
    found = filled(problem({A: ALL}, nest(A, executor="pipeline")), TableMeasurer({A: [1.0] * 6}), IDS[:1])
    assert found.inside is not None
    assert found.inside.pipeline is None


def test_threads_are_capped_by_what_all_targets_state() -> None:
    one, two = Target("reference -threads=1"), Target("c -threads=2")
    capped = filled(problem({one: ALL, two: ALL}, nest(one, two)), TableMeasurer({one: [1] * 6, two: [2] * 6}))
    assert capped.inside is not None
    assert capped.inside.threads == 2
    free = filled(problem({one: ALL, B: ALL}, nest(one, B)), TableMeasurer({one: [1] * 6, B: [2] * 6}))
    assert free.inside is not None
    assert free.inside.threads is None


def test_others_are_left_as_they_are() -> None:
    own = Partition(target=A, nodes=IDS)
    search = InnerSearch(problem({A: ALL}, nest(A)))
    assert search(cast("Measurer", TableMeasurer({})), own, SETTINGS) is own
