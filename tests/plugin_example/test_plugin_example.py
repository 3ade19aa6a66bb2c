"""The engine of docs/adding-an-engine.md, installed as its users would: found, held to the suite, part of a plan."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from tests.conformance.cases import Case, f32, node
from tests.conformance.node_cases import node_cases
from tests.conformance.page import page
from tests.conformance.suite import Outcome, Record

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PAGE = ROOT / "docs" / "adding-an-engine.md"
BLOCK = re.compile(r"^```(?P<language>python|toml)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)
FILES = {"python": "intarsia_numpy.py", "toml": "pyproject.toml"}

Ask = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Ask:
    """Runs a Python module where the package is installed, in a folder of its own beside the environment's."""
    folder = tmp_path_factory.mktemp("site")
    install = ["install", "--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check"]
    _python("pip", *install, "--quiet", "--target", folder, HERE)

    def ask(*arguments: object) -> subprocess.CompletedProcess[str]:
        return _python(*arguments, path=(folder, ROOT / "src", ROOT), INTARSIA_REQUIRE_BACKENDS="numpy")

    return ask


def _python(*arguments: object, path: tuple[Path, ...] = (), **variables: str) -> subprocess.CompletedProcess[str]:
    searched = {"PYTHONPATH": os.pathsep.join(map(str, path))} if path else {}
    done = subprocess.run(
        [sys.executable, "-m", *map(str, arguments)],
        env=os.environ | searched | variables,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done


def _json(done: subprocess.CompletedProcess[str]) -> Any:
    return json.loads(done.stdout)


def _saved(folder: Path, *nodes: onnx.NodeProto) -> Path:
    weights = {"v": (16, 32), "w": (32, 4)}
    path = folder / "model.onnx"
    path.write_bytes(Case(name="two-layers", nodes=nodes, inputs={"x": f32(8, 16)}, weights=weights).model())
    return path


@pytest.mark.engine
def test_it_is_found_by_its_entry_points(ask: Ask) -> None:
    engines = {engine["name"]: engine for engine in _json(ask("intarsia", "doctor", "--json"))["engines"]}
    assert engines["numpy"]["usable"]
    assert engines["numpy"]["version"] == np.__version__
    assert "convolution" in ask("intarsia", "targets", "numpy").stdout


@pytest.mark.slow
@pytest.mark.engine
def test_it_is_held_to_the_suite(ask: Ask) -> None:
    done = ask("pytest", "-q", "-p", "no:cacheprovider", "tests/conformance", "-k", "numpy", "--records", HERE)
    assert int(re.findall(r"(\d+) passed", done.stdout)[-1]) > 100


@pytest.mark.slow
def test_what_is_on_file_is_drawn_and_keeps_to_the_rules() -> None:
    record = Record.load(HERE / "numpy.json")
    counts = Counter(record.outcomes.values())
    assert record.why == {}
    assert counts[Outcome.FAILED] == 0
    assert counts[Outcome.MISSED] <= 0.05 * (counts[Outcome.PASSED] + counts[Outcome.MISSED])
    assert (HERE / "engines.md").read_text(encoding="utf-8") == page([record], node_cases())


@pytest.mark.engine
def test_it_takes_part_in_a_plan(ask: Ask, tmp_path: Path) -> None:
    model = _saved(tmp_path, node("MatMul", "x v", "a"), node("Erf", "a", "b"), node("MatMul", "b w", "y"))
    artifact = tmp_path / "model.intarsia"
    machine = ("--target", "numpy, reference", "--store", tmp_path / "records.sqlite", "--budget", 30)
    report = _json(ask("intarsia", "compile", model, *machine, "--partition", "greedy", "-o", artifact, "--json"))
    assert [part["target"] for part in report["partitions"]] == ["numpy", "reference", "numpy"]
    assert report["max_rel_error"] < 1e-5
    assert _json(ask("intarsia", "run", artifact, "--random", "--json"))["outputs"]


@pytest.mark.engine
def test_each_of_its_variants_is_measured(ask: Ask, tmp_path: Path) -> None:
    model = _saved(tmp_path, node("MatMul", "x v", "a"), node("Relu", "a", "b"), node("MatMul", "b w", "y"))
    machine = ("--target", "numpy", "--store", tmp_path / "records.sqlite", "--budget", 30)
    report = _json(ask("intarsia", "compile", model, *machine, "-o", tmp_path / "model.intarsia", "--json"))
    assert [single["target"] for single in report["singles"]] == ["numpy"]
    assert report["partitions"][0]["target"].startswith("numpy -convolution=")
    assert report["search"]["measured"] >= 2


def test_the_page_shows_the_files_themselves() -> None:
    blocks = list(BLOCK.finditer(PAGE.read_text(encoding="utf-8")))
    assert {block["language"] for block in blocks} == set(FILES)
    for block in blocks:
        assert block["code"] in (HERE / FILES[block["language"]]).read_text(encoding="utf-8")
