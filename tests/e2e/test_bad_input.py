"""Bad input: one clear message, exit code 2, and nothing written."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from tests.e2e.conftest import Run
from tests.malformed import MALFORMED

pytestmark = [pytest.mark.e2e]
Intarsia = Callable[..., Run]


@pytest.fixture(scope="module")
def artifact(intarsia: Intarsia, tiny: Path, folder: Path) -> Path:
    path = folder / "bad-input.intarsia"
    line = ("compile", tiny, "--partition", "single", "--target", "onnxruntime", "--budget", 1, "-o", path, "--json")
    assert intarsia(*line, "--store", folder / "bad-input.sqlite").code == 0
    return path


def refused(run: Run, *words: str) -> None:
    assert run.code == 2, (run.code, run.err)
    assert run.out == ""
    assert run.err.startswith("error: ")
    assert "Traceback" not in run.err
    for word in words:
        assert word in run.err


def test_missing_file(intarsia: Intarsia, tmp_path: Path) -> None:
    refused(intarsia("compile", tmp_path / "no.onnx"), "no.onnx")


@pytest.mark.parametrize("content", [b"", b"hello, this is not a model", bytes(100)])
def test_not_onnx(intarsia: Intarsia, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.onnx").write_bytes(content)
    refused(intarsia("compile", tmp_path / "x.onnx"), "x.onnx")


@pytest.mark.parametrize("share", [0.3, 0.9, 0.999])
def test_truncated_file(intarsia: Intarsia, tiny: Path, tmp_path: Path, share: float) -> None:
    whole = tiny.read_bytes()
    (tmp_path / "x.onnx").write_bytes(whole[: int(len(whole) * share)])
    refused(intarsia("compile", tmp_path / "x.onnx"), "x.onnx")


def test_unknown_target_names_the_nearest(intarsia: Intarsia, tiny: Path) -> None:
    refused(intarsia("compile", tiny, "--target", "openvno"), "openvno", "openvino")


@pytest.mark.parametrize(
    "name",
    ["weight without data", "opset 9999", "input of 10^12", "dangling input", "functions that become 10^9 nodes"],
)
def test_a_model_that_is_not_sound(intarsia: Intarsia, tmp_path: Path, name: str) -> None:
    case = next(case for case in MALFORMED if case.name == name)
    (tmp_path / "x.onnx").write_bytes(case.model)
    refused(intarsia("compile", tmp_path / "x.onnx", "-o", tmp_path / "x.intarsia"), *case.words)
    assert [path.name for path in tmp_path.iterdir()] == ["x.onnx"]


def test_a_model_that_this_machine_cannot_hold(intarsia: Intarsia, tmp_path: Path) -> None:
    """Planned it could be, for a larger one."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1 << 37])
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [x], [onnx.ValueInfoProto(name="y")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    (tmp_path / "x.onnx").write_bytes(model.SerializeToString())
    line = ("compile", tmp_path / "x.onnx", "--target", "onnxruntime", "--store", tmp_path / "r.sqlite")
    refused(intarsia(*line, "-o", tmp_path / "x.intarsia"), "this machine has", "--shape")


def test_unbound_dimension_says_how_to_bind_it(intarsia: Intarsia, tmp_path: Path) -> None:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 4])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [x], [y])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)]), tmp_path / "x.onnx")
    refused(intarsia("compile", tmp_path / "x.onnx"), "N", "--shape")


@pytest.mark.parametrize(
    ("name", "array", "words"),
    [
        ("pictre", np.zeros((1, 3, 160, 160), np.float32), ("pictre", "picture")),
        ("picture", np.zeros((1, 3, 2, 2), np.float32), ("picture", "[1,3,2,2]")),
        ("picture", np.zeros((1, 3, 160, 160), np.float64), ("picture", "float64")),
    ],
)
def test_wrong_feeds(
    intarsia: Intarsia, artifact: Path, tmp_path: Path, name: str, array: np.ndarray, words: tuple[str, ...]
) -> None:
    np.save(tmp_path / "a.npy", array)
    refused(intarsia("run", artifact, "--input", f"{name}={tmp_path / 'a.npy'}"), *words)


def plan(intarsia: Intarsia, artifact: Path) -> str:
    run = intarsia("explain", artifact, "--plan")
    assert run.code == 0
    return run.out


def split(text: str, order: list[list[int]]) -> str:
    """A plan file with the nodes of ``text`` dealt out to partitions by position."""
    head, _, tail = text.partition("partitions:")
    nodes = [line.strip().removeprefix("- ") for line in tail.splitlines() if line.strip().startswith("- ")]
    nodes = [node for node in nodes if not node.startswith("target:")]
    parts = "".join(
        "- target: onnxruntime\n  nodes:\n" + "".join(f"  - {nodes[index]}\n" for index in part) for part in order
    )
    return f"{head}partitions:\n{parts}"


@pytest.mark.parametrize(
    ("deal", "word"),
    [
        (lambda n: [list(range(n - 1))], "node"),
        (lambda n: [list(range(n)), [0]], "leave it in one"),
        (lambda n: [[0, n - 1], list(range(1, n - 1))], "depend on each other"),
    ],
    ids=["missing", "duplicate", "cyclic"],
)
def test_plans_that_do_not_cover_the_model(
    intarsia: Intarsia, tiny: Path, artifact: Path, tmp_path: Path, deal: Callable[[int], list[list[int]]], word: str
) -> None:
    text = plan(intarsia, artifact)
    count = text.count("\n  - ")
    assert count > 2
    (tmp_path / "plan.yaml").write_text(split(text, deal(count)))
    refused(intarsia("compile", tiny, "--partition", "manual", "--plan", tmp_path / "plan.yaml"), word)


def test_a_flipped_byte(intarsia: Intarsia, artifact: Path, tmp_path: Path) -> None:
    content = bytearray(artifact.read_bytes())
    content[len(content) // 2] ^= 1
    (tmp_path / "x.intarsia").write_bytes(content)
    refused(intarsia("run", tmp_path / "x.intarsia", "--random"), "damaged")


@pytest.mark.parametrize(
    ("change", "word"), [(('"x86_64"', '"riscv64"'), "riscv64"), (('"fma"', '"amx_fp8"'), "amx_fp8")]
)
def test_another_machine_class(
    intarsia: Intarsia, artifact: Path, tmp_path: Path, change: tuple[str, str], word: str
) -> None:
    """It is rebuilt to run, and refused where its times are the question."""
    from intarsia.runtime.artifact.container_writing import create

    other = tmp_path / "x.intarsia"
    with zipfile.ZipFile(artifact) as old, create(other) as new:
        for info in old.infolist():
            content = old.read(info)
            if info.filename == "manifest.json":
                assert change[0].encode() in content
                content = content.replace(change[0].encode(), change[1].encode())
            with new.open(info.filename) as stream:
                stream.write(content)
    done = intarsia("run", other, "--random", "--json")
    assert done.json()
    assert "rebuilt in memory" in done.err
    assert word in done.err
    refused(intarsia("verify", other), word, "another machine class")
