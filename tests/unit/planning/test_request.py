"""From what the user said to what is searched: nothing is measured, and no engine but the reference need be here."""

from __future__ import annotations

from dataclasses import replace

import pytest
from onnx import helper

from intarsia.backends import registry
from intarsia.config import CompilationConfig, SearchSettings, from_metadata
from intarsia.devices import Constraint, model_constraints
from intarsia.errors import ConfigError, NoCoverError, PlanError
from intarsia.graph import SizeRange, load_model
from intarsia.partitioning import Partition, PlanFile, linear_order, parse_plan
from intarsia.planning.request import Compilation, Request, plan_compilation, segments_of
from intarsia.target import Target
from networks import light
from tests.unit.graph.models import info, model, two_layers

REFERENCE = Target("reference")
TWO = {"targets": ["reference"], "devices": {"one": "cpu:0", "two": "cpu:1"}}
FAR = {"far.away": 1}
ALL = ("first", "relu", "MatMul_2", "Relu_3")


@pytest.fixture(autouse=True)
def _only_the_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "usable", lambda: ("reference",))


def planned(target: object, *constraints: Constraint, **fields: object) -> Compilation:
    request = Request(model=two_layers(), target=target, constraints=constraints)
    return plan_compilation(replace(request, **fields))  # type: ignore[arg-type]


def parts(job: Compilation) -> list[tuple[str, tuple[str, ...], str | None]]:
    return [(str(p.target), p.nodes, job.device_of(p)) for p in job.given.partitions]


def test_without_pruning_a_plan_may_be_cut_between_any_two_nodes() -> None:
    graph = load_model(light.build("squeezenet"))
    every, few = segments_of(graph, prune=False), segments_of(graph)
    assert [segment for segment in every if len(segment) > 1] == []
    assert sum(every, ()) == sum(few, ()) == linear_order(graph)
    assert len(few) < len(every) / 2


def test_without_constraints_nothing_is_placed() -> None:
    job = planned("reference")
    assert (job.devices, job.problem.places, job.missing, dict(job.absent)) == (None, None, (), {})
    assert parts(job) == [("reference", ALL, None)]
    assert "device" not in job.plan_text
    assert job.config_of(job.given.partitions[0]) == CompilationConfig.of("reference")


def test_devices_part_what_one_engine_could_run_at_once() -> None:
    job = planned(TWO, Constraint.node("first", "one"), Constraint.node("relu", "two"))
    assert parts(job) == [
        ("reference", ("first",), "one"),
        ("reference", ("relu",), "two"),
        ("reference", ("MatMul_2", "Relu_3"), "one"),
    ]
    assert job.problem.places is not None
    for nodes in (*job.problem.segments, *(p.nodes for p in job.problem.whole(REFERENCE))):
        assert len({job.problem.places[id_] for id_ in nodes}) == 1
    assert len(job.problem.whole(REFERENCE)) == len(parts(job))


def test_a_stated_default_device_is_obeyed_too() -> None:
    job = planned({**TWO, "default_device": "two"})
    assert parts(job) == [("reference", ALL, "two")]


def test_a_plan_file_keeps_its_devices() -> None:
    first = planned(TWO, Constraint.node("relu", "two"))
    again = planned(TWO, plan=parse_plan(first.plan_text), search=SearchSettings(partition="manual"))
    assert parts(again) == parts(first)
    assert again.plan_text == first.plan_text


def test_a_plan_file_whose_target_does_not_serve_its_device() -> None:
    config = {"targets": ["cuda", "reference", "llvm"]}
    plan = PlanFile(partitions=(Partition(target=REFERENCE, nodes=ALL),), devices=dict.fromkeys(ALL, "cuda:0"))
    with pytest.raises(PlanError, match=r"partition 1 \(reference\) holds 'first', .*the plan file.* another"):
        planned(config, plan=plan, search=SearchSettings(partition="manual"))


def test_the_model_carries_configuration_and_constraints() -> None:
    constraint = Constraint.node("relu", "two")
    graph = planned(TWO, constraint).graph
    assert from_metadata(graph.metadata) == CompilationConfig.of(TWO)
    (carried,) = model_constraints(graph)
    assert replace(carried, source="") == replace(constraint, source="")


def test_a_model_that_says_another_configuration_than_the_argument() -> None:
    own = two_layers()
    own.metadata_props.add(key="intarsia.config", value=CompilationConfig.of(TWO).json())
    assert plan_compilation(Request(model=own)).engine_set.config == CompilationConfig.of(TWO)
    with pytest.raises(ConfigError, match=r"carries the configuration .*'reference'"):
        plan_compilation(Request(model=own, target="reference"))


@pytest.mark.parametrize(
    ("config", "missing"),
    [
        ({"targets": ["reference"], "executor": "graph -link-params=true"}, ["could be linked into"]),
        ([{"kind": "config", "targets": ["reference"], "runtime": "cpp"}, "reference"], ["runtime 'cpp'"]),
        ({"targets": ["c"], "executor": "aot", "runtime": "cpp"}, ["for the runtime crt, and not for 'cpp'"]),
        ({"targets": ["reference"], "executor": "graph", "runtime": "crt"}, ["only the executor aot builds"]),
    ],
)
def test_what_is_missing_is_said_and_the_plan_is_there(
    monkeypatch: pytest.MonkeyPatch, config: object, missing: list[str]
) -> None:
    monkeypatch.setenv("CC", "/nowhere/cc")
    job = planned(config)
    assert len(job.missing) == len(missing)
    for sentence, words in zip(job.missing, missing, strict=True):
        assert words in sentence
    assert [id_ for part in parse_plan(job.plan_text).partitions for id_ in part.nodes] == list(ALL)


def test_a_range_of_sizes_implies_the_executor_vm_and_travels_as_text() -> None:
    nodes = [helper.make_node("Relu", ["x"], ["y"], "relu")]
    open_ = model(nodes, [info("x", ("n", 3))], [info("y", None)])
    job = plan_compilation(Request(model=open_, target="reference", shapes={"n": SizeRange(low=1, high=9)}))
    assert job.engine_set.config == CompilationConfig.of({"targets": ["reference"], "executor": "vm"})
    assert (dict(job.graph.sizes), job.origin.shapes, job.missing) == ({"n": 5}, (("n", "1..9"),), ())
    stated = {"targets": ["reference"], "executor": "graph"}
    with pytest.raises(ConfigError, match="sizes of n may vary, which needs the executor vm"):
        plan_compilation(Request(model=open_, target=stated, shapes={"n": "1..9"}))
    fixed = plan_compilation(Request(model=open_, target=stated, shapes={"n": 4}))
    assert fixed.graph.values["y"].shape == (4, 3)


def test_an_engine_that_is_absent_is_passed_over_where_others_do() -> None:
    job = planned("ethos-u, reference, llvm")
    assert job.missing == ()
    assert "a part of programs in C alone" in job.absent["ethos-u"]
    assert parts(job) == [("reference", ALL, None)]


def test_what_only_an_absent_engine_takes_is_planned_for_it() -> None:
    odd = model(
        [helper.make_node("Odd", ["x"], ["y"], "odd", domain="far.away")], [info("x")], [info("y")], domains=FAR
    )
    with pytest.raises(NoCoverError, match="no target takes 1 of 1 node"):
        plan_compilation(Request(model=odd, target="reference"))
    with pytest.raises(NoCoverError, match="no target takes 1 of 1 node"):
        plan_compilation(Request(model=odd, target="tensorrt -base=cuda, reference"))
    job = plan_compilation(Request(model=odd, target="triton -base=cuda, reference"))
    assert job.missing == (
        "no backend drives 'triton' yet; one would need Triton, which PyTorch's compiler generates code for",
        "of the engines that are here, no target takes 1 of 1 node",
    )
    assert parts(job) == [("triton -base=cuda", ("odd",), None)]


def test_a_device_that_nothing_here_serves_is_missing() -> None:
    job = planned({"targets": ["cuda", "reference", "llvm"]}, Constraint.node("relu", "cuda"))
    assert any("no engine that is usable here generates code for 'cuda'" in each for each in job.missing)
    # A constraint reaches back to what computes for it.
    assert [(target, nodes) for target, nodes, _ in parts(job)] == [("cuda", ALL[:2]), ("reference", ALL[2:])]


def test_the_same_constraint_from_two_sources_is_carried_once() -> None:
    graph = planned(TWO, Constraint.node("relu", "two"), Constraint.node("relu", "two", source="a file")).graph
    assert len(model_constraints(graph)) == 1
