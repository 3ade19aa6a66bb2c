"""CMSIS-NN's functions against the definition of the instructions, here and on emulated boards; and a whole network.

Its sources are not a part of the project: `INTARSIA_CMSIS_NN` names them, or they lie beside it.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest

import intarsia
from intarsia.backends.c.network import network, prepared
from intarsia.backends.c.processor import Processor
from intarsia.backends.c.site import NoKernelError, Site
from intarsia.backends.cmsis_nn import choose, library
from intarsia.codegen import harness
from intarsia.codegen.boards.board import EMULATED
from intarsia.codegen.module import Kernel
from intarsia.codegen.programs import program_of
from networks import micro
from networks.probe import feeds as feeds_of
from networks.quantised.answers import exact_session
from tests.cli_fakes import invoke
from tests.e2e.test_microcontroller_networks import step_of
from tests.integer_programs import defined, program

BESIDE = Path(__file__).parents[3] / "shared" / "third-party" / "cmsis-nn"
SOURCES = Path(os.environ.get(library.VARIABLE) or BESIDE)
pytestmark = [
    pytest.mark.skipif(
        library.lack(SOURCES) is not None,
        reason=f"CMSIS-NN is not here: git clone https://github.com/ARM-software/CMSIS-NN, and name it in "
        f"{library.VARIABLE}",
    )
]
SHORT = {("kws", "mps3-an547"), ("ic", "mps2-an386")}
"""Networks with boards that every run of the tests has; ``pytest -m large`` has the others."""
needs_board = pytest.mark.skipif(
    shutil.which("arm-none-eabi-gcc") is None or shutil.which("qemu-system-arm") is None,
    reason="apt-get install gcc-arm-none-eabi libnewlib-arm-none-eabi qemu-system-arm",
)
PROCESSORS = {
    "": Processor(),
    "mps2-an385": Processor(architecture="arm", pointer_bytes=4),
    "mps2-an386": Processor(architecture="arm", pointer_bytes=4, has_dsp=True),
    "mps3-an547": Processor(architecture="arm", pointer_bytes=4, has_dsp=True, has_mve=True),
}
# The library itself shifts negative numbers to the left, which C99 leaves open.
SANITIZED = ("-fsanitize=address,undefined", "-fno-sanitize=shift", "-fno-sanitize-recover=all", "-O1")


def check(seed: int, board: str) -> None:
    made, feeds = program(seed, 30)
    used = []

    def kernel_for(site: Site) -> tuple[str, Kernel] | None:
        try:
            kernels = choose.kernels_for(site)
        except NoKernelError:
            return None
        kernel = kernels[seed % len(kernels)]
        used.append(site.each.name)
        text = "\n".join(each.text for each in kernel.functions)
        return "cmsis-nn", replace(kernel, sources=library.files_of(text, SOURCES))

    module = network(*prepared(made, made.known), PROCESSORS[board], kernel_for)
    built = program_of(module, SOURCES)
    if not board:
        built = replace(built, what=replace(built.what, flags=SANITIZED, link=SANITIZED))
    ran = harness.run(built, [[feeds[name] for name in module.inputs]], board=EMULATED.get(board))
    assert {"q_conv_last", "q_dense", "q_add", "q_mul", "q_pool_max_last", "q_pool_avg_last", "q_softmax"} <= set(used)
    wanted = defined(made, feeds)
    for name, found in zip(module.outputs, ran.results[0], strict=True):
        each = made.instructions[made.outputs[name]]
        apart = np.abs(found.astype(int) - wanted[name])
        is_rounded = each.name not in ("q_pool_max", "q_pool_avg")
        assert apart.max() <= int(is_rounded), (name, str(each))
        # Layers round once where the definition rounds twice: for one sum or none of a channel that is another step.
        many = apart.size / 10 if each.name in ("q_softmax", "q_add") else max(1.0, apart.size / 200)
        assert (apart > 0).sum() <= many, (name, str(each))


def test_functions_compute_what_is_defined_on_this_machine_without_a_finding() -> None:
    check(1, "")


@needs_board
@pytest.mark.parametrize("board", ["mps2-an385", "mps2-an386", "mps3-an547"])
@pytest.mark.parametrize("seed", [2, pytest.param(3, marks=pytest.mark.large)])
def test_functions_compute_what_is_defined_on_boards(board: str, seed: int) -> None:
    check(seed, board)


PRODUCT = [
    pytest.param(name, board, marks=() if (name, board) in SHORT else pytest.mark.large)
    for name in micro.QUANTISED
    for board in ("mps2-an386", "mps3-an547")
]


@needs_board
@pytest.mark.parametrize(("name", "board"), PRODUCT)
def test_a_network_by_its_functions_and_ours_agrees_with_onnx_runtime(
    name: str, board: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(library.VARIABLE, str(SOURCES))
    model, path, artifact = micro.build(name), tmp_path / f"{name}.onnx", tmp_path / f"{name}.intarsia"
    onnx.save(model, path)
    config = {"targets": ["cmsis-nn", f"arm/{board}"], "executor": "aot", "runtime": "crt"}
    with intarsia.compile(path, config) as compiled:
        counted = compiled.report["program"]["instructions"]
        compiled.save(artifact)
    assert set(counted["alone"]) == {"cmsis-nn", "c"}
    assert counted["total"] <= min(counted["alone"].values())
    assert 0.99 * counted["total"] <= counted["program"] <= 1.1 * counted["total"]  # with what is moved
    done = invoke("verify", str(artifact), "--json")
    assert done.exit_code == 0, done.output
    session, step = exact_session(str(path)), step_of(model)
    with intarsia.load(artifact) as loaded:
        for seed in range(2):
            feeds = feeds_of(model, seed)
            (wanted,) = session.run(None, feeds)
            (found,) = loaded(feeds).values()
            steps = np.abs(np.rint((found - wanted) / step))
            assert steps.max() <= 1
            assert (steps == 0).mean() >= 0.9  # of as few as two scores
