"""The model on OpenVINO, with the properties that it was measured with: take this into your own program."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
Run = Callable[[Mapping[str, Any]], dict[str, Any]]


def load() -> Run:
    """What runs the model once: arrays by input, to arrays by output."""
    # Its telemetry client would write under the home folder and send; its absence is what openvino is prepared for.
    sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]
    import openvino

    values = json.loads((FOLDER / "options.json").read_text(encoding="utf-8"))
    compiled = openvino.Core().compile_model(FOLDER / "model.xml", values["device"], values["properties"])
    request = compiled.create_infer_request()
    read, told = values["inputs"], values["outputs"]  # what no operator looks at vanished while it was converted

    def run(feeds: Mapping[str, Any]) -> dict[str, Any]:
        results = request.infer([feeds[name] for name in read])
        return {name: results[place] for place, name in enumerate(told)}

    if any(port.partial_shape.is_dynamic for port in (*compiled.inputs, *compiled.outputs)):
        return run
    # Views of the request's own memory: handing arrays over at each call costs more than copying them.
    given = {name: request.get_input_tensor(place).data for place, name in enumerate(read)}
    yielded = {name: request.get_output_tensor(place).data for place, name in enumerate(told)}

    def run_in_place(feeds: Mapping[str, Any]) -> dict[str, Any]:
        for name, view in given.items():
            view[...] = feeds[name]
        request.infer(share_outputs=True)
        return {name: view.copy() for name, view in yielded.items()}

    return run_in_place
