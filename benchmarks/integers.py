"""How often integers agree with ONNX Runtime's, and that with itself: ``python -m benchmarks.integers``.

ResNet-18 with weights that we drew, quantised by ONNX Runtime's static quantiser, through the engine `c` and through
ONNX Runtime as it comes, kept in int8, and without its optimisations. Writes ``benchmarks/results/integers.json``.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime

import intarsia
from networks.probe import feeds
from networks.quantised.deep import quantised, resnet18

RESULTS = Path(__file__).parent / "results" / "integers.json"
SEEDS = 3
PAIRS = {
    "c, ONNX Runtime in integers": ("c", "integers"),
    "c, ONNX Runtime": ("c", "default"),
    "ONNX Runtime, without its optimisations": ("default", "plain"),
}
"""What is compared."""
Json = Mapping[str, Any]


def rows(found: Json) -> Iterator[tuple[str, ...]]:
    """Of each form, the share of outputs that are equal, and the most steps that one is off."""
    yield ("activations", "a scale for each", *PAIRS)
    for entry in found["forms"]:
        shares = (f"{100 * each['equal']:.1f} %, {each['most']}" for each in (entry["pairs"][name] for name in PAIRS))
        yield (entry["activations"], "channel" if entry["per_channel"] else "tensor", *shares)


def measure(dtype: str, *, per_channel: bool) -> dict[str, Any]:
    """One form: its pairs over all inputs."""
    model = quantised(resnet18(), dtype, per_channel=per_channel)
    made = intarsia.compile(model, target="c")
    answers: dict[str, list[np.ndarray]] = {"c": []}
    inputs = [feeds(model, seed) for seed in range(SEEDS)]
    for given in inputs:
        (found,) = made(given).values()
        answers["c"].append(found)
    for name, session in _sessions(model).items():
        answers[name] = [np.asarray(session.run(None, given)[0]) for given in inputs]
    stacked = {name: np.stack(each).astype(np.int64) for name, each in answers.items()}
    pairs = {}
    for name, (one, other) in PAIRS.items():
        apart = np.abs(stacked[one] - stacked[other])
        pairs[name] = {"equal": float((apart == 0).mean()), "most": int(apart.max())}
    return {"activations": dtype, "per_channel": per_channel, "pairs": pairs}


def _sessions(model: onnx.ModelProto) -> dict[str, onnxruntime.InferenceSession]:
    kinds = {name: onnxruntime.SessionOptions() for name in ("default", "integers", "plain")}
    kinds["integers"].add_session_config_entry("session.qdqisint8allowed", "1")
    kinds["plain"].graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    content = model.SerializeToString()
    return {
        name: onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
        for name, options in kinds.items()
    }


def main() -> None:
    """Measure all forms."""
    logging.getLogger().setLevel(logging.ERROR)
    forms = [measure(dtype, per_channel=by) for dtype, by in product(("uint8", "int8"), (False, True))]
    found = {"onnxruntime": onnxruntime.__version__, "inputs": SEEDS, "forms": forms}
    RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    for row in rows(found):
        print(" | ".join(row))


if __name__ == "__main__":
    main()
