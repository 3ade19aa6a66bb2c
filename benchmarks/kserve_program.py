"""A program for an environment with ``kserve`` and ONNX Runtime: serves models by kserve's own server.

``python kserve_program.py HTTP_PORT GRPC_PORT THREADS NAME=MODEL.onnx …`` serves each model by one session of so many
threads, as a custom model of kserve does it, and runs until it is ended. Nothing of Intarsia is here.
"""

from __future__ import annotations

import logging
import sys
from typing import Any

import kserve
import numpy as np
import onnxruntime as ort
from kserve.protocol.infer_type import InferOutput, InferRequest, InferResponse
from kserve.utils.utils import generate_uuid

DATATYPES = {
    "tensor(float16)": "FP16",
    "tensor(float)": "FP32",
    "tensor(double)": "FP64",
    **{f"tensor({sign}int{bits})": f"{sign}int{bits}".upper() for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "tensor(bool)": "BOOL",
    "tensor(string)": "BYTES",
}


class Direct(kserve.Model):  # type: ignore[misc]
    """A model that ONNX Runtime runs."""

    def __init__(self, name: str, path: str, threads: int) -> None:
        super().__init__(name)
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        self.ready = True

    def get_input_types(self) -> list[dict[str, Any]]:
        """What the model takes."""
        return _told(self._session.get_inputs())

    def get_output_types(self) -> list[dict[str, Any]]:
        """What the model gives."""
        return _told(self._session.get_outputs())

    def predict(self, payload: InferRequest, *_: Any) -> InferResponse:
        """Run the model."""
        arrays = self._session.run(None, {each.name: _array(each) for each in payload.inputs})
        outputs = []
        for value, array in zip(self._session.get_outputs(), arrays, strict=True):
            output = InferOutput(name=value.name, shape=list(array.shape), datatype=DATATYPES[value.type], data=array)
            if payload.from_grpc:  # over HTTP, kserve's server brings arrays into the form that is asked for
                output.set_data_from_numpy(array, binary_data=payload.use_binary_outputs)
            outputs.append(output)
        return InferResponse(
            response_id=payload.id or generate_uuid(),  # kserve's server takes no answer without one
            model_name=self.name,
            infer_outputs=outputs,
            use_binary_outputs=payload.use_binary_outputs,
            requested_outputs=payload.request_outputs,
        )


def _array(tensor: Any) -> Any:
    """What ONNX Runtime takes: kserve's texts are bytes."""
    array = tensor.as_numpy()
    if tensor.datatype != "BYTES":
        return array
    texts = [each.decode() if isinstance(each, bytes) else each for each in array.flat]
    return np.array(texts, np.object_).reshape(array.shape)


def _told(values: Any) -> list[dict[str, Any]]:
    return [{"name": each.name, "datatype": DATATYPES[each.type], "shape": each.shape} for each in values]


if __name__ == "__main__":
    http_port, grpc_port, threads, *named = sys.argv[1:]
    pairs = [each.partition("=") for each in named]
    models = [Direct(name, path, int(threads)) for name, _, path in pairs]
    server = kserve.ModelServer(
        http_port=int(http_port), grpc_port=int(grpc_port), workers=1, enable_latency_logging=False
    )
    logging.getLogger("kserve").setLevel(logging.WARNING)  # it logs each call over gRPC otherwise
    server.start(models)
