"""A described machine against this one, which is a fake: what each lacks, and what is held back."""

from __future__ import annotations

import pytest

from intarsia.config import CompilationConfig
from intarsia.config.emulated import Emulated, InstructionSet
from intarsia.planning.described_machine import HEAD, DescribedMachine, described_machine
from intarsia.target import Target

HERE = Target("llvm -mcpu=haswell -mtriple=x86_64-unknown-linux-gnu -num-cores=4")
ENGINES = (Target("onnxruntime"), Target("openvino"), Target("tensorrt"))


@pytest.fixture(autouse=True)
def _machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("intarsia.target.detect.cpu_here", lambda: HERE)
    monkeypatch.setattr("intarsia.target.detect.memory_bytes", lambda: 8 * 10**9)


def compared(form: object) -> DescribedMachine | None:
    return described_machine(CompilationConfig.of(form), ENGINES)


@pytest.mark.parametrize(
    "form",
    [
        *("llvm", "x86", str(HERE), "llvm -mcpu=native", "llvm -mcpu=generic", "llvm -mattr=+avx2", "onnxruntime"),
        *("llvm -mcpu=haswell", "llvm -num-cores=4", f"llvm -memory-size={8 * 10**9}", "llvm -mattr=-avx512f"),
        # Another architecture is for the absence of engines to tell.
        *("arm", "raspberry-pi/4b-aarch64", "cuda -arch=sm_80, llvm"),
    ],
)
def test_what_is_not_otherwise_than_described_needs_no_word(form: str) -> None:
    assert compared(form) is None


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ("llvm -mcpu=skylake-avx512", "lacks avx512bw, avx512dq, avx512f, avx512vl and"),
        ("llvm -mattr=+avx512f", "lacks avx512f of"),
        ("llvm -num-cores=64", "has 64 cores, and this process may use 4"),
        ("aws/c5.4xlarge", "aws/c5.4xlarge has 8 cores"),
        (f"llvm -memory-size={16 * 10**9}", "has 16 GB of memory, and this process may use 8"),
        ({"targets": ["onnxruntime -base='llvm -num-cores=6'"]}, "has 6 cores"),
        ({"targets": ["llvm"], "host": "llvm -num-cores=6"}, "has 6 cores"),
        ({"targets": [{"targets": ["llvm -num-cores=6"]}, "llvm"]}, "has 6 cores"),
    ],
)
def test_what_is_lacking_here_is_said(form: object, words: str) -> None:
    found = compared(form)
    assert found is not None
    assert any(words in each for each in found.lacks)
    assert found.emulated is None
    assert found.remarks[0].startswith(HEAD)


@pytest.mark.parametrize(
    ("form", "emulated"),
    [
        ("llvm -mcpu=sandybridge", Emulated(instruction_set=InstructionSet.AVX)),
        ("llvm -mattr=-avx2", Emulated(instruction_set=InstructionSet.AVX)),
        ("llvm -num-cores=2", Emulated(cores=2)),
        ("llvm -mcpu=nehalem -num-cores=1", Emulated(cores=1, instruction_set=InstructionSet.SSE41)),
        # The weakest of several.
        ("llvm -mcpu=sandybridge, onnxruntime -base='llvm -num-cores=3'", None),
    ],
)
def test_what_is_less_there_is_held_back_here(form: str, emulated: Emulated | None) -> None:
    found = compared(form)
    assert found is not None
    expected = Emulated(cores=3, instruction_set=InstructionSet.AVX) if emulated is None else emulated
    assert found.emulated == expected
    assert not found.lacks
    if expected.instruction_set is not None:
        assert (found.obeying, found.free) == (("openvino",), ("onnxruntime",))


def test_another_processor_that_lacks_nothing_is_another_one_all_the_same() -> None:
    found = compared("llvm -mcpu=znver3")
    assert found is not None
    assert "this machine's processor shows as haswell, not as znver3" in found.beyond


def test_a_processor_that_no_table_has_is_not_passed_over() -> None:
    found = compared("llvm -mcpu=haswel2")
    assert found is not None
    assert found.beyond == ("what the processor haswel2 can do is not known, so its features are not compared",)


def test_a_device_is_compared_by_what_both_state(monkeypatch: pytest.MonkeyPatch) -> None:
    here = Target("vulkan -device_name=iGPU -supports_float16=false -max_threads_per_block=256")
    monkeypatch.setattr("intarsia.target.detect.devices_here", lambda type_: (here,) if type_ == "vulkan" else ())
    assert compared("vulkan -device_name=iGPU -max_block_size_x=3, llvm") is None
    found = compared("vulkan -supports_float16 -max_threads_per_block=128, llvm")
    assert found is not None
    assert [each.split(" states ")[1] for each in found.lacks] == [
        "supports_float16 true, and the vulkan device here has false"
    ]
    assert [each.split(" states ")[1] for each in found.beyond] == [
        "max_threads_per_block 128, and the vulkan device here has 256"
    ]


def test_it_is_exported_with_its_sentences() -> None:
    found = compared("llvm -num-cores=2")
    assert found is not None
    facts = found.export()
    assert facts["where"] == HEAD
    assert facts["emulated"] == {"cores": 2, "instruction_set": None}
    assert facts["remarks"] == list(found.remarks)
