"""A model is compiled for the executor `aot` and the runtime `crt`: artifact, runs, exported folder, errors."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import intarsia
from intarsia.errors import ArtifactError, BackendUnavailableError, ConfigError, MissingStageError, ModelError
from intarsia.report.page.page import render
from intarsia.runtime import export
from tests.unit.codegen.tools import AARCH64, BOARDS, CC
from tests.unit.graph.models import info, model, two_layers

M4 = "c -mcpu=cortex-m4 -board=mps2-an386"


def config(target: object = "c", executor: str = "aot", runtime: str = "crt") -> Mapping[str, Any]:
    targets = target if isinstance(target, list) else [target]
    return {"targets": targets, "executor": executor, "runtime": runtime}


def layers() -> onnx.ModelProto:
    """A convolution, a branch that is joined to it, and an activation."""
    weights = np.random.default_rng(1).standard_normal((4, 3, 3, 3)).astype(np.float32)
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"], "conv", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["a"], ["b"], "relu"),
        helper.make_node("Tanh", ["a"], ["c"], "tanh"),
        helper.make_node("Concat", ["b", "c"], ["d"], "join", axis=1),
        helper.make_node("Add", ["d", "d"], ["y"], "twice"),
    ]
    return model(nodes, [info("x", (1, 3, 8, 8))], [info("y", (1, 8, 8, 8))], {"w": weights})


def compiled(path: Path, form: object, network: onnx.ModelProto | None = None) -> Path:
    with intarsia.compile(
        (network or layers()).SerializeToString(), form, store=path.parent / "store", budget=30.0
    ) as made:
        return made.save(path)


@CC
def test_an_artifact_is_loaded_and_answers(tmp_path: Path) -> None:
    path = compiled(tmp_path / "net.intarsia", config())
    x = np.random.default_rng(0).standard_normal((1, 3, 8, 8)).astype(np.float32)
    with intarsia.load(path) as loaded:
        first, again = loaded(x=x)["y"], loaded({"x": x})["y"]
        other = loaded(x=-x)["y"]
        program = loaded.report["program"]
        assert [str(part.target) for part in loaded.plan.partitions] == ["c"]
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    conv = np.maximum(first[0, :4] / 2, 0)
    np.testing.assert_allclose(np.tanh(conv), np.maximum(first[0, 4:] / 2, 0), atol=1e-5)
    assert program["workspace_bytes"] > 0
    assert program["weights_bytes"] >= 4 * 108
    assert program["code_bytes"] > 0
    assert program["place"] == "this machine"


@CC
def test_a_cpu_that_no_engine_is_named_for_is_served_by_our_own_c(tmp_path: Path) -> None:
    path = compiled(tmp_path / "net.intarsia", config("llvm"), two_layers())
    with intarsia.load(path) as loaded:
        assert [str(part.target) for part in loaded.plan.partitions] == ["c"]
        assert loaded.report["program"]["place"] == "this machine"


@CC
def test_what_is_read_of_it_is_what_the_reference_says(tmp_path: Path) -> None:
    from intarsia.cost.records.store import open_store
    from intarsia.evaluation.verification import verify_artifact
    from intarsia.runtime import Artifact

    path = compiled(tmp_path / "net.intarsia", config(), two_layers())
    (check,) = verify_artifact(Artifact(path), open_store(tmp_path / "store"), [3], {})
    assert check.is_right
    assert [found.name for found in check.outputs] == ["y"]


@CC
def test_the_folder_needs_nothing_of_us(tmp_path: Path) -> None:
    path = compiled(tmp_path / "net.intarsia", config(executor="aot -unpacked-api -interface-api=c"))
    with intarsia.load(path) as loaded:
        written = export(loaded, tmp_path / "out", has_test=True)
    names = {each.name for each in written}
    assert names == {
        *("model.h", "model.c", "model_weights.c", "main.c", "model_test.c"),
        *("CMakeLists.txt", "Makefile", "README.md", "LICENSE", "memory.json"),
    }
    done = subprocess.run(["make", "test"], cwd=tmp_path / "out", capture_output=True, text=True, check=True)
    assert "right" in done.stdout
    memory = json.loads((tmp_path / "out" / "memory.json").read_text(encoding="utf-8"))
    assert memory["workspace_bytes"] == sum(arena["bytes"] for arena in memory["arenas"])


OPTIONS: Mapping[str, tuple[str, str, str]] = {
    "packed": ("aot -interface-api=packed", "crt", "model_run(void *const *arguments, void *workspace);"),
    "unpacked": ("aot -unpacked-api", "crt", "model_run(const float *x, float *y, void *workspace);"),
    "unpacked and packed": (
        "aot -unpacked-api -interface-api=packed",
        "crt",
        "model_run(const float *x, float *y, void *workspace);",
    ),
    "structs": (
        "aot -unpacked-api -interface-api=c",
        "crt",
        "model_run(const struct model_inputs *inputs, const struct model_outputs *outputs, void *workspace);",
    ),
    "weights elsewhere": (
        "aot -link-params=false",
        "crt",
        "model_run(void *const *arguments, void *workspace, const void *weights);",
    ),
    "workspace inside": ("aot -static-workspace", "crt", "model_run(void *const *arguments);"),
    "aligned": (
        "aot -workspace-byte-alignment=128 -constant-byte-alignment=256",
        "crt",
        "#define MODEL_WORKSPACE_ALIGNMENT 128u",
    ),
    "least aligned": (
        "aot -workspace-byte-alignment=1 -constant-byte-alignment=1",
        "crt",
        "#define MODEL_WORKSPACE_ALIGNMENT 4u",
    ),
    "found by name": ("aot -unpacked-api", "crt -system-lib", "model_run(const float *x, float *y, void *workspace);"),
    "all": (
        "aot -unpacked-api -interface-api=c -link-params=false -static-workspace -constant-byte-alignment=64",
        "crt -system-lib",
        "model_run(const struct model_inputs *inputs, const struct model_outputs *outputs, const void *weights);",
    ),
}
"""An executor, a runtime, and what the exported header then says."""


@CC
@pytest.mark.parametrize("name", OPTIONS)
def test_each_option_does_what_it_says_in_the_folder_that_is_exported(tmp_path: Path, name: str) -> None:
    executor, runtime, said = OPTIONS[name]
    path = compiled(tmp_path / "net.intarsia", config(executor=executor, runtime=runtime), two_layers())
    with intarsia.load(path) as loaded:
        export(loaded, out := tmp_path / "out", has_test=True)
        interface = loaded.report["program"]
    assert said in (out / "model.h").read_text(encoding="utf-8")
    for goal in ("test", "example"):
        done = subprocess.run(["make", goal], cwd=out, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "right" in done.stdout or goal == "example"
    symbols = subprocess.run(["nm", "libmodel.a"], cwd=out, capture_output=True, text=True, check=True).stdout
    assert (" b workspace" in symbols) is ("-static-workspace" in executor)
    assert ("model_model" in symbols) is ("-system-lib" in runtime)
    assert (out / "intarsia_models.h").exists() is ("-system-lib" in runtime)
    assert ("model_k" in (out / "model.h").read_text(encoding="utf-8")) is False
    assert interface["link_weights"] is ("-link-params=false" not in executor)


@CC
def test_its_page_shows_what_is_known_and_no_time(tmp_path: Path) -> None:
    path = compiled(tmp_path / "net.intarsia", config())
    with intarsia.load(path) as loaded:
        report = loaded.report
        page = render(report, loaded.artifact.graph())
    assert "workspace" in page
    assert report["latency_ms"] is None
    assert report["search"]["measured"] == 0
    assert not {"mixes", "segments", "transfers", "accuracy"} & report.keys()


@BOARDS
def test_the_folder_of_a_board_tests_itself_in_the_emulator(tmp_path: Path) -> None:
    path = compiled(tmp_path / "net.intarsia", config(M4))
    with intarsia.load(path) as loaded:
        written = export(loaded, tmp_path / "out", has_test=True)
        search = loaded.report["search"]
    assert search["measured"] > 0
    assert search["candidates"] >= search["segments"] > 0
    assert {each.relative_to(tmp_path / "out").parts[0] for each in written} > {"board", "README.md"}
    done = subprocess.run(["make", "test"], cwd=tmp_path / "out", capture_output=True, text=True, check=True)
    assert done.stdout.endswith("right\n")
    plain = subprocess.run(["cc", "-c", "model.c"], cwd=tmp_path / "out", capture_output=True, text=True, check=False)
    assert plain.returncode == 0 or "this network is written for a processor with" in plain.stderr


@CC
def test_the_code_is_code_that_can_be_refused(tmp_path: Path) -> None:
    path = compiled(tmp_path / "net.intarsia", config())
    with pytest.raises(ArtifactError, match=r"machine code, which was refused: .*model\.c"):
        intarsia.load(path, machine_code=False)


@BOARDS
@pytest.mark.parametrize("target", [M4, "c -mcpu=cortex-m55 -board=mps3-an547"])
def test_it_runs_on_an_emulated_board(tmp_path: Path, target: str) -> None:
    path = compiled(tmp_path / "net.intarsia", config(target, executor="aot -link-params=false"))
    here = compiled(tmp_path / "here.intarsia", config())
    x = np.random.default_rng(0).standard_normal((1, 3, 8, 8)).astype(np.float32)
    with intarsia.load(path) as loaded, intarsia.load(here) as own:
        np.testing.assert_allclose(loaded(x=x)["y"], own(x=x)["y"], atol=1e-4)
        assert loaded.report["program"]["stack_bytes"] > 0


@BOARDS
def test_values_lie_in_two_memories(tmp_path: Path) -> None:
    target = f"{M4} -ram=dtcm:20000,sram:8000 -flash=200000"
    path = compiled(tmp_path / "net.intarsia", config(target, executor="aot -unpacked-api"), wide())
    with intarsia.load(path) as loaded:
        arenas = loaded.report["program"]["arenas"]
        assert [arena["memory"] for arena in arenas] == ["dtcm", "sram"]
        assert all(arena["bytes"] > 0 for arena in arenas)
        written = export(loaded, tmp_path / "out")
    header = next(each for each in written if each.suffix == ".h").read_text(encoding="utf-8")
    assert "void *workspace_dtcm, void *workspace_sram" in header


def wide() -> onnx.ModelProto:
    """Values of 6,400 bytes that are alive together."""
    nodes = [
        helper.make_node("Exp", ["x"], ["a"], "a"),
        helper.make_node("MatMul", ["a", "w"], ["b"], "b"),
        helper.make_node("MatMul", ["b", "w"], ["c"], "c"),
        helper.make_node("Mul", ["a", "c"], ["y"], "y"),
    ]
    weights = np.random.default_rng(2).standard_normal((16, 16)).astype(np.float32) / 8
    return model(nodes, [info("x", (100, 16))], [info("y", (100, 16))], {"w": weights})


@AARCH64
def test_it_runs_under_an_emulated_processor(tmp_path: Path) -> None:
    path = compiled(tmp_path / "net.intarsia", config("c -mtriple=aarch64-linux-gnu"))
    with intarsia.load(path) as loaded:
        assert loaded(x=np.ones((1, 3, 8, 8), np.float32))["y"].shape == (1, 8, 8, 8)
        assert loaded.report["program"]["place"] == "qemu-aarch64"


def one(op: str, dtype: int = TensorProto.FLOAT, shape: tuple[int, ...] = (1, 3, 3), **attributes: Any) -> Any:
    nodes = [
        helper.make_node("Relu", ["x"], ["a"], "first"),
        helper.make_node(op, ["a"], ["y"], "second", **attributes),
    ]
    return model(nodes, [info("x", shape, dtype)], [info("y", None, dtype)])


ERRORS: Mapping[str, tuple[Any, Any, type[Exception], int, str]] = {
    "a workspace that is too large": (
        f"{M4} -ram=sram:2048 -flash=100000",
        layers(),
        ConfigError,
        2,
        r"too large for the target: 'join'|'conv'.* bytes at one time, and sram has 2,048: [\d,]+ bytes are missing",
    ),
    "weights that are too large": (
        f"{M4} -ram=sram:100000 -flash=200",
        layers(),
        ConfigError,
        2,
        r"weights take \d+ bytes, and flash has 200: \d+ bytes are missing; those of 'conv'",
    ),
    "no room for the stack": (
        f"{M4} -ram=sram:5200 -flash=100000",
        layers(),
        ConfigError,
        2,
        r"not enough stack: of the 5,200 bytes of sram the workspace takes [\d,]+.*bytes are missing",
    ),
    "an operator without C": ("c", one("Det"), ModelError, 2, r"no C for a part of the model: .*\n  Det 'second'"),
    "double precision": ("c", one("Neg", TensorProto.DOUBLE), ModelError, 2, r"'first': 'x' is float64"),
    "no compiler that is known": ("c -mcpu=cortex-a8", layers(), ConfigError, 2, r"no C compiler for the processor of"),
}


@BOARDS
@pytest.mark.parametrize("name", ERRORS)
def test_what_cannot_be_compiled_is_one_clear_error_and_nothing_is_written(tmp_path: Path, name: str) -> None:
    target, network, kind, code, words = ERRORS[name]
    with pytest.raises(kind, match=words) as error:
        compiled(tmp_path / "net.intarsia", config(target), network)
    assert getattr(error.value, "exit_code", None) == code
    assert not list(tmp_path.glob("*.intarsia*"))
    assert not list((tmp_path / "store" / "work").glob("*"))


@pytest.mark.parametrize(
    ("target", "words"),
    [("c", "a C compiler is not installed; .*apt-get install gcc"), (M4, "apt-get install gcc-arm")],
)
def test_a_compiler_that_is_missing_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str, words: str
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    with pytest.raises(BackendUnavailableError, match=words) as error:
        compiled(tmp_path / "net.intarsia", config(target))
    assert error.value.exit_code == 3
    assert not list(tmp_path.glob("*.intarsia*"))


def test_engines_that_write_no_source_are_refused_at_planning(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="reference writes no C code, which the executor aot makes one program of"):
        compiled(tmp_path / "net.intarsia", config(["reference", "c"]))


def test_another_runtime_is_a_missing_stage(tmp_path: Path) -> None:
    with pytest.raises(MissingStageError, match="for the runtime crt"):
        compiled(tmp_path / "net.intarsia", config(runtime="python"))
