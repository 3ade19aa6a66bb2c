"""The examples of the design discussions: what each is read as, and how it is printed.

The first line of a transcript is the form, then what it means. ``pytest tests/golden --regenerate`` writes them anew;
read the diff.
"""

from __future__ import annotations

import json
import subprocess
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from click.testing import CliRunner

from intarsia.cli.main import cli
from intarsia.config import CompilationConfig, Deployment
from intarsia.target import KINDS, TAGS, Target, register_kind, register_tag
from tests.unit.codegen.tools import CC
from tests.unit.graph.models import two_layers

TRANSCRIPTS = Path(__file__).parent / "threads"
ACL = {"kind": "composite", "target_host": "llvm", "devices": [{"kind": "arm_acl"}]}
HETERO = {"kind": "composite", "target_host": "llvm", "devices": [{"kind": "ethosn"}, {"kind": "opencl"}]}
COPROCESSOR = {
    "host": "arm",
    "executor": "vm",
    "targets": [{"host": "risc-v", "executor": "graph", "targets": ["my-accelerator"]}, "arm"],
}
BYOC = {
    "host": "x86",
    "executor": "vm",
    "targets": [{"host": "x86", "executor": "cuda-graph", "targets": ["cuda"], "libraries": ["tensor-rt"]}, "cuda"],
}
PLATFORM = {
    "targets": ["tensorrt", "cuda -arch=sm_80", "llvm -mcpu=skylake-avx512"],
    "executor": "vm",
    "runtime": {"kind": "cpp", "system-lib": True},
    "host": "llvm -mcpu=skylake-avx512",
}
MICRO = {"targets": ["ethos-u", "cmsis-nn", "c"], "executor": "aot", "runtime": "crt"}
TWO_MACHINES = {
    "machines": {"machine0": {"host": "x86", "targets": ["cuda"]}, "machine1": {"host": "arm", "targets": ["vulkan"]}}
}
TWO_GPUS = {
    "targets": ["cuda -arch=sm_80", "llvm"],
    "devices": {"cpu": "llvm", "gpu1": "cuda:0", "gpu2": "cuda:1"},
}
CORE_API = {
    "target_host": "c",
    "targets": ["c"],
    "executor": {"kind": "aot", "interface-api": "c", "unpacked-api": True},
    "runtime": {"kind": "crt", "system-lib": True},
}
Reads = type[Target] | type[CompilationConfig] | type[Deployment]
EXAMPLES: Mapping[str, tuple[Reads, object]] = MappingProxyType(
    {
        # "TVM Target Specification"
        "priority-list": (CompilationConfig, "ethos-n77, acl, llvm mattr=+neon"),
        "host-argument": (Target, '{"kind": "cuda", "host": "llvm"}'),
        "aws-c5": (Target, "aws/c5"),
        "rasp4b": (Target, "arm/rasp4b"),
        "several-tags": (Target, {"kind": "cuda", "keys": ["gpu"], "tag": ["aws/p3", "nvidia/v100"]}),
        "two-gpus-by-label": (CompilationConfig, TWO_GPUS),
        "second-gpu-by-opencl": (CompilationConfig, "opencl:1"),
        # "Composite Target"
        "alias-acl": (CompilationConfig, "acl"),
        "composite-acl": (CompilationConfig, ACL),
        "composite-hetero": (CompilationConfig, HETERO),
        # "Compilation Configuration Representation"
        "rtx-3070": (CompilationConfig, "nvidia/geforce-rtx-3070"),
        "core-api": (CompilationConfig, CORE_API),
        "two-machines": (Deployment, TWO_MACHINES),
        "byoc-myawesome-cuda": (CompilationConfig, BYOC),
        "co-processor": (CompilationConfig, COPROCESSOR),
        "jetson-nano-cuda": (CompilationConfig, "nvidia/jetson-nano:cuda"),
        "soc-aot": (CompilationConfig, "arm/soc:aot"),
        "aws-c4": (CompilationConfig, "aws/c4.4xlarge"),
        "platform-tag": (CompilationConfig, "my-hetro-exec-platform0"),
        # "Targets, CompilationConfig and Collage"
        "compiler-option": (Target, "cuda -arch=sm_80 -compiler=tensorrt"),
        "compiler-beside-engine": (
            CompilationConfig,
            "cuda -arch=sm_80 -compiler=tensorrt, cuda -arch=sm_80 -compiler=cutlass, cuda -arch=sm_80",
        ),
        "engine-and-base": (CompilationConfig, "tensorrt, cuda -arch=sm_80"),
        "micro": (CompilationConfig, MICRO),
    }
)


@contextmanager
def names_of_the_discussions() -> Iterator[None]:
    """The accelerator and the platform that the examples name, which nobody ships."""
    with KINDS.scope(), TAGS.scope():
        register_kind("my-accelerator", meaning="an accelerator that has a processor of its own")
        register_tag("my-hetro-exec-platform0", PLATFORM, level="config", source="a discussion")
        yield


@pytest.fixture(autouse=True)
def _names() -> Iterator[None]:
    with names_of_the_discussions():
        yield


def read(name: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # target_host
        reader, form = EXAMPLES[name]
        return reader(form)


def described(value: Any, indent: str = "") -> Iterator[str]:
    """What a value is: its type and parts, and their canonical texts."""
    if isinstance(value, Target):
        yield f"{indent}Target {value}"
        yield f"{indent}  on {value.device_type}, keys {', '.join(value.keys)}"
    elif isinstance(value, Deployment):
        yield f"{indent}Deployment"
        for name, machine in value.machines.items():
            yield f"{indent}  {name}:"
            yield from described(machine, f"{indent}    ")
    else:
        yield f"{indent}CompilationConfig"
        for element in value.targets:
            yield from described(element, f"{indent}  ")
        yield f"{indent}  host {value.host}"
        yield from (f"{indent}  label {label}: {device}" for label, device in value.devices.items())
        yield f"{indent}  default device {value.default_device}"
        yield f"{indent}  executor {value.executor}, runtime {value.runtime}"
        yield from (f"{indent}  library {library}" for library in value.libraries)


@pytest.mark.parametrize("name", EXAMPLES)
def test_transcript(name: str, pytestconfig: pytest.Config) -> None:
    reader, form = EXAMPLES[name]
    value = read(name)
    lines = [f">>> {reader.__name__}({form!r})", *described(value), f"text {value}", f"json {value.json()}"]
    transcript = "\n".join([*lines, ""])
    path = TRANSCRIPTS / f"{name}.txt"
    if pytestconfig.getoption("regenerate"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(transcript, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == transcript


@pytest.mark.parametrize("name", EXAMPLES)
def test_what_is_printed_reads_back(name: str) -> None:
    reader, value = EXAMPLES[name][0], read(name)
    for form in (str(value), value.json(), value.export()):
        assert (reader(form), reader(form).tags) == (value, value.tags)


def test_no_transcript_is_left_over() -> None:
    assert {path.stem for path in TRANSCRIPTS.iterdir()} == set(EXAMPLES)


def test_the_alias_of_a_composite_means_what_its_definition_says() -> None:
    assert read("alias-acl") == read("composite-acl")


def test_an_option_for_the_compiler_is_the_engine_on_that_base() -> None:
    assert read("compiler-option") == Target({"kind": "tensorrt", "base": "cuda -arch=sm_80"})
    first, _, base = read("compiler-beside-engine").targets
    assert first.refines(base)
    assert not base.refines(first)


def test_a_tag_of_a_whole_platform_is_all_that_it_names() -> None:
    assert read("platform-tag") == CompilationConfig(PLATFORM)
    assert read("platform-tag").tags == ("my-hetro-exec-platform0",)


def test_a_machine_that_no_installed_engine_compiles_for_ends_with_exit_3(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    model = tmp_path / "model.onnx"
    model.write_bytes(two_layers().SerializeToString())
    done = CliRunner().invoke(cli, ["compile", str(model), "--target", json.dumps({**MICRO, "runtime": "cpp"})])
    assert done.exit_code == 3
    assert "runtime crt" in done.stderr
    assert (tmp_path / "model.plan.yaml").exists()


@CC
def test_the_core_api_of_the_discussions_compiles_to_a_folder_of_c(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    model = tmp_path / "model.onnx"
    model.write_bytes(two_layers().SerializeToString())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # target_host
        form = ["--target", json.dumps(CORE_API), "--store", str(tmp_path / "store")]
        done = CliRunner().invoke(cli, ["compile", str(model), *form])
        assert done.exit_code == 0, done.output
    assert "workspace" in done.stdout
    assert CliRunner().invoke(cli, ["export", "model.intarsia", "c", "--with-test"]).exit_code == 0
    header = (tmp_path / "c" / "model.h").read_text(encoding="utf-8")
    assert "int32_t model_run(const struct model_inputs *inputs, const struct model_outputs *outputs," in header
    assert (tmp_path / "c" / "intarsia_models.c").exists()
    made = subprocess.run(
        ["make", "--no-print-directory", "test"], cwd=tmp_path / "c", capture_output=True, text=True, check=False
    )
    assert made.stdout.endswith("right\n"), made.stderr


def test_what_the_microcontroller_of_the_discussions_lacks_is_said_and_its_plan_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("INTARSIA_CMSIS_NN", raising=False)
    model = tmp_path / "model.onnx"
    model.write_bytes(two_layers().SerializeToString())
    done = CliRunner().invoke(cli, ["compile", str(model), "--target", json.dumps(MICRO)])
    assert done.exit_code == 3
    assert "CMSIS-NN's sources are not here" in done.stderr
    assert (tmp_path / "model.plan.yaml").exists()
