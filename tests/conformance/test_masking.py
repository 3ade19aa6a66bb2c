"""Engines that say that they can be told to leave instruction sets alone leave them alone."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from intarsia.backends import registry
from intarsia.config.emulated import InstructionSet
from intarsia.target import Target

_TOLD = {
    "openvino": """
import numpy, openvino
from openvino import opset8 as ops
x = ops.parameter([1, 8, 16, 16], numpy.float32)
y = ops.convolution(x, numpy.ones((8, 8, 3, 3), numpy.float32), [1, 1], [1, 1], [1, 1], [1, 1])
settings = {"PERF_COUNT": "YES", "INFERENCE_PRECISION_HINT": "f32"}
model = openvino.Core().compile_model(openvino.Model([ops.exp(y)], [x]), "CPU", settings)
request = model.create_infer_request()
request.infer({0: numpy.ones((1, 8, 16, 16), numpy.float32)})
print(*{each.exec_type for each in request.profiling_info})
""",
    "torch": "import torch; print(torch.backends.cpu.get_cpu_capability())",
    "inductor": "from torch._inductor.cpu_vec_isa import pick_vec_isa; print(pick_vec_isa())",
    "xla": "import jax; print(jax.jit(lambda x: x + 1).lower(1.0).compile()(1.0))",
}
"""Programs that print what of the processor an engine uses; XLA's only shows that it takes the flag.

OpenVINO names its precision, as the engine does: left to itself it asks the processor alone, picks bf16, and then finds
that oneDNN may not use it.
"""
_IS_X86 = Target.detect().features.is_x86


def told(engine: str, most: InstructionSet) -> str:
    environment = os.environ | registry.get(engine).masking(most) | {"JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [sys.executable, "-c", _TOLD[engine]], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.lower()


@pytest.mark.skipif(not _IS_X86, reason="the instruction sets are those of x86")
@pytest.mark.parametrize("engine", _TOLD)
def test_an_engine_uses_no_more_than_it_is_told(engine: str) -> None:
    if not registry.probe(engine).usable:
        pytest.skip(f"{engine} is not here")
    found = told(engine, InstructionSet.SSE41)
    assert found
    assert "avx" not in found


def test_every_engine_that_can_be_told_is_tried() -> None:
    assert {name for name in registry.names() if registry.get(name).masking(InstructionSet.AVX)} == set(_TOLD)
