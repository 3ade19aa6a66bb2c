"""The public names are pinned, and importing the package loads nothing heavy."""

from __future__ import annotations

import subprocess
import sys

import pytest

import intarsia

PUBLIC = [
    "Comparison", "CompilationConfig", "CompileSettings", "CompiledModel", "Constraint", "DeployedModel",
    "InferenceSession", "Partitioning", "Target", "VirtualDevice", "__version__", "build", "compare", "compile",
    "compile_deployment", "errors", "load", "load_deployment", "partition", "register_engine", "torch_backend",
]  # fmt: skip
HEAVY = [
    "MNN", "_tools", "ncnn", "numpy", "onnx", "onnx_ir", "onnxruntime", "onnxscript", "openvino", "openvino_telemetry",
    "pydantic", "rich", "yaml",
]  # fmt: skip


def loaded_by(statement: str) -> set[str]:
    """Top-level modules of a fresh interpreter after one statement."""
    script = f"import sys\n{statement}\nprint(*sorted({{name.partition('.')[0] for name in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    return set(done.stdout.split())


def test_the_public_names_are_these() -> None:
    assert intarsia.__all__ == PUBLIC
    assert dir(intarsia) == PUBLIC


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(intarsia, name) is not None


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'compil'"):
        intarsia.compil  # noqa: B018


def test_importing_loads_nothing_heavy() -> None:
    assert loaded_by("import intarsia").isdisjoint(HEAVY)


def test_the_interface_of_onnxruntime_loads_no_engine() -> None:
    loaded = loaded_by("import intarsia.onnxruntime")
    assert loaded.isdisjoint({"MNN", "ncnn", "onnxruntime", "openvino"})


def test_a_target_is_described_without_any_engine() -> None:
    loaded = loaded_by("from intarsia import Target; Target('onnxruntime')")
    assert loaded.isdisjoint({"MNN", "ncnn", "onnx", "onnx_ir", "onnxruntime", "onnxscript", "openvino"})


def test_the_check_sees_what_is_loaded() -> None:
    assert "numpy" in loaded_by("import intarsia, numpy")


def test_the_command_line_starts_without_any_engine() -> None:
    loaded = loaded_by("import intarsia.cli.main")
    assert loaded.isdisjoint({"MNN", "ncnn", "onnx", "onnx_ir", "onnxruntime", "onnxscript", "openvino", "pydantic"})
