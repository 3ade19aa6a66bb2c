"""The errors of engines on quantised and half-precision models, what is allowed there, and which faults are caught.

``python -m benchmarks.tolerance [MODEL …] [--missing] [--batch N]`` adds the figures to
``benchmarks/results/tolerance.json``. No time is measured: it may run on a busy machine, in some ten minutes.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import onnx

import intarsia
from benchmarks import results_file
from intarsia.backends import registry
from intarsia.graph import load_model
from intarsia.runtime.executors.drawn_feeds import graph_feeds
from intarsia.runtime.verify import deviations
from networks import quantised
from networks.quantised.answers import unoptimised
from networks.quantised.faults import FAULTS, planted

RESULTS = Path(__file__).parent / "results" / "tolerance.json"
WRONG = Path(__file__).parents[1] / "tests" / "wrong_engine"
"""The plug-in engine that computes a model with a fault planted in it."""
LEVELS = tuple(f"onnxruntime -optimization-level={level}" for level in ("disable", "all"))
ENGINES = (*LEVELS, "openvino", "mnn", "ncnn", "winograd")
_ASKED = "wrong -fault="
Json = dict[str, Any]


def measure(name: str, folder: Path, batch: int = 1) -> Json:
    """Compile one model with every engine, and with an engine for each fault that it has a place for.

    Raises:
        IntarsiaError: It cannot be compiled.
    """
    model = quantised.build(name, batch)
    effects = _effects(model)
    targets = [*ENGINES, *(f"{_ASKED}{fault}" for fault in effects)]
    with intarsia.compile(model, targets, partition="single", budget=1, store=folder / "store.sqlite") as compiled:
        report = compiled.report
    rows = {row["target"]: row for row in report["singles"]}
    return {
        "batch": batch,
        "ships": report["chosen"],
        "verified": report["verified"],
        "engines": {target: verdict(rows[target]) for target in ENGINES},
        "faults": {fault: {"effect": effect, **verdict(rows[_ASKED + fault])} for fault, effect in effects.items()},
    }


def _effects(model: onnx.ModelProto) -> dict[str, float]:
    """How far each fault moves the outputs that the model has a place for, computed without us."""
    feeds = graph_feeds(load_model(model), 0)
    right = unoptimised(model, feeds)
    effects = {}
    for fault in FAULTS:
        faulty = planted(model, fault)
        if faulty is not None:
            effects[fault] = max(found.error for found in deviations(unoptimised(faulty, feeds), right))
    return effects


def verdict(row: Mapping[str, Any]) -> Json:
    """The error of one engine, what is allowed, and whether it is right; why, if nothing could be compared."""
    failure = row.get("failure")
    if failure is not None and failure["stage"] != "verify":
        return {"failed": failure["stage"], "reason": failure["reason"]}
    return {"error": row.get("max_rel_error"), "allowed": row.get("allowed_error"), "right": failure is None}


def told(found: Mapping[str, Any]) -> str:
    """One line about a model."""
    engines = {target: each for target, each in found["engines"].items() if "right" in each}
    showing = [fault for fault, each in found["faults"].items() if each["effect"] > 0]
    missed = [fault for fault in showing if found["faults"][fault].get("right")]
    lines = ", ".join(f"{target} {_figures(each)}" for target, each in engines.items())
    caught = f"{len(showing) - len(missed)} of {len(showing)} faults caught"
    return f"{lines}; {caught}{f', missed: {_list(found, missed)}' if missed else ''}"


def _list(found: Mapping[str, Any], faults: Iterable[str]) -> str:
    return ", ".join(f"{fault} {_figures(found['faults'][fault])}" for fault in faults)


def _figures(each: Mapping[str, Any]) -> str:
    known = (each["error"], each["allowed"])
    error, allowed = ("?" if figure is None else f"{figure:.2g}" for figure in known)
    return f"{error} of {allowed} {'right' if each['right'] else 'WRONG'}"


def main() -> None:
    """Run what is named, or all."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tolerance", description=__doc__.partition("\n")[0])
    parser.add_argument("models", nargs="*", metavar="MODEL", help="all if left out")
    parser.add_argument("--missing", action="store_true", help="only those without figures")
    parser.add_argument("--batch", type=int, default=1, metavar="N", help="of each model")
    parser.add_argument("--results", type=Path, default=RESULTS, metavar="FILE", help="where the figures are")
    given = parser.parse_args()
    names = list(given.models or quantised.NAMES)
    if unknown := [name for name in names if name not in quantised.NAMES]:
        parser.error(f"no model {', '.join(unknown)}; there are {', '.join(quantised.NAMES)}")
    if given.missing:
        names = results_file.missing(results_file.load(given.results), names)
    sys.path.append(str(WRONG))  # worker processes get this path too
    registry.refresh()
    results_file.run(given.results, names, partial(measure, batch=given.batch), told)


if __name__ == "__main__":
    main()
