"""Checks the file before Vela: LiteRT's interpreter, where it is installed, against what instructions are defined as.

The interpreter is run in a process of its own: ``python -m intarsia.backends.ethos_u.check FILE FEEDS RESULTS``.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from intarsia.codegen import processes
from intarsia.errors import CompileError
from intarsia.files import scratch

if TYPE_CHECKING:
    from intarsia.backends.lowering.passes.regions import Region

PACKAGE = "ai_edge_litert"
TIMEOUT_S = 300.0
MOST_STEPS, LEAST_EQUAL = 1, 0.995
"""How many steps an element may be off, and what share is equal."""


def fault(region: Region, model: bytes) -> str | None:
    """How the interpreter's answers are wrong, for inputs at random; ``None`` if they are right, or it is not here.

    Raises:
        CompileError: The interpreter refuses the file.
        BackendTimeoutError: It did not end in time.
    """
    if find_spec(PACKAGE) is None:
        return None
    rng = np.random.default_rng(0)
    made = region.program.instructions
    feeds = {
        name: rng.integers(-128, 128, made[place].shape).astype(np.int8)
        for name, place in region.program.inputs.items()
    }
    wanted = _defined(region, feeds)
    for name, found in zip(wanted, _interpreted(model, feeds), strict=True):
        apart = np.abs(found.astype(np.int64).reshape(-1) - wanted[name].astype(np.int64).reshape(-1))
        if apart.size and (apart.max() > MOST_STEPS or (apart == 0).mean() < LEAST_EQUAL):
            return f"the file for Vela answers up to {apart.max()} steps off, and {(apart == 0).mean():.1%} alike"
    return None


def _defined(region: Region, feeds: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    from intarsia.backends.lowering.integer.reference import computed

    values: dict[int, np.ndarray] = dict(region.known)
    for place, each in enumerate(region.program.instructions):
        if each.name == "input":
            values[place] = feeds[each.attributes["name"]]
        elif each.name == "reshape":
            values[place] = values[each.reads[0]].reshape(each.shape)
        elif place not in values:
            values[place] = computed(each.name, [values[read] for read in each.reads], each.attributes)
    return {name: values[place] for name, place in region.program.outputs.items()}


def _interpreted(model: bytes, feeds: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    with scratch() as folder:
        file, given, results = (folder / name for name in ("region.tflite", "feeds.npz", "results.npz"))
        with file.open("wb") as opened:
            opened.write(model)
        np.savez(given, *feeds.values())
        command = [sys.executable, "-m", __name__, str(file), str(given), str(results)]
        done = processes.run(command, name="litert", timeout_s=TIMEOUT_S, folder=folder)
        if done.returncode != 0:
            raise CompileError("litert", f"{done.stdout}{done.stderr}".strip()[-1000:])
        with np.load(results) as arrays:
            return [arrays[f"arr_{number}"] for number in range(len(arrays.files))]


def main(file: Path, feeds: Path, results: Path) -> None:
    """Run the interpreter on a file, with inputs from a file."""
    from ai_edge_litert.interpreter import Interpreter

    runner = Interpreter(model_path=str(file))
    runner.allocate_tensors()
    with np.load(feeds) as arrays:
        for number, each in enumerate(runner.get_input_details()):
            runner.set_tensor(each["index"], arrays[f"arr_{number}"].reshape(each["shape"]))
    runner.invoke()
    np.savez(results, *(runner.get_tensor(each["index"]) for each in runner.get_output_details()))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]))
