from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from intarsia.backends.contract import (
    Availability,
    Backend,
    EngineArtifact,
    Executable,
    Signature,
    Traits,
    guard,
    guarded,
    signature_rows,
    signatures,
    thread_count,
)
from intarsia.config.settings import RunSettings
from intarsia.errors import CompileError, ExecutionError, ModelError
from intarsia.graph import Graph, Node, SubModel
from intarsia.target import Target
from tests.fakes import fake_graph


class OnlyRelu(Backend):
    """Refuses by operator, counts nothing, compiles nothing."""

    name = "only-relu"
    extra = ""
    licence = "none"
    traits: ClassVar[Traits] = Traits(writes_in_place=True)

    def probe(self) -> Availability:
        return Availability(usable=True)

    def refusal(self, node: Node, graph: Graph, target: Target) -> str | None:
        return None if node.op_type == "Relu" else f"no {node.op_type}"

    def compile(self, model: SubModel, target: Target, settings: RunSettings) -> EngineArtifact:
        raise NotImplementedError

    def load(
        self, artifact: EngineArtifact, weights: Mapping[str, np.ndarray], target: Target, settings: RunSettings
    ) -> Executable:
        raise NotImplementedError

    def export(self, model: SubModel, target: Target, settings: RunSettings, folder: Path) -> tuple[Path, ...]:
        raise NotImplementedError


class AnyShape(OnlyRelu):
    """The same with late shapes."""

    traits = Traits(writes_in_place=True, any_shape=True)


TARGET = Target("reference")
ROWS = [("a", "Relu", ["x"], ["v"]), ("b", "Tanh", ["v"], ["w"]), ("c", "Relu", ["w", "k"], ["y"])]


def test_capability_gives_a_reason_for_each_refused_node() -> None:
    capability = OnlyRelu().capability(fake_graph(ROWS), TARGET)
    assert capability.refusals == {"b": "no Tanh"}
    assert capability.takes("a")
    assert not capability.takes("b")


def test_a_dtype_the_engine_does_not_take_is_refused_on_both_sides_of_a_value() -> None:
    capability = OnlyRelu().capability(fake_graph(ROWS, dtypes={"v": "bfloat16"}), TARGET)
    assert "bfloat16" in capability.refusals["a"]
    assert "bfloat16" in capability.refusals["b"]
    assert capability.takes("c")


def test_a_weight_of_another_dtype_is_the_engines_own_affair() -> None:
    graph = fake_graph(ROWS, weights=["k"], dtypes={"k": "int64"})
    assert OnlyRelu().capability(graph, TARGET).takes("c")


def test_a_late_shape_is_refused_unless_the_engine_takes_it() -> None:
    graph = fake_graph(ROWS, shapes={"y": None})
    assert "y" in OnlyRelu().capability(graph, TARGET).refusals["c"]
    assert AnyShape().capability(graph, TARGET).takes("c")


def test_an_untyped_value_is_refused() -> None:
    assert "untyped" in OnlyRelu().capability(fake_graph(ROWS, dtypes={"x": None}), TARGET).refusals["a"]


def test_guard_names_engine_and_stage_and_keeps_the_cause() -> None:
    with pytest.raises(CompileError, match="ncnn failed at compile: 3") as caught, guard(CompileError, "ncnn"):
        raise KeyError(3)
    assert isinstance(caught.value.__cause__, KeyError)
    assert caught.value.backend == "ncnn"


def test_guard_lets_our_own_errors_through() -> None:
    with pytest.raises(ModelError), guard(CompileError, "ncnn"):
        raise ModelError("mine")


def test_an_error_without_text_is_named_by_its_class() -> None:
    with pytest.raises(CompileError, match="MemoryError"), guard(CompileError, "ncnn"):
        raise MemoryError


def test_a_guarded_call_fails_at_run() -> None:
    def call() -> None:
        raise RuntimeError("Non-zero status")

    with pytest.raises(ExecutionError, match="onnxruntime failed at run: Non-zero status"):
        guarded(call, "onnxruntime")()


def test_a_guarded_call_keeps_owners_alive_and_passes_our_errors() -> None:
    def call() -> None:
        raise ModelError("mine")

    owner = np.zeros(3)
    bound = guarded(call, "mnn", (owner,))
    assert any(owner is held for default in bound.__defaults__ or () for held in default)
    with pytest.raises(ModelError):
        bound()


@pytest.mark.parametrize(("cap", "threads"), [("", 4), (" -threads=2", 2), (" -threads=9", 4)])
def test_a_target_caps_the_threads_of_the_plan(cap: str, threads: int) -> None:
    assert thread_count(Target(f"onnxruntime{cap}"), RunSettings(threads=4)) == threads


@given(
    st.lists(
        st.builds(
            Signature,
            name=st.text(min_size=1),
            dtype=st.sampled_from(["float32", "int64"]),
            shape=st.none() | st.lists(st.integers(0, 99)).map(tuple),
        )
    )
)
def test_signatures_survive_their_rows(values: list[Signature]) -> None:
    rows = signature_rows(values)
    assert signatures(json.loads(json.dumps(rows))) == tuple(values)
