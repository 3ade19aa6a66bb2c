"""What is missing to drive a configuration: executors that are there leave nothing to say."""

from __future__ import annotations

import os

import pytest

from intarsia.config import CompilationConfig
from intarsia.devices import Constraint, plan_devices
from intarsia.errors import ConfigError
from intarsia.planning.availability import missing_devices, missing_engines, missing_stages, unbound_processors
from intarsia.target import Target, detect
from tests.fakes import fake_dag


@pytest.mark.parametrize(
    ("executor", "missing"),
    [
        ("graph", False),
        ("vm", False),
        ("pipeline", False),
        ({"kind": "pipeline", "depth": 3}, False),
        ({"kind": "graph", "link-params": True}, True),
        ("aot", True),
        ("cuda-graph", True),
    ],
)
def test_executors_that_are_there(executor: object, missing: bool) -> None:
    targets = ["reference", "cuda"] if executor == "cuda-graph" else ["reference"]
    config = CompilationConfig.of({"targets": targets, "executor": executor})
    assert bool(list(missing_stages(config))) is missing


def test_code_is_written_for_bare_metal_alone() -> None:
    ahead = {"targets": ["c"], "executor": "aot -link-params=true", "runtime": "crt"}
    assert not list(missing_stages(CompilationConfig.of(ahead)))
    (told,) = missing_stages(CompilationConfig.of({**ahead, "runtime": "cpp"}))
    assert "runtime crt" in told
    (told,) = missing_stages(CompilationConfig.of({**ahead, "executor": "graph"}))
    assert "executor aot" in told
    (told,) = missing_stages(CompilationConfig.of({**ahead, "targets": [{"targets": ["c"]}, "c"]}))
    assert "nested" in told


@pytest.mark.parametrize("option", ["board=mps2-an386", "ram=sram:1000", "flash=1000", "stack=100"])
def test_where_a_program_lies_is_said_of_programs_alone(option: str) -> None:
    target = f"c -{option}"
    (told,) = missing_stages(CompilationConfig.of(target))
    assert "state --executor aot and --runtime crt" in told
    assert f"-{option.partition('=')[0]} is of programs" in told
    ahead = {"targets": [target], "executor": "aot", "runtime": "crt"}
    assert not list(missing_stages(CompilationConfig.of(ahead)))


def test_the_executor_of_a_nested_configuration_counts() -> None:
    nested = {"targets": ["reference"], "executor": "aot"}
    config = CompilationConfig.of({"targets": [nested], "executor": "pipeline"})
    assert [sentence for sentence in missing_stages(config) if "aot" in sentence]


VULKAN = Target({"kind": "vulkan", "device_name": "A GPU"})


@pytest.mark.parametrize(
    ("here", "told"),
    [
        (
            (VULKAN, VULKAN),
            "no engine of the configuration runs on 'vulkan:1': name the device in the list of targets, as vulkan:1; "
            "of the engines, ncnn and tinygrad can be told an index",
        ),
        ((VULKAN,), "this machine has no device vulkan:1; it has vulkan:0 (A GPU)"),
        (
            (),
            "this machine shows no vulkan device; install its driver; Mesa's needs no GPU: apt-get install "
            "mesa-vulkan-drivers libvulkan1",
        ),
    ],
)
def test_a_device_that_no_engine_is_told_of_is_missing(
    monkeypatch: pytest.MonkeyPatch, here: tuple[Target, ...], told: str
) -> None:
    monkeypatch.setattr(detect, "devices_here", lambda _: here)
    config = CompilationConfig.of("ncnn -base=vulkan, reference")
    placed = [Constraint.node("n0", "vulkan:1"), Constraint.node("n1", "cpu:1")]
    devices = plan_devices(fake_dag([[], []]), config, placed)
    found = list(missing_engines(config.flatten(), None, devices))
    assert told in found
    assert not any("cpu:1" in each for each in found)


@pytest.mark.parametrize(
    ("form", "count"),
    [
        ("vulkan:1, llvm", 0),
        ("vulkan:2, llvm", 1),
        ("vulkan:0, vulkan:2, llvm", 1),
        ("vulkan:0, vulkan:1, llvm", 0),
        ("vulkan, llvm", 0),
        ("metal:1, llvm", 1),
    ],
)
def test_a_list_that_puts_a_target_on_another_device_alone_is_not_ignored(
    monkeypatch: pytest.MonkeyPatch, form: str, count: int
) -> None:
    monkeypatch.setattr(detect, "devices_here", lambda _: (VULKAN, VULKAN))
    assert len(list(missing_devices(CompilationConfig.of(form), None))) == count


def test_a_part_of_the_cores_takes_the_executor_that_binds_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
    form = {"targets": ["llvm:0", "llvm:1"]}
    assert list(missing_devices(CompilationConfig.of(form), None)) == []
    [told] = unbound_processors(CompilationConfig.of(form), None)
    assert told.startswith("'cpu:1' is a part of the machine's cores")
    assert told.endswith("not 'graph': what is placed there runs on all cores")
    assert list(unbound_processors(CompilationConfig.of(form | {"executor": "pipeline"}), None)) == []
    assert list(missing_devices(CompilationConfig.of(form | {"executor": "pipeline"}), None)) == []
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0}, raising=False)
    with pytest.raises(ConfigError, match="this process may use 1 core"):
        list(missing_devices(CompilationConfig.of(form | {"executor": "pipeline"}), None))


def test_a_recorded_graph_needs_a_gpu() -> None:
    (told,) = missing_stages(CompilationConfig.of({"targets": ["cuda"], "executor": "cuda-graph"}))
    assert "needs an NVIDIA GPU" in told


@pytest.mark.parametrize(
    ("nested", "told"),
    [
        ({}, None),
        ({"executor": "vm"}, None),
        ({"executor": "pipeline -depth=2"}, None),
        ({"runtime": "rpc"}, None),
        ({"runtime": "rpc -address=there:9090"}, "compiles a model as a whole"),
        ({"targets": ["cuda"], "executor": "cuda-graph"}, "needs an NVIDIA GPU"),
        ({"executor": "graph -link-params=true"}, "no stage generates code that weights could be linked into"),
        ({"host": "risc-v"}, "no riscv processor can be reached from here"),
    ],
)
def test_what_may_drive_a_part_of_a_model(nested: dict[str, str], told: str | None) -> None:
    found = list(missing_stages(CompilationConfig.of({"targets": [{"targets": ["reference"], **nested}, "c"]})))
    assert (found == []) if told is None else (len(found) == 1 and told in found[0])


def test_the_native_runtime_drives_no_plan_inside() -> None:
    (told,) = missing_stages(CompilationConfig.of({"targets": [{"targets": ["c"]}, "c"], "runtime": "cpp"}))
    assert "the runtime cpp drives no plan inside another one" in told
