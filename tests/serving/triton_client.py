"""A program for an environment with ``tritonclient[all]`` and no Intarsia: asks a server by each of its three clients.

``python triton_client.py HTTP GRPC`` asks model ``types``, which gives back each tensor, and prints what came right.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import ml_dtypes
import numpy as np
import tritonclient.grpc
import tritonclient.http
import tritonclient.http.aio

TENSORS: dict[str, Any] = {
    "FP32": np.array([[1.5, -2], [0, 3e38]], np.float32),
    "INT64": np.array([[1, -2], [0, 2**62]], np.int64),
    "BOOL": np.array([[True, False], [False, True]]),
    "BYTES": np.array([[b"a", b""], ["ä".encode(), b"long " * 50]], np.object_),
}
ALSO = {
    "FP64": np.float64, "INT8": np.int8, "INT16": np.int16, "INT32": np.int32,
    "UINT8": np.uint8, "UINT16": np.uint16, "UINT32": np.uint32, "UINT64": np.uint64,
}  # fmt: skip
ALL = TENSORS | {name: np.array([[0, 1], [2, 3]], dtype) for name, dtype in ALSO.items()}
HALVES = {
    "FP16": np.array([[1.5, -2], [0, 65504]], np.float16),
    "BF16": np.array([[1, 2], [3, 4]], ml_dtypes.bfloat16),
}
"""They have models of their own, and no form in the JSON of these clients."""


def inputs(module: Any, **form: bool) -> list[Any]:
    made = []
    for name, array in ALL.items():
        made.append(module.InferInput(name, [2, 2], name))
        made[-1].set_data_from_numpy(array, **form)
    return made


def halves(client: Any, module: Any) -> None:
    for name, array in HALVES.items():
        made = module.InferInput(name, [2, 2], name)
        made.set_data_from_numpy(array)
        found = client.infer(name.lower(), [made]).as_numpy(f"out_{name}")
        assert found.astype(float).tolist() == array.astype(float).tolist(), (name, found)


def outputs(module: Any, **form: bool) -> list[Any]:
    return [module.InferRequestedOutput(f"out_{name}", **form) for name in ALL]


def tell(client: str, result: Any) -> None:
    for name, array in ALL.items():
        found = result.as_numpy(f"out_{name}")
        came = found.ravel().tolist()
        if name == "BYTES":
            came = [each if isinstance(each, bytes) else each.encode() for each in came]
        assert came == array.ravel().tolist(), (client, name, found)
        print(client, name)


def about(client: Any) -> None:
    assert client.is_server_live()
    assert client.is_server_ready()
    assert client.is_model_ready("types")
    assert client.is_model_ready("types", "1")
    assert not client.is_model_ready("nothing")
    client.get_server_metadata()
    client.get_model_metadata("types")


def by_http(address: str) -> None:
    client = tritonclient.http.InferenceServerClient(address)
    about(client)
    module = tritonclient.http
    tell("http", client.infer("types", inputs(module), request_id="7", outputs=outputs(module, binary_data=True)))
    tell(
        "http as JSON",
        client.infer("types", inputs(module, binary_data=False), outputs=outputs(module, binary_data=False)),
    )
    halves(client, module)
    refusal = "none"
    try:
        client.infer("nothing", inputs(module))
    except module.InferenceServerException as error:
        refusal = str(error)
    assert "no model 'nothing'" in refusal
    client.close()


async def by_http_aio(address: str) -> None:
    module = tritonclient.http.aio
    async with module.InferenceServerClient(address) as client:
        assert await client.is_server_live()
        assert await client.is_model_ready("types")
        await client.get_model_metadata("types")
        asked = [client.infer("types", inputs(module), outputs=outputs(module, binary_data=True)) for _ in range(8)]
        for result in await asyncio.gather(*asked):
            tell("http.aio", result)


def by_grpc(address: str) -> None:
    client = tritonclient.grpc.InferenceServerClient(address)
    about(client)
    module = tritonclient.grpc
    tell("grpc", client.infer("types", inputs(module), request_id="7", outputs=outputs(module)))
    halves(client, module)
    refusal = "none"
    try:
        client.infer("nothing", inputs(module))
    except module.InferenceServerException as error:
        refusal = str(error.status())
    assert "NOT_FOUND" in refusal
    client.close()


if __name__ == "__main__":
    by_http(sys.argv[1])
    asyncio.run(by_http_aio(sys.argv[1]))
    by_grpc(sys.argv[2])
