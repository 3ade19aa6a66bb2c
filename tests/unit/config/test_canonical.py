from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from intarsia.config import CompilationConfig

CPU = "llvm -mcpu=h"
LEAVES = ("mnn", "openvino", CPU, "cuda", "opencl:1", "ethos-n")


def _wrapped(draw: st.DrawFn, leaves: list[str], depth: int) -> list[Any]:
    """The same leaves in the same order, some runs of them within composites."""
    if depth == 0 or not leaves:
        return list(leaves)
    start = draw(st.integers(0, len(leaves)))
    stop = draw(st.integers(start, len(leaves)))
    inner = _wrapped(draw, leaves[start:stop], depth - 1)
    composite: dict[str, Any] = {"kind": "composite", "devices": inner}
    if draw(st.booleans()):
        composite["host"] = CPU
    middle = [composite] if inner else []
    return [*leaves[:start], *middle, *leaves[stop:]]


@st.composite
def nestings(draw: st.DrawFn) -> tuple[list[str], list[Any]]:
    leaves = draw(st.lists(st.sampled_from(LEAVES), min_size=1, max_size=5, unique=True))
    nested = _wrapped(draw, leaves, draw(st.integers(1, 3)))
    if CPU in leaves or any(map(_has_host, nested)):
        return leaves, nested
    return [*leaves, CPU], [*nested, CPU]


def _has_host(form: Any) -> bool:
    return isinstance(form, dict) and ("host" in form or any(map(_has_host, form["devices"])))


@given(nestings())
def test_nested_equals_flattened(forms: tuple[list[str], list[Any]]) -> None:
    leaves, nested = forms
    flat: dict[str, Any] = {"kind": "composite", "devices": leaves}
    if any(map(_has_host, nested)):
        flat["host"] = CPU
    around = {"kind": "composite", "devices": nested}
    assert CompilationConfig.of(nested) == CompilationConfig.of(flat) == CompilationConfig.of(around)


def test_the_host_of_a_composite_runs_what_no_device_takes() -> None:
    config = CompilationConfig.of({"kind": "composite", "host": "llvm", "devices": ["ethos-n", "opencl"]})
    assert str(config) == "ethos-n, opencl, llvm"
    assert str(config.default_device) == "cpu:0 -target=llvm"
    assert config == CompilationConfig.of("composite -devices=ethos-n,opencl,llvm -host=llvm")


def test_the_host_of_a_target_is_no_target() -> None:
    assert [str(target) for target in CompilationConfig.of("cuda -host='llvm -mcpu=h'").targets] == ["cuda"]
