"""Several engines in one process: ``python -m tests.conformance.in_one_process ENGINE ...``.

Each is loaded and run in the order given, then all run once more. Prints each engine's worst error as JSON.
"""

from __future__ import annotations

import json
import sys

import numpy as np

from intarsia.backends import registry
from intarsia.config.settings import RunSettings
from intarsia.graph import extract, load_model
from intarsia.graph.reference.reference import evaluate
from intarsia.runtime.environment import applied, load_environment
from intarsia.target import Target
from tests.conformance.boundary_cases import SMALL_NET

SETTINGS = RunSettings(threads=2)


def main() -> None:
    """Load, run, run again, and tell."""
    graph = load_model(SMALL_NET.model())
    model, feeds = extract(graph, graph.position), SMALL_NET.feeds("a")
    want = evaluate(graph, feeds)
    errors: dict[str, float] = {}
    runs = []
    with applied(load_environment(sys.argv[1:], SETTINGS)):
        for name in sys.argv[1:]:
            backend, target = registry.get(name), Target(name)
            artifact = backend.compile(model, target, SETTINGS)
            weights = {each: model.weights[each].array() for each in artifact.weights}
            executable = backend.load(artifact, weights, target, SETTINGS)
            inputs = {key: array.copy() for key, array in feeds.items()}
            outputs = {key: np.full_like(array, np.nan) for key, array in want.items()}
            runs.append((name, executable.bind(inputs, outputs), inputs, outputs))
            runs[-1][1]()
    for name, call, inputs, outputs in runs:
        for key, array in feeds.items():
            inputs[key][...] = array
        for array in outputs.values():
            array[...] = np.nan
        call()
        errors[name] = max(float(np.max(np.abs(outputs[key] - want[key]))) for key in want)
    sys.stdout.write(json.dumps(errors) + "\n")


if __name__ == "__main__":
    main()
