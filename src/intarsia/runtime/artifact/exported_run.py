"""Runs the model beside this file on its engine; of packages it needs numpy and the engine alone."""

# Intarsia copies this file as it stands, so it imports nothing of ours.

from __future__ import annotations

import argparse
import json
import os
import runpy
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

FOLDER = Path(__file__).parent
SEED = 0
WARM = 3


def prepared() -> dict[str, Any]:
    """What the files are, with the variables set that the engine reads while its libraries load."""
    facts: dict[str, Any] = json.loads((FOLDER / "run.json").read_text(encoding="utf-8"))
    for name, value in facts["environment"].items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    return facts


def seeded(inputs: list[dict[str, Any]], seed: int = SEED) -> dict[str, np.ndarray]:
    """Inputs at random: normal floats, integers and booleans of 0 and 1."""
    rng = np.random.default_rng(seed)
    feeds = {}
    for value in inputs:
        dtype = np.dtype(value["dtype"])
        drawn = rng.integers(0, 2, value["shape"]) if dtype.kind in "biu" else rng.standard_normal(value["shape"])
        feeds[value["name"]] = np.asarray(drawn).astype(dtype)
    return feeds


def timed(run: Callable[[dict[str, np.ndarray]], Any], feeds: dict[str, np.ndarray], runs: int) -> float:
    """Median milliseconds of a run."""
    spent = []
    for _ in range(WARM + runs):
        start = time.perf_counter_ns()
        run(feeds)
        spent.append((time.perf_counter_ns() - start) / 1e6)
    return median(spent[WARM:])


def saved(path: Path, array: np.ndarray) -> None:
    """Write an array; the file appears whole or not at all."""
    draft = path.with_name(f".{os.getpid()}.{path.name}")
    try:
        with draft.open("wb") as file:
            np.save(file, array)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def main() -> None:
    """Run once and show the outputs, or write them; with ``--runs`` time it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--input", metavar="NAME=FILE.npy", action="append", default=[], help="others are at random")
    parser.add_argument("--output", metavar="DIR", type=Path, help="write each output as DIR/NUMBER.npy")
    parser.add_argument("--runs", metavar="N", type=int, default=0, help="time so many runs")
    arguments = parser.parse_args()
    facts = prepared()
    run = runpy.run_path(str(FOLDER / "loader.py"))["load"]()
    feeds = seeded(facts["inputs"])
    feeds |= {name: np.load(file) for name, _, file in (given.partition("=") for given in arguments.input)}
    results = run(feeds)
    for number, value in enumerate(facts["outputs"]):
        array = np.asarray(results[value["name"]])
        print(f"{value['name']}: {array.dtype}{list(array.shape)}")
        if arguments.output is not None:
            arguments.output.mkdir(parents=True, exist_ok=True)
            saved(arguments.output / f"{number}.npy", array)
    if arguments.runs > 0:
        print(f"{timed(run, feeds, arguments.runs):.4f} ms, the median of {arguments.runs} runs")


if __name__ == "__main__":
    main()
