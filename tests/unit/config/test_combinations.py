from __future__ import annotations

from typing import Any

import pytest

from intarsia.config import CompilationConfig, Runtime
from intarsia.errors import SpecError


@pytest.mark.parametrize(
    ("form", "reason"),
    [
        ({"targets": ["c"], "executor": "pipeline", "runtime": "crt"}, "executor: runtime crt has no threads"),
        ({"targets": ["c"], "host": "cuda", "runtime": "crt"}, "runtime: crt is C code, and no C code can be made"),
        ({"targets": ["cuda", "c"], "runtime": "crt"}, "'cuda' needs the driver of a cuda device; choose runtime cpp"),
        ({"targets": ["c"], "host": "cuda", "executor": "aot"}, "executor: aot compiles code for the host"),
        ({"targets": ["c"], "executor": "aot -interface-api=c", "runtime": "crt"}, "so it needs -unpacked-api"),
        ({"targets": ["c"], "executor": "aot -unpacked-api", "runtime": "cpp"}, "-unpacked-api needs runtime crt"),
        ({"targets": ["llvm"], "executor": "cuda-graph"}, "no target runs on one; add cuda"),
    ],
)
def test_impossible_combinations_are_refused_with_the_reason(form: dict[str, Any], reason: str) -> None:
    with pytest.raises(SpecError) as caught:
        CompilationConfig.of(form)
    assert reason in str(caught.value)


@pytest.mark.parametrize(
    "form",
    [
        {"targets": ["c"], "host": "c", "executor": "aot -interface-api=c -unpacked-api", "runtime": "crt -system-lib"},
        {"targets": ["ethos-u", "cmsis-nn", "c"], "executor": "aot", "runtime": "crt"},
        {"targets": ["c"], "executor": "aot -constant-byte-alignment=1 -workspace-byte-alignment=64", "runtime": "crt"},
        {"targets": ["llvm"], "executor": "vm", "runtime": "crt"},
        {"targets": ["cuda", "llvm"], "executor": "cuda-graph", "runtime": "cpp"},
        {"targets": [{"targets": ["cuda"], "executor": "cuda-graph"}, "llvm"], "executor": "vm"},
        {"targets": ["cuda", "llvm"], "executor": "pipeline -depth=3", "runtime": "rpc -address=board:9090"},
    ],
)
def test_possible_combinations(form: dict[str, Any]) -> None:
    config = CompilationConfig.of(form)
    assert CompilationConfig.of(str(config)) == config


def test_an_executor_that_calls_as_c_does_is_run_by_c() -> None:
    assert CompilationConfig.of({"targets": ["c"], "executor": "aot -unpacked-api"}).runtime == Runtime("crt")
    assert CompilationConfig.of({"targets": ["c"], "executor": "aot"}).runtime == Runtime("python")


def test_every_broken_rule_is_named_at_once() -> None:
    with pytest.raises(SpecError) as caught:
        CompilationConfig.of({"targets": ["cuda"], "host": "cuda", "executor": "aot", "runtime": "crt"})
    assert str(caught.value).startswith("3 problems:")
