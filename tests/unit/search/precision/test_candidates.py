"""Engines in less than fp32: where they are offered, and how much of a model fits an error."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intarsia.backends.contract.failures import Cause
from intarsia.backends.native import library
from intarsia.config import RunSettings
from intarsia.config.precision import Precision, Scheme
from intarsia.cost.records.record import Failure
from intarsia.graph import load_model
from intarsia.graph.quantise import layers_of
from intarsia.partitioning import Partition
from intarsia.planning.problem import Candidate
from intarsia.search.precision import candidates
from intarsia.search.precision.candidates import (
    Cut,
    in_reduced_types,
    most_that_fits,
    on_extensions,
    spread,
    with_rest,
)
from intarsia.search.thresholds import PRECISION
from intarsia.target import Target
from tests.conformance.boundary_cases import SMALL_NET
from tests.unit.graph.quantise.networks import decoder, loaded
from tests.unit.search.fakes import chain_problem

DECODER = loaded(decoder(width=64))
EXACT, REDUCED = Target("openvino"), Target("openvino -inference-precision=bf16")


def chain(segments: int) -> Cut:
    problem = chain_problem(segments, [EXACT])
    return Cut(graph=problem.graph, segments=problem.segments, exact=EXACT, reduced=REDUCED, rounded=tuple)


@pytest.fixture
def bf16(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "this_machine", lambda: SimpleNamespace(isa=("avx512_bf16",)))


@pytest.mark.usefixtures("bf16")
def test_each_engine_that_can_computes_in_less() -> None:
    mix = (Partition(target=Target("onnxruntime"), nodes=("a",)), Partition(target=EXACT, nodes=("b",)))
    (found,) = in_reduced_types(DECODER, mix)
    assert found == (mix[0], Partition(target=REDUCED, nodes=("b",)))
    assert [part.precisions for part in found] == [(), ("bf16",)]
    assert list(in_reduced_types(DECODER, mix[:1])) == []


def test_only_a_type_that_errs_little_goes_along_with_other_schemes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "this_machine", lambda: SimpleNamespace(isa=("avx512_bf16", "avx512_vnni")))
    monkeypatch.setattr(library, "block", lambda: 8)
    graph = load_model(SMALL_NET.model())
    nodes = tuple(node.id for node in graph.nodes)
    ours, other = Partition(target=Target("winograd"), nodes=nodes), Partition(target=EXACT, nodes=nodes)
    short = replace(ours, target=Target("winograd -inference-precision=i16"))
    assert list(in_reduced_types(graph, [ours, other], fine=True)) == [(short, other)]
    assert list(in_reduced_types(DECODER, [ours], fine=True)) == []


def test_a_part_may_compute_in_a_type_and_in_schemes() -> None:
    precision = Precision.of({"a": Scheme.STATIC}, {"x": (0.0, 1.0)})
    assert Partition(target=REDUCED, nodes=("a",), precision=precision).precisions == ("bf16", "int8-static")


def test_a_plan_of_one_engine_moves_to_those_that_extend_it() -> None:
    part, ours = Partition(target=Target("onnxruntime"), nodes=("a",)), Target("winograd -threads=2")
    plan = Candidate(
        name="best", label="onnxruntime", partitions=(part,), settings=RunSettings(threads=2), predicted_ms=(3.0,)
    )
    (moved,) = on_extensions(plan, [part.target, EXACT, ours])
    assert moved.partitions == (Partition(target=ours, nodes=("a",)),)
    assert (moved.label, moved.name, moved.total_ms) == (str(ours), f"{ours}, best", 3.0)
    assert list(on_extensions(replace(plan, partitions=(part, part)), [ours])) == []


@pytest.mark.parametrize("share", [0.25, 0.5, 0.75])
def test_a_share_of_layers_is_spread_over_all_kinds(share: float) -> None:
    layers: Any = range(48)
    taken: Any = spread(layers, share)
    assert len(taken) == pytest.approx(share * 48, abs=1)
    for period in (2, 3, 4):
        of_each = [sum(number % period == kind for number in taken) for kind in range(period)]
        assert min(of_each) >= share * 48 / period / 2
    assert spread(layers, 0.0) == []
    assert spread(layers, 1.0) == list(layers)


def test_the_rest_is_read_in_another_way() -> None:
    layers = [layer for layer in layers_of(DECODER, DECODER.nodes) if layer.node.id != "up1"]
    found = with_rest(Precision.of({"up0": Scheme.WEIGHTS_8}, {}), layers, Scheme.WEIGHTS_12)
    assert dict(found.schemes) == {
        "up0": Scheme.WEIGHTS_8,
        **dict.fromkeys(("down0", "down1"), Scheme.WEIGHTS_12),
    }


def test_a_cut_covers_the_model_in_order() -> None:
    cut = chain(5)
    assert [(part.target, part.nodes) for part in cut.parts(2, is_head=True)] == [
        (REDUCED, ("n0", "n1")),
        (EXACT, ("n2", "n3", "n4")),
    ]
    assert [(part.target, part.nodes) for part in cut.parts(2, is_head=False)] == [
        (EXACT, ("n0", "n1", "n2")),
        (REDUCED, ("n3", "n4")),
    ]
    assert [part.target for part in cut.parts(5, is_head=True)] == [REDUCED]


def reduced_nodes(parts: tuple[Partition, ...]) -> set[str]:
    return {node for part in parts if part.target == REDUCED for node in part.nodes}


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=40), st.floats(0.01, 0.99))
def test_what_is_found_fits_whatever_the_layers_cost(squares: list[float], share: float) -> None:
    cut = chain(len(squares))
    cost = {node.id: square for node, square in zip(cut.graph.nodes, squares, strict=True)}
    measured: list[tuple[Partition, ...]] = []

    def error_of(parts: tuple[Partition, ...]) -> float:
        measured.append(parts)
        return math.sqrt(sum(cost[node] for node in reduced_nodes(parts)))

    whole = math.sqrt(sum(squares))
    if whole == 0.0:
        return
    found = most_that_fits(cut, whole, share * whole, error_of)
    assert len(measured) <= 2 + PRECISION.cut_tries
    assert all(0 < len(reduced_nodes(parts)) < len(squares) for parts in measured)
    if found is not None:
        assert found in measured
        assert error_of(found) <= share * whole


def test_where_all_layers_cost_alike_nearly_all_that_fits_is_found() -> None:
    cut = chain(100)
    found = most_that_fits(cut, 1.0, 0.8, lambda parts: math.sqrt(len(reduced_nodes(parts)) / 100))
    assert isinstance(found, tuple)
    assert 62 <= len(reduced_nodes(found)) <= 64


def test_the_end_that_costs_less_is_taken() -> None:
    cut = chain(10)
    dear = {"n0", "n1"}
    found = most_that_fits(cut, 1.0, 0.6, lambda parts: 1.0 if reduced_nodes(parts) & dear else 0.1)
    assert isinstance(found, tuple)
    assert reduced_nodes(found) == {f"n{number}" for number in range(2, 10)}


def test_a_failure_ends_it() -> None:
    failure = Failure(stage="evaluate", reason="no", cause=Cause.ENGINE)
    assert most_that_fits(chain(10), 1.0, 0.6, lambda _: failure) == failure
