"""What drives a model where its configuration does not say."""

from __future__ import annotations

import pytest

from intarsia.config import CompilationConfig
from intarsia.errors import ConfigError
from intarsia.graph import SizeRange
from intarsia.planning import driven as module
from intarsia.planning.driven import driven

OPEN = {"batch": SizeRange(low=1, high=8)}


@pytest.fixture(autouse=True)
def _on_x86(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "architecture_here", lambda: "x86")


def drives(target: object) -> tuple[str, str, int]:
    config, remarks = driven(CompilationConfig.of(target), {})
    return str(config.executor), str(config.runtime), len(remarks)


@pytest.mark.parametrize(
    "target",
    [
        "arm/rasp4b",
        "arm/rasp4b64",
        "risc-v",
        "c -mtriple=riscv64-linux-gnu",
        "llvm -mtriple=aarch64-linux-gnu, c -mtriple=aarch64-linux-gnu",
        "arm/mps2-an386",
        {"targets": ["arm/rasp4b"], "executor": "aot"},
        {"targets": ["arm/rasp4b"], "runtime": "crt"},
    ],
)
def test_another_processor_gets_a_program_and_that_is_said(target: object) -> None:
    assert drives(target) == ("aot", "crt", 1)


def test_options_that_are_stated_are_kept() -> None:
    form = {"targets": ["arm/rasp4b"], "executor": "aot -workspace-byte-alignment=32"}
    assert drives(form) == ("aot -workspace-byte-alignment=32", "crt", 1)


@pytest.mark.parametrize("target", ["nvidia/jetson-nano", "nvidia/jetson-nano:cuda"])
def test_the_processor_takes_what_an_accelerator_of_another_machine_would(target: str) -> None:
    config, remarks = driven(CompilationConfig.of(target), {})
    assert [str(each) for each in config.targets] == ["llvm -mcpu=cortex-a57 -mtriple=aarch64-linux-gnu -num-cores=4"]
    assert config.host.mcpu == "cortex-a57"
    assert remarks[0].startswith("cuda -arch=sm_53 ")
    assert "the processor takes the whole model" in remarks[0]


@pytest.mark.parametrize(
    "target",
    [
        "llvm",
        "c",
        "llvm -mcpu=haswell",
        "llvm -mtriple=x86_64-linux-gnu",
        "cuda",
        "onnxruntime -base='llvm -mtriple=aarch64-linux-gnu'",
        "onnxruntime, arm/rasp4b64",
        "apple/m1",
        {"targets": ["arm/rasp4b"], "executor": "vm"},
        {"targets": ["arm/rasp4b"], "runtime": "cpp"},
        {"targets": ["arm/rasp4b"], "executor": "aot", "runtime": "crt"},
        {"targets": ["arm/rasp4b"], "devices": {"one": "cpu:0"}},
    ],
)
def test_what_is_for_here_or_stated_or_beyond_c_stays_as_it_is(target: object) -> None:
    config = CompilationConfig.of(target)
    assert driven(config, {}) == (config, ())


def test_open_sizes_need_the_executor_that_takes_them() -> None:
    config, remarks = driven(CompilationConfig.of("llvm"), OPEN)
    assert (str(config.executor), remarks) == ("vm", ())
    assert driven(config, OPEN) == (config, ())
    with pytest.raises(ConfigError, match="state vm, or one size instead of a range"):
        driven(CompilationConfig.of({"targets": ["llvm"], "executor": "aot"}), OPEN)
