"""What is remarked of a described machine: options that no engine, or not every engine, reads."""

from __future__ import annotations

import pytest

from intarsia.config import CompilationConfig
from intarsia.planning.remarks import is_read, unread_fields, unread_options
from intarsia.target import Target


def test_what_is_read_is_not_remarked() -> None:
    assert not list(unread_options([Target("onnxruntime -optimization-level=basic -threads=2 -host=llvm")]))
    assert not list(unread_options([Target("ncnn -base=vulkan"), Target("openvino -performance-hint=throughput")]))


def test_an_option_is_remarked_with_the_engines_that_it_changes_nothing_of() -> None:
    base = "llvm -jit=mcjit -model=Thing"
    engines = [Target({"kind": kind, "base": base}) for kind in ("mnn", "ncnn")]
    (told,) = unread_options(engines)
    assert told == f"jit and model of {base!r}: no effect on mnn and ncnn"


def test_options_are_grouped_by_the_engines() -> None:
    base = "c -march=haswell -model=Thing"
    told = list(unread_options([Target({"kind": kind, "base": base}) for kind in ("tvm", "reference")]))
    assert set(told) == {
        f"march of {base!r}: no effect on reference",
        f"model of {base!r}: no effect on tvm and reference",
    }


def test_of_engines_without_a_backend_nothing_is_said() -> None:
    assert not list(unread_options([Target("tensorrt -use_fp16=true -base='cuda -arch=sm_80'"), Target("cuda")]))


@pytest.mark.parametrize(("option", "read"), [("base", True), ("python", True), ("threads", False), ("model", False)])
def test_some_options_are_read_for_every_engine(option: str, read: bool) -> None:
    assert is_read(Target("reference"), "reference", option) is read


def test_fields_of_a_nested_configuration_that_place_nodes_are_told() -> None:
    nested = CompilationConfig.of({"targets": ["reference"], "devices": {"one": "cpu:0"}})
    (told,) = unread_fields([nested, CompilationConfig.of("reference")])
    assert told.startswith("devices of ")
    assert "no effect inside another configuration" in told
