"""Calls an artifact at lengths in any order, in a process of its own, whose memory nothing else has grown.

    python -m tests.e2e.any_lengths ARTIFACT MODEL LONGEST CALLS

``length`` is what is open of the model's inputs. Prints one line of JSON: by how many bytes the process has grown since
a fifth of the calls, and how many answers were held against ONNX Runtime's.
"""

from __future__ import annotations

import json
import sys

import numpy as np
import onnxruntime
import psutil

import intarsia


def feeds_at(session: onnxruntime.InferenceSession, rng: np.random.Generator, length: int) -> dict[str, np.ndarray]:
    """Random inputs at this length; another open dimension is 1."""
    sizes = {"length": length}
    shapes = {
        value.name: [size if isinstance(size, int) else sizes.get(size, 1) for size in value.shape]
        for value in session.get_inputs()
    }
    return {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}


def main() -> None:
    artifact, source, longest, calls = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    session = onnxruntime.InferenceSession(source, providers=["CPUExecutionProvider"])
    rng, process = np.random.default_rng(2), psutil.Process()
    lengths = [1, longest, 2, 64, 1, 65, *rng.integers(1, longest, size=calls, endpoint=True).tolist()]
    settled = compared = 0
    with intarsia.load(artifact) as model:
        for number, length in enumerate(lengths):
            feeds = feeds_at(session, rng, length)
            answer = model(feeds)["y"]
            if number < 6 or number % 50 == 0:
                np.testing.assert_allclose(answer, session.run(["y"], feeds)[0], rtol=1e-3, atol=1e-4)
                compared += 1
            if number == len(lengths) // 5:
                settled = process.memory_info().rss
        sys.stdout.write(json.dumps({"grew": process.memory_info().rss - settled, "compared": compared}) + "\n")


if __name__ == "__main__":
    main()
