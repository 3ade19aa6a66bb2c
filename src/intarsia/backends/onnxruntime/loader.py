"""The model on ONNX Runtime, with the options that it was measured with: take this into your own program."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
Run = Callable[[Mapping[str, Any]], dict[str, Any]]


def load() -> Run:
    """What runs the model once: arrays by input, to arrays by output."""
    import onnxruntime

    values = json.loads((FOLDER / "options.json").read_text(encoding="utf-8"))
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, values["graph_optimization_level"])
    options.execution_mode = getattr(onnxruntime.ExecutionMode, values["execution_mode"])
    options.intra_op_num_threads = values["intra_op_num_threads"]
    options.inter_op_num_threads = values["inter_op_num_threads"]
    for name, value in values["session_config"].items():
        options.add_session_config_entry(name, value)
    for library in values["custom_ops_libraries"]:
        options.register_custom_ops_library(str(FOLDER / library))
    session = onnxruntime.InferenceSession(str(FOLDER / "model.onnx"), options, providers=values["providers"])
    read = {value.name for value in session.get_inputs()}
    names = [value.name for value in session.get_outputs()]

    def run(feeds: Mapping[str, Any]) -> dict[str, Any]:
        given = {name: array for name, array in feeds.items() if name in read}
        return dict(zip(names, session.run(names, given), strict=True))

    return run
