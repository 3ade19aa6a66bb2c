"""The model on MNN, with the options that it was measured with: take this into your own program."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).parent
Run = Callable[[Mapping[str, Any]], dict[str, Any]]


def load() -> Run:
    """What runs the model once: arrays by input, to arrays by output."""
    import MNN

    values = json.loads((FOLDER / "options.json").read_text(encoding="utf-8"))
    interpreter = MNN.Interpreter(str(FOLDER / "model.mnn"))
    interpreter.setSessionHint(*values["setSessionHint"])
    session = interpreter.createSession(values["createSession"])
    inputs = {name: tensor.getNumpyData() for name, tensor in interpreter.getSessionInputAll(session).items()}
    outputs = {name: tensor.getNumpyData() for name, tensor in interpreter.getSessionOutputAll(session).items()}

    def run(feeds: Mapping[str, Any]) -> dict[str, Any]:
        for name, view in inputs.items():  # at every call: a run reuses their memory
            np.copyto(view, feeds[name], casting="unsafe")
        if status := interpreter.runSession(session):
            raise RuntimeError(f"runSession returned {status}")
        return {name: view.copy() for name, view in outputs.items()}

    return run
