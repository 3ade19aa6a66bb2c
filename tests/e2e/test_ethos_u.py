"""A network with a region for an Ethos-U: Vela compiles it, and what is exported builds with a stub of a driver.

No Ethos-U runs anywhere here. Its numbers are those of the file before Vela, by the interpreter if it is installed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import intarsia
from intarsia.backends.c.network import prepared_of
from intarsia.backends.c.processor import Processor
from intarsia.backends.c.site import Site
from intarsia.backends.ethos_u import check, tflite, translate, vela
from intarsia.backends.lowering.passes.regions import Region, join
from intarsia.backends.lowering.program import LEAVES, Instruction, Program
from intarsia.errors import BackendUnavailableError
from intarsia.graph import extract, load_model
from intarsia.runtime import export
from networks import micro
from networks.probe import feeds as feeds_of
from tests.integer_programs import defined

STUB = """#include <stddef.h>
#include <stdint.h>

struct ethosu_driver {
    int unused;
};
struct ethosu_driver *ethosu_reserve_driver(void) { static struct ethosu_driver one; return &one; }
void ethosu_release_driver(struct ethosu_driver *driver) { (void)driver; }
int ethosu_invoke_v3(struct ethosu_driver *driver, const void *commands, const int size, uint64_t *const addresses,
                     const size_t *sizes, const int count, void *own)
{
    (void)driver, (void)addresses, (void)sizes, (void)own;
    return size > 0 && count > 1 && commands != NULL ? 0 : 1;
}
void ethos_u_failed(int status) { (void)status; }
"""


@pytest.fixture
def network(tmp_path: Path) -> Path:
    path = tmp_path / "kws.onnx"
    path.write_bytes(micro.build("kws").SerializeToString())
    return path


@pytest.mark.parametrize("name", ["kws", "ic"])
def test_the_file_before_vela_computes_what_is_defined(name: str, tmp_path: Path) -> None:
    interpreter = pytest.importorskip("ai_edge_litert.interpreter", reason="pip install 'intarsia[litert]'")
    path = tmp_path / "model.onnx"
    path.write_bytes(micro.build(name).SerializeToString())
    graph = load_model(path)
    program, known = prepared_of(extract(graph, (node.id for node in graph.nodes)))
    taken = set()
    for place, each in enumerate(program.instructions):
        operands = {slot: known[read] for slot, read in enumerate(each.reads) if read in known}
        reads = tuple(program.instructions[read] for read in each.reads)
        if each.name not in LEAVES:
            site = Site(each=each, reads=reads, known=operands, processor=Processor())
            taken |= {place} if translate.fault(site) is None else set()
    _, _, regions = join(program, known, taken)
    assert regions
    for region in regions:
        rng = np.random.default_rng(0)
        inner = region.program
        feeds = {
            key: rng.integers(-128, 128, inner.instructions[place].shape).astype(np.int8)
            for key, place in inner.inputs.items()
        }
        runner = interpreter.Interpreter(model_content=tflite.written(translate.network_of(region)))
        runner.allocate_tensors()
        for detail, array in zip(runner.get_input_details(), feeds.values(), strict=True):
            runner.set_tensor(detail["index"], array.reshape(detail["shape"]))
        runner.invoke()
        for detail, wanted in zip(runner.get_output_details(), defined(inner, feeds).values(), strict=True):
            apart = np.abs(runner.get_tensor(detail["index"]).astype(int).reshape(-1) - wanted.reshape(-1))
            assert apart.max() <= 1
            assert (apart == 0).mean() >= 0.995


def test_a_file_that_computes_something_else_is_found_out() -> None:
    pytest.importorskip("ai_edge_litert.interpreter", reason="pip install 'intarsia[litert]'")
    operands = {"a_scale": 0.1, "a_zero": 1, "b_scale": 0.2, "b_zero": 2}
    scales = {**operands, "y_zero": 3, "behind": 0, "low": -128, "high": 127}

    def region(y_scale: float) -> Region:
        made = [Instruction("input", (), {"name": f"x{number}"}, "int8", (3, 5)) for number in range(2)]
        made.append(Instruction("q_add", (0, 1), {**scales, "y_scale": y_scale}, "int8", (3, 5), ("sum",)))
        program = Program(instructions=tuple(made), outputs={"y0": 2}, constants={})
        return Region(program=program, known={}, nodes=("sum",))

    model = tflite.written(translate.network_of(region(0.3)))
    assert check.fault(region(0.3), model) is None
    reason = check.fault(region(0.4), model)
    assert reason is not None
    assert "steps off" in reason


@pytest.mark.skipif(vela.installed() is None, reason="pip install 'intarsia[ethos-u]'")
def test_a_region_is_compiled_exported_and_built_but_not_run(network: Path, tmp_path: Path) -> None:
    config = {"targets": ["ethos-u -accelerator_config=ethos-u55-128", "c"], "executor": "aot", "runtime": "crt"}
    with intarsia.compile(network, config) as model:
        report = model.report
        path, folder = tmp_path / "kws.intarsia", tmp_path / "kws"
        model.save(path)
        with pytest.raises(BackendUnavailableError, match="cannot run here, only be exported: ethos-u: estimated"):
            model(feeds_of(micro.build("kws"), 0))
        export(model, folder)
    (call,) = [each for each in report["program"]["calls"] if each["engine"] == "ethos-u"]
    assert call["estimate"]["cycles"] > 0
    assert any("estimated, not run" in remark for remark in report["remarks"])
    assert "Estimated by its compiler Vela, not run" in (folder / "kws.c").read_text(encoding="utf-8")
    if shutil.which("make") is None or shutil.which("cc") is None:
        pytest.skip("apt-get install make gcc")
    (folder / "stub.c").write_text(STUB, encoding="utf-8")
    strict = {**os.environ, "CFLAGS": "-O1 -Wall -Wextra -Wpedantic -Wconversion -Werror"}
    subprocess.run(["make", "libkws.a"], cwd=folder, check=True, capture_output=True, env=strict)
    built = ["cc", "-std=c99", "-o", "example", "main.c", "stub.c", "libkws.a", "-lm"]
    subprocess.run(built, cwd=folder, check=True, capture_output=True)
    subprocess.run([folder / "example"], check=True, capture_output=True)
