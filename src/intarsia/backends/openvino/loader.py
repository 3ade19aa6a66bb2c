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
    if any(port.partial_shape.is_dynamic for port in (*compiled.inputs, *compiled.outputs)):
        return _of_any_size(request, values["inputs"], values["outputs"])
    # Views of the request's own memory: handing arrays over at each call costs more than copying them.
    given = {name: request.get_input_tensor(place).data for place, name in enumerate(values["inputs"])}
    results = {name: request.get_output_tensor(place).data for place, name in enumerate(values["outputs"])}

    def run(feeds: Mapping[str, Any]) -> dict[str, Any]:
        for name, view in given.items():  # what no operator looks at vanished while the model was converted
            view[...] = feeds[name]
        request.infer(share_outputs=True)
        return {name: view.copy() for name, view in results.items()}

    return run


def _of_any_size(request: Any, inputs: list[str], outputs: list[str]) -> Run:
    """What runs a model of open sizes: the request's memory takes the shape of each call."""

    def run(feeds: Mapping[str, Any]) -> dict[str, Any]:
        for place, name in enumerate(inputs):
            given = request.get_input_tensor(place)
            given.shape = feeds[name].shape
            given.data[...] = feeds[name]
        request.infer(share_outputs=True)
        return {name: request.get_output_tensor(place).data.copy() for place, name in enumerate(outputs)}

    return run
