"""The engine cmsis-nn without its sources: what it takes, and what it asks for."""

from __future__ import annotations

from pathlib import Path

import pytest

from intarsia.backends.c.processor import Processor
from intarsia.backends.c.site import Site
from intarsia.backends.cmsis_nn import library
from intarsia.backends.cmsis_nn.backend import CmsisNnBackend
from intarsia.backends.lowering.program import Instruction
from intarsia.errors import BackendUnavailableError, ConfigError
from intarsia.graph import load_model
from intarsia.target import Target
from networks import micro

ENGINE = CmsisNnBackend()
ADD = {"a_scale": 0.1, "a_zero": 1, "b_scale": 0.2, "b_zero": 2, "y_scale": 0.3, "y_zero": 3, "low": -128, "high": 127,
       "behind": 0}  # fmt: skip
READ = Instruction("input", (), {}, "int8", (3, 5))
SITE = Site(
    each=Instruction("q_add", (0, 1), ADD, "int8", (3, 5)),
    reads=(READ, READ),
    processor=Processor(architecture="arm", has_dsp=True),
)


def test_quantised_groups_are_taken_whole_and_floats_are_not(tmp_path: Path) -> None:
    path = tmp_path / "ad.onnx"
    path.write_bytes(micro.build("ad").SerializeToString())
    graph = load_model(path)
    found = ENGINE.capability(graph, Target("cmsis-nn"))
    operators = {node.op_type for node in graph.nodes if found.takes(node.id)}
    assert "Gemm" in operators
    assert all(found.takes(node.id) for node in graph.nodes if node.op_type == "Gemm")
    entering = next(node for node in graph.nodes if node.op_type == "QuantizeLinear")
    reason = ENGINE.refusal(entering, graph, Target("cmsis-nn"))
    assert reason == found.refusals[entering.id] == "cmsis-nn takes no function for quantize of int8"


def test_without_sources_describing_works_and_writing_says_what_to_give(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(library.VARIABLE, raising=False)
    lack = ENGINE.source_lack(Target("cmsis-nn"))
    assert lack is not None
    assert library.VARIABLE in lack
    with pytest.raises(BackendUnavailableError, match="are not here"):
        ENGINE.kernels(SITE, Target("cmsis-nn"))


def test_the_processor_is_that_of_the_code_around_it() -> None:
    with pytest.raises(ConfigError, match="is for another processor than the code around it"):
        ENGINE.kernels(SITE, Target("cmsis-nn -mcpu=cortex-m55"))


def test_an_option_that_does_nothing_is_not_ignored() -> None:
    lack = ENGINE.source_lack(Target("cmsis-nn -debug_last_error=true"))
    assert lack == "cmsis-nn keeps no last error: leave -debug_last_error out"
