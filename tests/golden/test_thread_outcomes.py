"""What each example of the design discussions ends in when it is compiled: an artifact that runs, or hardware to get.

The outcomes on file are those of an x86 machine without a GPU, and a page lists them. ``pytest tests/golden
--regenerate`` writes them anew, those that need no engine beside the installed ones; read the diff.
"""

from __future__ import annotations

import json
import os
import platform
import re
import warnings
from collections.abc import Iterator
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from onnx.reference import ReferenceEvaluator

import intarsia
from intarsia.backends import registry
from intarsia.backends.cmsis_nn import library
from intarsia.cli.main import cli
from intarsia.config import Deployment
from intarsia.runtime import Artifact
from intarsia.target.detect import devices_here
from tests.golden.test_threads import EXAMPLES, names_of_the_discussions
from tests.remote_workers import running_worker
from tests.unit.codegen.tools import AARCH64, ARMHF, CC
from tests.unit.graph.models import two_layers

OUTCOMES = Path(__file__).parent / "thread_outcomes"
PAGE = Path(__file__).parents[2] / "docs" / "design-threads.md"
MARKS = ("<!-- outcomes -->\n", "<!-- end of outcomes -->\n")
CMSIS_NN = Path(os.environ.get(library.VARIABLE) or Path(__file__).parents[3] / "shared" / "third-party" / "cmsis-nn")
HARDWARE = re.compile(r"NVIDIA GPU|\bprocessor\b")
"""What a sentence names that cannot be had by installing something."""
COMPILERS = {
    **dict.fromkeys(("core-api", "micro"), CC),
    **dict.fromkeys(("jetson-nano-cuda", "soc-aot", "two-machines"), AARCH64),
    "rasp4b": ARMHF,
}
TWO_DEVICES, MICRO = "second-gpu-by-opencl", "micro"

pytestmark = [
    pytest.mark.engine,
    pytest.mark.skipif(
        platform.machine() != "x86_64" or bool(devices_here("cuda")),
        reason="the outcomes on file are those of an x86 machine without a GPU",
    ),
]


@pytest.fixture(autouse=True)
def _names_and_sources(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    if library.lack(CMSIS_NN) is None:
        monkeypatch.setenv(library.VARIABLE, str(CMSIS_NN))
    with names_of_the_discussions():
        yield


@pytest.mark.parametrize("name", [pytest.param(name, marks=COMPILERS.get(name, ())) for name in EXAMPLES])
def test_outcome(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config) -> None:
    if (lack := lack_of(name)) is not None:
        pytest.skip(lack)
    monkeypatch.chdir(tmp_path)
    with ExitStack() as held:
        outcome = compiled(name, tmp_path, held)
    path = OUTCOMES / f"{name}.txt"
    if pytestconfig.getoption("regenerate"):
        OUTCOMES.mkdir(exist_ok=True)
        path.write_text(outcome, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == outcome


def lack_of(name: str) -> str | None:
    """What has to be installed before an example ends as on file; ``None`` if all of that is here."""
    if name == TWO_DEVICES:
        found = registry.probe("tinygrad")
        if found.usable and len(devices_here("opencl")) < 2:
            return "there are no two OpenCL devices; PoCL shows two where POCL_DEVICES is 'basic pthread'"
        return None if found.usable else found.reason
    if name == MICRO:
        if (lack := library.lack(CMSIS_NN)) is not None:
            return f"{lack}; {library.GIVE}"
        return None if find_spec("ethosu") else "Vela is not installed; pip install 'intarsia[ethos-u]'"
    return None


def compiled(name: str, folder: Path, held: ExitStack) -> str:
    """Compiles a small network for an example, runs what comes of it, and tells the outcome."""
    reader, form = EXAMPLES[name]
    Path("model.onnx").write_bytes(two_layers().SerializeToString())
    if reader is Deployment:
        Path("machines.json").write_text(json.dumps(with_workers(form, folder, held)), encoding="utf-8")
        words = ["--deployment", "machines.json"]
    else:
        words = ["--target", form if isinstance(form, str) else json.dumps(form), "--store", str(folder / "store")]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # target_host
        done = CliRunner().invoke(cli, ["compile", "model.onnx", *words, "--budget", "3"])
    lacks = [line.strip() for line in done.output.splitlines() if HARDWARE.search(line)]
    if reader is Deployment:
        assert done.exit_code == 0, done.output
        return "\n".join(["exit 0", ran_on_workers(), *lacks, ""])
    if done.exit_code == 0:
        return f"exit 0\n{ran()}\n"
    assert done.exit_code == 3, done.output
    assert Path("model.plan.yaml").exists()
    assert lacks, f"nothing that cannot be had is named:\n{done.output}"
    return "\n".join(["exit 3", *lacks, ""])


def ran() -> str:
    """Runs the artifact, here or as a program in an emulator, and says where."""
    with intarsia.load("model.intarsia") as model:
        check(model)
    triples = {step.target.options.get("mtriple") for step in Artifact("model.intarsia").plan.steps} - {None}
    return f"ran as a program for {' '.join(map(str, triples))}" if triples else "ran"


def ran_on_workers() -> str:
    """The same of a deployment."""
    with intarsia.load_deployment("model.intarsia", "machines.json") as model:
        check(model)
        return f"ran on the worker of {', '.join(stage.machine for stage in model.stages)}"


def check(model: Any) -> None:
    """Compares a model's answers with the reference's."""
    feeds = {"x": np.linspace(-1, 1, 128, dtype=np.float32).reshape(4, 32)}
    reference = ReferenceEvaluator("model.onnx")
    (wanted,) = reference.run(None, {**feeds})
    np.testing.assert_allclose(model(feeds)[str(reference.output_names[0])], np.asarray(wanted), rtol=1e-4, atol=1e-5)


def with_workers(form: Any, folder: Path, held: ExitStack) -> Any:
    """The deployment with a worker for each machine, on this one."""
    machines = {}
    for machine, config in form["machines"].items():
        worker = held.enter_context(running_worker(folder / machine))
        machines[machine] = {**config, "runtime": worker.runtime()}
    return {**form, "machines": machines}


def test_no_outcome_is_left_over() -> None:
    assert {path.stem for path in OUTCOMES.iterdir()} == set(EXAMPLES)


def test_the_page_lists_them(pytestconfig: pytest.Config) -> None:
    rows = ["| example | ends in |", "| --- | --- |"]
    for name in sorted(EXAMPLES):
        code, *lines = (OUTCOMES / f"{name}.txt").read_text(encoding="utf-8").splitlines()
        told = "; ".join(lines) if code == "exit 0" else f"exit code 3: {'; '.join(lines)}"
        rows.append(f"| [{name}](../tests/golden/threads/{name}.txt) | {told} |")
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(MARKS[0])
    written, after = rest.split(MARKS[1])
    table = "\n".join([*rows, ""])
    if pytestconfig.getoption("regenerate"):
        PAGE.write_text("".join([before, MARKS[0], table, MARKS[1], after]), encoding="utf-8")
    else:
        assert written == table
