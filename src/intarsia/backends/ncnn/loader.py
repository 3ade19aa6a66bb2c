"""The model on ncnn, with the options that it was measured with: take this into your own program."""

from __future__ import annotations

import atexit
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).parent
Run = Callable[[Mapping[str, Any]], dict[str, Any]]


def load() -> Run:
    """What runs the model once: arrays by input, to arrays by output."""
    import ncnn

    values = json.loads((FOLDER / "options.json").read_text(encoding="utf-8"))
    net = ncnn.Net()
    for name, value in values["opt"].items():
        setattr(net.opt, name, value)
    # Without pools each call faults in fresh pages. They must outlive the network.
    pools = (ncnn.PoolAllocator(), ncnn.PoolAllocator())
    net.opt.blob_allocator, net.opt.workspace_allocator = pools
    atexit.register(lambda kept: net.clear(), pools)
    _check(net.load_param(str(FOLDER / "model.param")))
    _check(net.load_model(str(FOLDER / "model.bin")))

    def run(feeds: Mapping[str, Any]) -> dict[str, Any]:
        extractor = net.create_extractor()
        for border in values["inputs"]:
            array = np.ascontiguousarray(feeds[border["name"]]).reshape(border["blob_shape"])
            _check(extractor.input(border["blob"], ncnn.Mat(array).clone()))
        results = {}
        for border in values["outputs"]:
            code, mat = extractor.extract(border["blob"])
            _check(code)
            results[border["name"]] = np.array(mat).reshape(border["shape"])
        return results

    return run


def _check(code: int) -> None:
    if code != 0:
        raise RuntimeError(f"ncnn returned {code}")
