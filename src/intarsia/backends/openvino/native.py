"""A model in OpenVINO's own format, whose constants are where the artifact has them: for loading without Python.

The format names for each constant an offset in a file of weights. Here that file is the artifact itself, so weights are
stored once, and mapped.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

from intarsia.backends.contract import NativeRequest, guard
from intarsia.backends.openvino.model import engine, read_model
from intarsia.backends.openvino.rewrites import fixed
from intarsia.errors import LoadError
from intarsia.files import scratch

if TYPE_CHECKING:
    import numpy as np

_NAME = "openvino"
MODEL, CONSTANTS = "model.xml", "constants.bin"
_ALIGNED = 64
_MARK = "intarsia weight "


def native_model(request: NativeRequest) -> str:
    """Put the model and its own constants onto the request's files; the entry of the model."""
    artifact, weights, files = request.artifact, request.weights, request.files
    with guard(LoadError, _NAME), scratch() as folder:
        model, held = read_model(artifact, weights)
        _mark(model, {name: weights[name] for name in artifact.weights})
        path = folder / MODEL
        engine().serialize(fixed(model), path, path.with_suffix(".bin"))
        text, content = path.read_bytes(), path.with_suffix(".bin").read_bytes()
        del model, held
    tree = ET.fromstring(text)
    own, places = bytearray(), []
    for layer in tree.iter("layer"):
        data = layer.find("data") if layer.get("type") == "Const" else None
        if data is None:
            continue
        name = layer.get("name", "")
        stored = files.weight(artifact.weights[_place_in(name)]) if name.startswith(_MARK) else None
        if stored is not None:
            data.set("offset", str(stored))
        else:
            own += bytes(-len(own) % _ALIGNED)
            places.append((data, len(own)))
            start = int(data.get("offset", "0"))
            own += content[start : start + int(data.get("size", "0"))]
    first = files.add(CONSTANTS, bytes(own))
    for data, offset in places:
        data.set("offset", str(first + offset))
    files.add(MODEL, ET.tostring(tree, encoding="utf-8", xml_declaration=True))
    return files.entry(MODEL)


def _place_in(name: str) -> int:
    """Of a constant that `_mark` named. OpenVINO puts a number behind a name that several have."""
    return int(name.removeprefix(_MARK).partition("_")[0])


def _mark(model: Any, weights: Mapping[str, np.ndarray]) -> None:
    """Name the constants that lie over weights by the place of the weight."""
    places: dict[tuple[int, int], int] = {}
    for place, array in enumerate(weights.values()):
        places.setdefault((array.ctypes.data, array.nbytes), place)
    for node in model.get_ops():
        if node.get_type_name() != "Constant":
            continue
        found = places.get((node.data.ctypes.data, node.data.nbytes))
        if found is not None:
            node.set_friendly_name(f"{_MARK}{found}")
