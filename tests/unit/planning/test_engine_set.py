"""Who takes part, and why others do not."""

from __future__ import annotations

import sys

import pytest

from intarsia.backends import registry
from intarsia.backends.contract import Availability
from intarsia.config import CompilationConfig, NestedEngine, config_inside, engines
from intarsia.devices import Constraint, plan_devices
from intarsia.errors import ConfigError
from intarsia.graph import load_model
from intarsia.planning.engine_set import (
    EngineSet,
    absence,
    leaves,
    present,
    tells,
    with_custom_ops,
    with_processes,
    without,
)
from intarsia.target import Target
from tests.unit.graph.models import two_layers

REFERENCE = Target("reference")
USABLE = ("reference",)
GRAPH = load_model(two_layers())
NO_COMPILER = "/nowhere/cc"


def described(form: object) -> tuple[CompilationConfig, tuple[Target | NestedEngine, ...]]:
    config = CompilationConfig.of(form)
    return config, engines(config, USABLE, stand_ins=True)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("reference", None),
        ("ethos-n", "no backend drives 'ethos-n' yet; one would need an Ethos-N processor"),
        ("ethos-u", "a part of programs in C alone; state the executor aot"),
        ("c -mcpu=cortex-m4", "c compiles here for "),
        ("cuda", "generates code for 'cuda'; pip install 'intarsia[torch]'"),
        ("tvm -base=hexagon", "tvm runs here on cpu, not on hexagon"),
        ("hexagon", "no backend of Intarsia runs an engine that generates code for 'hexagon'"),
        ("reference -base='llvm -mtriple=mips-linux'", ", not for mips"),
    ],
)
def test_absence(text: str, reason: str | None) -> None:
    found = absence(Target(text))
    assert found is None if reason is None else found is not None and reason in found


def test_an_engine_is_absent_for_devices_and_architectures_that_it_does_not_run_on_here(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(registry, "require", lambda name: Availability(usable=True, devices=("cpu",)))
    assert absence(Target("onnxruntime -base=cuda")) == "onnxruntime runs here on cpu, not on cuda"
    assert absence(Target("onnxruntime")) is None
    foreign = absence(Target("reference -base='llvm -mtriple=riscv64-linux-gnu'"))
    assert foreign is not None
    assert foreign.startswith("reference compiles here for ")
    assert foreign.endswith(", not for riscv")


def test_a_device_with_an_engine_of_its_own_is_there_with_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", sys.executable)  # which is not run
    assert absence(Target("c")) is None
    foreign = absence(Target("c -mcpu=cortex-m55"))
    assert foreign is not None
    assert foreign.startswith("c compiles here for ")
    monkeypatch.setenv("CC", NO_COMPILER)
    found = absence(Target("c"))
    assert found is not None
    assert found.startswith(f"the engine 'c' cannot be used here: the C compiler '{NO_COMPILER}'")


def test_an_engine_is_absent_where_there_is_no_device_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "require", lambda name: Availability(usable=True, devices=("cpu", "vulkan")))
    monkeypatch.setattr("intarsia.planning.engine_set.lack", lambda type_: f"no {type_} here")
    assert absence(Target("ncnn -base=vulkan")) == "no vulkan here"
    assert absence(Target("ncnn")) is None


def test_a_nested_configuration_keeps_what_is_present(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", NO_COMPILER)
    inner = {"kind": "config", "targets": ["reference", "ethos-u", "c"]}
    gone = {"kind": "config", "targets": ["ethos-u", "c"]}
    _, found = described([inner, gone, "reference"])
    here = present(found)
    assert [str(target) for target in leaves(found)] == ["reference", "ethos-u", "c"]
    (nested, last) = here
    assert isinstance(nested, NestedEngine)
    assert nested.engines == (REFERENCE,)
    assert last == REFERENCE


def test_a_nested_configuration_is_one_target_of_plans() -> None:
    deep = {"kind": "config", "targets": ["reference"], "executor": "vm"}
    config, found = described([{"kind": "config", "targets": [deep, "reference"]}, "c"])
    engine_set = EngineSet.of(GRAPH, config, found, None)
    nest, last = engine_set.targets
    assert last == Target("c")
    assert nest.kind.name == "nested"
    assert config_inside(nest) == config.targets[0]
    assert config_inside(last) is None
    assert [str(each.config.executor) for each in engine_set.nests.values()] == ["vm", "graph"]
    assert Target(str(nest)) == nest


def test_what_is_planned_elsewhere_is_refused_at_every_level() -> None:
    config, found = described({"targets": ["cuda", {"kind": "config", "targets": ["reference"]}, "llvm"]})
    node = GRAPH.nodes[0].id
    engine_set = EngineSet.of(GRAPH, config, found, plan_devices(GRAPH, config, [Constraint.node(node, "cuda")]))
    (nested,) = (engine for engine in found if isinstance(engine, NestedEngine))
    assert "the device plan puts it on 'cuda:0" in engine_set.capabilities[REFERENCE].refusals[node]
    assert not engine_set.capabilities[nested].takes(node)
    assert engine_set.capabilities[Target("cuda")].takes(node)


def test_libraries_go_to_the_targets_that_take_such_on_all_levels() -> None:
    inner = {"kind": "config", "targets": ["onnxruntime -custom-ops=/a.so", "openvino"]}
    config = CompilationConfig.of([inner, "onnxruntime -optimization-level=basic"])
    found = with_custom_ops(engines(config, ("onnxruntime", "openvino")), ("/a.so", "/b.so"))
    assert [target.options.get("custom-ops") for target in leaves(found)] == [
        ("/a.so", "/b.so"),
        None,
        ("/a.so", "/b.so"),
    ]


def test_a_library_that_nobody_takes_is_an_error() -> None:
    _, found = described("reference")
    assert with_custom_ops(found, ()) == found
    with pytest.raises(ConfigError, match="no target here takes one"):
        with_custom_ops(found, ("/a.so",))


def test_who_tells_what_onnx_does_not_define() -> None:
    assert tells(Target("onnxruntime"))
    assert not tells(REFERENCE)


def test_barred_engines_are_left_out_on_every_level() -> None:
    _, several = described(["onnxruntime", "reference"])
    assert without(several, ()) == several
    assert [str(engine) for engine in without(several, {"onnxruntime"})] == ["reference"]
    assert without(several, {"onnxruntime", "reference"}) == ()


def test_a_part_by_the_runtime_rpc_runs_in_processes_of_its_own() -> None:
    deep = {"kind": "config", "targets": ["openvino"]}
    apart = {"kind": "config", "targets": ["onnxruntime -python=/other", "mnn", deep], "runtime": "rpc"}
    far = {"kind": "config", "targets": ["mnn"], "runtime": "rpc -address=there:1"}
    config = CompilationConfig.of([apart, far, "ncnn"])
    found = leaves(with_processes(engines(config, ("onnxruntime", "mnn", "openvino", "ncnn"))))
    own = {"python": sys.executable}
    assert [dict(target.options) for target in found] == [{"python": "/other"}, own, own, {}, {}]
