"""What a model answers, from outside: by ONNX Runtime, or by the reference where that has no kernels, as for bf16."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnxruntime
from onnxruntime.capi.onnxruntime_pybind11_state import NotImplemented as NoKernel

from intarsia.backends.onnxruntime.unsigned_weights import with_unsigned_weights
from intarsia.graph import load_model
from intarsia.graph.reference.reference import evaluate

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    import onnx


def unoptimised(model: onnx.ModelProto, feeds: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The outputs, computed without optimisation, and exactly on a processor without VNNI too."""
    content = with_unsigned_weights(model.SerializeToString(), {})
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    try:
        plain = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    except NoKernel:
        return evaluate(load_model(model), feeds)
    return dict(zip([value.name for value in plain.get_outputs()], plain.run(None, dict(feeds)), strict=True))


def exact_session(model: bytes | str) -> onnxruntime.InferenceSession:
    """An optimised session of a model or its file, that adds integer products exactly on every processor."""
    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.x64quantprecision", "1")
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
