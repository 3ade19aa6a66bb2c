"""MLPerf Tiny's networks as C for microcontrollers: ``python -m benchmarks.microcontrollers``.

Memory, code and instructions of three compositions on two emulated boards: our own kernels alone, CMSIS-NN wherever it
has a function, and the plan that counting chooses. Beside them stand the activation floor, the arena that TensorFlow
Lite for Microcontrollers asks for on the same network, and what microTVM published. Instructions are counted in QEMU
and are not cycles; nothing here is timed, so a second run writes the same file.

What cannot be measured here is ``null``, and ``absent`` says why. CMSIS-NN is looked for where INTARSIA_CMSIS_NN says;
``--tflite-micro`` names a Python that has the package tflite-micro.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from benchmarks import tflite_arena
from intarsia.backends import registry
from intarsia.backends.c.choose import kernels_for
from intarsia.backends.c.network import prepared_of
from intarsia.backends.c.processor import Processor
from intarsia.backends.c.site import Site
from intarsia.backends.contract.source import WritesSource
from intarsia.codegen.boards.board import EMULATED
from intarsia.codegen.module import Kernel, SourceModule
from intarsia.config import CompilationConfig
from intarsia.cost.reference.reference import reference_values
from intarsia.cost.reference.reference_io import recorded_tolerances, recorded_values
from intarsia.errors import IntarsiaError
from intarsia.graph import Graph, extract, load_model
from intarsia.partitioning.partitioning import Partitioning
from intarsia.runtime.aot.figures import build_facts
from intarsia.runtime.aot.place import place_of
from intarsia.runtime.aot.program import EmulatedProgram
from intarsia.runtime.aot.writing import Written, write_project
from intarsia.search.boards.answers import Answers
from intarsia.search.boards.candidates import Candidates, Offer, candidates_of
from intarsia.search.boards.placement import Placement
from intarsia.search.boards.placement import place as plan_by_counting
from intarsia.target import Target
from networks import micro

RESULTS = Path(__file__).parent / "results" / "microcontrollers.json"
NETWORKS = ("ad", "kws", "ic", "vww")
BOARDS = ("mps2-an386", "mps3-an547")
OWN, CMSIS = "c", "cmsis-nn"
COMPOSITIONS = {"own": (OWN,), "cmsis": (CMSIS, OWN), "chosen": (CMSIS, OWN)}
"""The engines of each composition, the most preferred first."""
MICROTVM = {"ad": 1672, "kws": 17744, "ic": 66624, "vww": 65312}
"""Bytes of workspace of microTVM with CMSIS-NN."""
MICROTVM_SOURCE = (
    "OctoML's submission to MLPerf Tiny v1.0, closed division: https://mlcommons.org/en/inference-tiny-10/"
)
_VIEWS = frozenset({"Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity"})
Json = dict[str, Any]


def activation_floor(graph: Graph) -> int:
    """The most bytes of quantised values that are alive at one time if none lies over another.

    What a quantiser writes is a value; the operators between two quantisers are one step, which reads values and writes
    one. Inputs and outputs in float are the caller's.
    """
    of: dict[str, frozenset[str]] = {}
    steps: list[tuple[frozenset[str], str]] = []
    for node in graph.nodes:
        read = frozenset[str]().union(*(of.get(name, frozenset()) for name in node.reads))
        for name in filter(None, node.outputs):
            if node.op_type == "QuantizeLinear":
                steps.append((read, name))
                of[name] = frozenset({name})
            else:
                of[name] = read
    last = {name: place for place, (read, _) in enumerate(steps) for name in read}
    alive: set[str] = set()
    most = 0
    for place, (read, name) in enumerate(steps):
        alive |= {name, *read}
        most = max(most, sum(_bytes(graph, each) for each in alive))
        alive -= {each for each in alive if last.get(each, -1) <= place and each != name}
    return most


def _bytes(graph: Graph, name: str) -> int:
    shape = graph.values[name].shape
    assert shape is not None
    return int(np.prod([int(size) for size in shape]))


def measure(name: str, folder: Path, tflite_python: str | None) -> Json:
    """All figures of a network."""
    path = folder / f"{name}.onnx"
    model = micro.build(name)
    onnx.save(model, path)
    graph = load_model(path)
    found: Json = {"floor": activation_floor(graph), "microtvm": MICROTVM[name], "boards": {}}
    values = reference_values(folder, graph, (), seed=0)
    inputs = recorded_values(values, graph.inputs)
    answers = Answers(values=recorded_values(values, graph.outputs), tolerances=recorded_tolerances(values))
    found["tflite_micro"] = tflite_arena.measure(graph, folder, tflite_python, inputs)
    for board in BOARDS:
        print(f"{name} on {board}", flush=True)
        found["boards"][board] = _on_board(name, graph, inputs, answers, board)
    return found


def _on_board(name: str, graph: Graph, inputs: Mapping[str, np.ndarray], answers: Answers, board: str) -> Json:
    """Each composition: its figures, or why there are none."""
    host = Target(f"c -board={board} -mcpu={EMULATED[board].processors[0]}")
    program, known = prepared_of(extract(graph, (node.id for node in graph.nodes)))
    offers: dict[str, Offer] = {}
    library, absent = None, None
    try:
        offers[CMSIS], library = _cmsis_nn()
    except IntarsiaError as error:
        absent = str(error)
    offers[OWN] = kernels_for
    found: Json = {}
    try:
        chosen = plan_by_counting(
            program,
            known,
            Processor.of(host),
            offers,
            EMULATED[board],
            inputs,
            answers,
            rest={OWN: kernels_for},
            library=library,
        )
    except IntarsiaError as error:
        return {composition: {"absent": str(error)} for composition in COMPOSITIONS}
    every = candidates_of(program, known, Processor.of(host), offers, {OWN: kernels_for})
    for composition, engines in COMPOSITIONS.items():
        if absent and CMSIS in engines:
            found[composition] = {"absent": absent}
            continue
        numbers = _numbers(composition, engines, every, chosen)
        found[composition] = _built(name, graph, every.module(numbers), host, engines, inputs)
    return found


def _cmsis_nn() -> tuple[Offer, Path]:
    """What CMSIS-NN has for an instruction, and the folder of its sources.

    Raises:
        BackendUnavailableError: Its sources are not here.
    """
    target = Target(CMSIS)
    backend = registry.of(target)
    assert isinstance(backend, WritesSource)
    folder = backend.library(target)
    assert folder is not None

    def offer(site: Site) -> Sequence[Kernel]:
        return backend.kernels(site, target)

    return offer, folder


def _numbers(composition: str, engines: Sequence[str], every: Candidates, chosen: Placement) -> dict[int, int]:
    """The candidate of each instruction: the least of all, or the least of the first engine that has one."""
    if composition == "chosen":
        return {each.place: each.chosen for each in chosen.choices}
    found = {}
    for each in chosen.choices:
        engine = next(name for name in engines if any(of.engine == name for of in each.candidates))
        least = each.least(engine)
        found[each.place] = next(
            number
            for number, (of, count) in enumerate(zip(each.candidates, each.counts, strict=True))
            if of.engine == engine and (least is None or getattr(count, "count", None) == least)
        )
    assert found.keys() == every.of.keys()
    return found


def _built(
    name: str,
    graph: Graph,
    module: SourceModule,
    host: Target,
    engines: Sequence[str],
    inputs: Mapping[str, np.ndarray],
) -> Json:
    """What the project that is exported with these kernels executes, and its bytes.

    Bytes are by the linker's map and the compiler's stack usage.
    """
    config = CompilationConfig.of({"targets": list(engines), "host": str(host), "executor": "aot", "runtime": "crt"})
    where = place_of(host, [Target(each) for each in engines])
    whole = Partitioning.of(graph, [(Target(engines[-1]), tuple(node.id for node in graph.nodes))])
    written = Written(graph=graph, partitioning=whole, config=config, place=where, name=name)
    project, layout = write_project(written, lambda *_: module)
    facts = build_facts(project, where)
    program = EmulatedProgram(project, where)
    try:
        executed = program.count([np.array(inputs[value.name]) for value in program.inputs])
    finally:
        program.close()
    return {
        "instructions": executed,
        "workspace_bytes": layout.workspace,
        "weights_bytes": project.interface.weights_bytes,
        "code_bytes": facts["code_bytes"],
        "stack_bytes": facts["stack_bytes"],
    }


def rows(found: Mapping[str, Any]) -> Iterator[str]:
    """What is printed of a network."""
    yield f"  floor {found['floor']:,}, microTVM {found['microtvm']:,}, TFLM {found['tflite_micro']}"
    for board, compositions in found["boards"].items():
        for composition, figures in compositions.items():
            yield f"  {board} {composition}: {figures}"


def main() -> None:
    """Measure, and write the file."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.microcontrollers", description=__doc__)
    parser.add_argument("networks", nargs="*", default=NETWORKS, metavar="NETWORK", help="all four if left out")
    parser.add_argument("--tflite-micro", metavar="PYTHON", help="a Python with the package tflite-micro")
    parser.add_argument("--results", type=Path, default=RESULTS, metavar="FILE", help="where the figures go")
    given = parser.parse_args()
    if unknown := sorted(set(given.networks) - set(NETWORKS)):
        parser.error(f"no network {', '.join(unknown)}; there are {', '.join(NETWORKS)}")
    results: Json = {"networks": {}}
    if given.results.exists():
        results = json.loads(given.results.read_text(encoding="utf-8"))
    for name in given.networks:
        with tempfile.TemporaryDirectory() as folder:
            results["networks"][name] = measure(name, Path(folder), given.tflite_micro)
        print("\n".join(rows(results["networks"][name])), flush=True)
        results |= {"unit": "instructions in QEMU, not cycles", "microtvm_source": MICROTVM_SOURCE}
        given.results.write_text(f"{json.dumps(results, indent=1)}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
