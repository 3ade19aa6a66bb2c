"""Every failure has a script that is valid Python, whatever the engine said, and that runs."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intarsia.backends.contract.failures import Cause
from intarsia.config import RunSettings
from intarsia.cost.worker.protocol import ANSWER, Failed, Measured, PartitionMessage, Workload
from intarsia.cost.worker.repro import Origin, write_repro
from intarsia.graph import Graph, load_model

WORKLOAD = Workload(
    partitions=(PartitionMessage(target="reference", nodes=('odd "name"', "back\\slash")),),
    settings=RunSettings(threads=1),
)


def constants(script: Path) -> dict[str, object]:
    """The script's assignments, by name; it has to be valid Python for that."""
    tree = ast.parse(script.read_text(encoding="utf-8"))
    return {
        target.id: ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


@pytest.mark.parametrize(
    "reason",
    [
        'it said """ and left',
        '""""""',
        'ends with a quote "',
        "ends with a backslash \\",
        r"C:\new\unicode \N{no such name} \x \u12",
        "{braces} and {0}",
        "two\nlines\r\nor three",
        "x" * 10_000,
        "",
        "µs → ∞",
    ],
)
def test_odd_reasons(tmp_path: Path, reason: str) -> None:
    script = write_repro(
        tmp_path / "new", Origin(model="m.onnx"), WORKLOAD, Failed(stage="run", reason=reason, cause=Cause.ENGINE)
    )
    compile(script.read_text(encoding="utf-8"), str(script), "exec")


@given(reason=st.text(st.characters(exclude_categories=[])))
def test_any_reason(tmp_path_factory: pytest.TempPathFactory, reason: str) -> None:
    folder = tmp_path_factory.getbasetemp() / "repro"
    script = write_repro(
        folder, Origin(model="m.onnx"), WORKLOAD, Failed(stage="run", reason=reason, cause=Cause.ENGINE)
    )
    assert constants(script)["MODEL"] == "m.onnx"


def test_what_failed_comes_back_as_it_was(tmp_path: Path) -> None:
    origin = Origin(model='/odd/it\'s "a" \\ model.onnx', shapes=(("batch", 2), ("x", (1, 3))))
    found = constants(write_repro(tmp_path, origin, WORKLOAD, Failed(stage="run", reason="no", cause=Cause.ENGINE)))
    assert found["MODEL"] == origin.model
    assert found["SHAPES"] == {"batch": 2, "x": (1, 3)}
    assert Workload.model_validate_json(str(found["WORKLOAD"])) == WORKLOAD


def test_one_script_for_each_failure(tmp_path: Path) -> None:
    origin, crash = Origin(model="m.onnx"), Failed(stage="crash", reason="SIGSEGV", cause=Cause.ENGINE)
    first = write_repro(tmp_path, origin, WORKLOAD, crash)
    assert write_repro(tmp_path, origin, WORKLOAD, crash) == first
    other = WORKLOAD.model_copy(update={"settings": RunSettings(threads=2)})
    names = {
        first,
        write_repro(tmp_path, origin, WORKLOAD, Failed(stage="run", reason="SIGSEGV", cause=Cause.ENGINE)),
        write_repro(tmp_path, Origin(model="n.onnx"), WORKLOAD, crash),
        write_repro(tmp_path, origin, other, crash),
    }
    assert len(names) == 4
    assert set(tmp_path.iterdir()) == names


def test_a_model_from_memory_is_saved_once(tmp_path: Path, graph: Graph) -> None:
    origin = Origin(model=None).on_disk(graph, tmp_path / "repro")
    assert origin.model is not None
    written = Path(origin.model).stat().st_mtime_ns
    assert [node.op_type for node in load_model(origin.model).nodes] == ["MatMul", "Relu", "MatMul", "Relu"]
    assert Origin(model=None).on_disk(graph, tmp_path / "repro") == origin
    assert Path(origin.model).stat().st_mtime_ns == written
    assert Origin(model="given.onnx").on_disk(graph, tmp_path) == Origin(model="given.onnx")


def test_a_script_runs(tmp_path: Path, graph: Graph) -> None:
    """The piece does not fail on this engine, so the script prints its times."""
    nodes = tuple(node.id for node in graph.nodes[1:3])
    workload = Workload(
        partitions=(PartitionMessage(target="reference", nodes=nodes),), settings=RunSettings(threads=1)
    )
    origin = Origin(model=None).on_disk(graph, tmp_path)
    script = write_repro(tmp_path, origin, workload, Failed(stage="run", reason="it said no", cause=Cause.ENGINE))
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run([sys.executable, str(script)], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    answer = ANSWER.validate_json(done.stdout)
    assert isinstance(answer, Measured)
    assert answer.error is not None
    assert answer.error < 1e-6
