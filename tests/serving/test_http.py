"""The protocol over REST, point by point as its documents have it: health, metadata, inference, errors, binary tensors.

It asks whatever answers at the address of `web`: models ``net`` (x FP32 [4, 32] to y) and ``types`` (identities).
"""

from __future__ import annotations

import json
from itertools import chain
from typing import Any

import numpy as np
import pytest

from intarsia.runtime.dtypes import numpy_dtype
from intarsia.serving.tensors.binary_data import from_binary
from intarsia.serving.tensors.datatypes import BY_DATATYPE
from tests.serving.process import Reply, Web, binary_request

X = np.linspace(-1, 1, 128, dtype=np.float32).reshape(4, 32)
SAMPLES: dict[str, Any] = {
    "BOOL": [[True, False], [False, True]],
    "BYTES": [["a", ""], ["ä", "long " * 50]],
    "FP16": [[0.5, -2.0], [65504.0, 0.0]],
    "FP32": [[0.5, -2.0], [2.0**100, 0.0]],
    "FP64": [[0.5, -2.0], [1e300, 0.1]],
    **{f"INT{bits}": [[0, 1], [-(2 ** (bits - 1)), 2 ** (bits - 1) - 1]] for bits in (8, 16, 32, 64)},
    **{f"UINT{bits}": [[0, 1], [2, 2**bits - 1]] for bits in (8, 16, 32, 64)},
}


def row(**changes: Any) -> dict[str, Any]:
    return {"name": "x", "datatype": "FP32", "shape": [4, 32], "data": X.ravel().tolist()} | changes


def flat(sample: list[list[Any]]) -> list[Any]:
    return list(chain.from_iterable(sample))


def all_types(*, nested: bool) -> list[dict[str, Any]]:
    """An input of each datatype, but BF16, which JSON has no form for."""
    return [
        {"name": name, "datatype": name, "shape": [2, 2], "data": sample if nested else flat(sample)}
        for name, sample in SAMPLES.items()
    ]


def refused(reply: Reply, status: int = 400) -> str:
    assert reply.status == status, reply
    assert list(reply.json) == ["error"]
    assert reply.json["error"]
    return str(reply.json["error"])


@pytest.mark.parametrize(
    "path", ["health/live", "health/ready", "models/net/ready", "models/types/ready", "models/net/versions/1/ready"]
)
def test_health_is_a_status(web: Web, path: str) -> None:
    assert web.get(f"/v2/{path}").status == 200
    assert web.ask("HEAD", f"/v2/{path}").body == b""


def test_what_is_not_there_is_not_ready(web: Web) -> None:
    assert 400 <= web.get("/v2/models/nothing/ready").status < 500
    assert 400 <= web.get("/v2/models/net/versions/99/ready").status < 500


def test_the_server_tells_about_itself(web: Web) -> None:
    reply = web.get("/v2")
    assert reply.status == 200
    assert set(reply.json) == {"name", "version", "extensions"}
    assert "binary_tensor_data" in reply.json["extensions"]


def test_a_model_tells_about_itself(web: Web) -> None:
    found = web.get("/v2/models/net").json
    assert found["name"] == "net"
    assert found["inputs"] == [{"name": "x", "datatype": "FP32", "shape": [4, 32]}]
    assert found["outputs"] == [{"name": "y", "datatype": "FP32", "shape": [4, 32]}]
    assert found["platform"]
    for version in found["versions"]:
        assert web.get(f"/v2/models/net/versions/{version}").json == found
    assert {each["datatype"] for each in web.get("/v2/models/types").json["inputs"]} == set(BY_DATATYPE)


def test_inference_repeats_the_id_and_gives_all_outputs(web: Web) -> None:
    reply = web.infer("net", {"id": "a-1", "inputs": [row()]})
    assert reply.status == 200
    assert reply.headers["content-type"] == "application/json"
    assert (reply.json["id"], reply.json["model_name"]) == ("a-1", "net")
    (output,) = reply.json["outputs"]
    assert (output["name"], output["datatype"], output["shape"]) == ("y", "FP32", [4, 32])
    assert len(output["data"]) == 128
    assert "id" not in web.infer("net", {"inputs": [row()]}).json


def test_nested_and_flat_data_and_a_stated_version_say_the_same(web: Web) -> None:
    found = web.infer("net", {"inputs": [row()]}).json
    assert web.infer("net", {"inputs": [row(data=X.tolist())]}).json == found
    body = json.dumps({"inputs": [row()]}).encode()
    assert web.ask("POST", "/v2/models/net/versions/1/infer", body).json == found


def test_only_the_outputs_that_are_named_come_in_their_order(web: Web) -> None:
    inputs = [*all_types(nested=False), _bf16()]
    body, headers = _with_bf16(inputs, outputs=[{"name": "out_INT8"}, {"name": "out_BYTES"}])
    names = [each["name"] for each in web.infer("types", body, headers).json["outputs"]]
    assert names == ["out_INT8", "out_BYTES"]


def _bf16() -> dict[str, Any]:
    return {"name": "BF16", "datatype": "BF16", "shape": [2, 2], "parameters": {"binary_data_size": 8}}


def _with_bf16(inputs: list[dict[str, Any]], **others: Any) -> tuple[bytes, dict[str, str]]:
    """A body of JSON inputs with one behind it as bytes."""
    head = json.dumps({"inputs": inputs, **others}).encode()
    return head + b"\x80\x3f" * 4, {"Inference-Header-Content-Length": str(len(head))}


@pytest.mark.parametrize("nested", [False, True])
def test_each_datatype_comes_back_through_json(web: Web, nested: bool) -> None:
    outputs = [{"name": f"out_{name}"} for name in SAMPLES]
    body, headers = _with_bf16([*all_types(nested=nested), _bf16()], outputs=outputs)
    reply = web.infer("types", body, headers)
    assert reply.status == 200, reply.body
    assert {each["datatype"]: each["data"] for each in reply.json["outputs"]} == {
        name: flat(sample) for name, sample in SAMPLES.items()
    }


def _arrays() -> dict[str, tuple[str, np.ndarray]]:
    bf16 = [[1.0, -0.5], [0.0, 3.0]]
    return {
        name: (name, np.array(SAMPLES.get(name, bf16), numpy_dtype(BY_DATATYPE[name]))) for name in sorted(BY_DATATYPE)
    }


def test_each_datatype_comes_back_as_bytes(web: Web) -> None:
    arrays = _arrays()
    body, headers = binary_request(arrays, id="b", parameters={"binary_data_output": True})
    reply = web.infer("types", body, headers)
    assert reply.status == 200, reply.body
    assert reply.headers["content-type"] == "application/octet-stream"
    length = int(reply.headers["inference-header-content-length"])
    answer, place = json.loads(reply.body[:length]), length
    assert answer["id"] == "b"
    for output in answer["outputs"]:
        size = output["parameters"]["binary_data_size"]
        array = from_binary(reply.body[place : place + size], output["datatype"], tuple(output["shape"]), "y")
        assert array.tolist() == arrays[output["datatype"]][1].tolist()
        place += size
    assert place == len(reply.body)


def test_one_output_comes_as_bytes_and_another_as_json(web: Web) -> None:
    body, headers = binary_request(
        _arrays(),
        outputs=[{"name": "out_INT16", "parameters": {"binary_data": True}}, {"name": "out_FP64"}],
    )
    reply = web.infer("types", body, headers)
    length = int(reply.headers["inference-header-content-length"])
    first, second = json.loads(reply.body[:length])["outputs"]
    assert "data" not in first
    assert np.frombuffer(reply.body[length:], "<i2").tolist() == flat(SAMPLES["INT16"])
    assert second["data"] == flat(SAMPLES["FP64"])


def test_an_output_may_be_json_where_bytes_are_the_default(web: Web) -> None:
    body, headers = binary_request(
        {"x": ("FP32", X)},
        outputs=[{"name": "y", "parameters": {"binary_data": False}}],
        parameters={"binary_data_output": True},
    )
    reply = web.infer("net", body, headers)
    assert "inference-header-content-length" not in reply.headers
    assert len(reply.json["outputs"][0]["data"]) == 128


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"null",
        b"\xff\xfe",
        b"[" * 50_000,
        {},
        {"inputs": []},
        {"inputs": "x"},
        {"inputs": [row(name="u")]},
        {"inputs": [row(), row()]},
        {"inputs": [row(), row(name="u")]},
        {"inputs": [row(datatype="FP64")]},
        {"inputs": [row(datatype="FLOAT")]},
        {"inputs": [row(datatype=None)]},
        {"inputs": [row(shape=[128])]},
        {"inputs": [row(shape=[4, -1])]},
        {"inputs": [row(shape=[4, 33])]},
        {"inputs": [row(shape=None)]},
        {"inputs": [row(data=[1.0])]},
        {"inputs": [row(data=["a"] * 128)]},
        {"inputs": [row(data=[None] * 128)]},
        {"inputs": [row(data=3)]},
        {"inputs": [row(data=[[1.0] * 31] * 4)]},
        {"inputs": [row()], "outputs": [{"name": "w"}]},
        {"inputs": [row()], "outputs": [{}]},
        {"inputs": [row()], "outputs": [{"name": "y"}, {"name": "y"}]},
        {"inputs": [row()], "id": 7},
    ],
)
def test_a_bad_request_is_refused_and_the_server_goes_on(web: Web, body: Any) -> None:
    refused(web.infer("net", body))
    assert web.infer("net", {"inputs": [row()]}).status == 200


@pytest.mark.parametrize("stated", ["0", "5", "999999", "-1", "x", "1e3", "9" * 30])
def test_a_wrong_length_of_the_json_is_refused(web: Web, stated: str) -> None:
    body, headers = binary_request({"x": ("FP32", X)})
    refused(web.infer("net", body, headers | {"Inference-Header-Content-Length": stated}))


@pytest.mark.parametrize("cut", [-1, -512, 1])
def test_a_wrong_number_of_bytes_is_refused(web: Web, cut: int) -> None:
    body, headers = binary_request({"x": ("FP32", X)})
    refused(web.infer("net", body[:cut] if cut < 0 else body + b"\0" * cut, headers))


@pytest.mark.parametrize("size", [-1, 4, 513, 2**70, True, "512", 1.5])
def test_a_wrong_size_of_a_tensor_is_refused(web: Web, size: Any) -> None:
    tensor = {"name": "x", "datatype": "FP32", "shape": [4, 32], "parameters": {"binary_data_size": size}}
    head = json.dumps({"inputs": [tensor]}).encode()
    refused(web.infer("net", head + X.tobytes(), {"Inference-Header-Content-Length": str(len(head))}))


def test_what_is_not_there_is_not_found(web: Web) -> None:
    for path in ("/", "/v1/models/net", "/v2/models", "/v2/models/nothing", "/v2/models/net/versions/99", "/v2/"):
        refused(web.get(path), 404)
    body = json.dumps({"inputs": [row()]}).encode()
    for path in ("/v2/models/nothing/infer", "/v2/models/net/versions/99/infer"):
        refused(web.ask("POST", path, body), 404)


def test_a_wrong_method_is_refused(web: Web) -> None:
    reply = web.get("/v2/models/net/infer")
    refused(reply, 405)
    assert reply.headers["allow"] == "POST"
    refused(web.ask("POST", "/v2/health/live", b""), 405)


def test_a_body_above_the_bound_is_refused_however_it_comes(web: Web) -> None:
    refused(web.infer("net", b"x" * (3 * 2**20)), 413)
    web.close()
    chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    web._connection.putrequest("POST", "/v2/models/net/infer")
    web._connection.putheader("Transfer-Encoding", "chunked")
    web._connection.endheaders(chunk * 40 + b"0\r\n\r\n")
    response = web._connection.getresponse()
    assert response.status == 413
    assert "error" in json.loads(response.read())


def test_a_body_that_is_packed_is_refused(web: Web) -> None:
    refused(web.infer("net", b"x", {"Content-Encoding": "gzip"}), 415)


def test_figures_are_there_for_prometheus(web: Web) -> None:
    web.infer("net", {"inputs": [row()]})
    text = web.get("/metrics").body.decode()
    for stage in ("queue", "decode", "compute", "encode"):
        assert f'intarsia_stage_seconds_bucket{{le="+Inf",model="net",stage="{stage}"}}' in text
    assert 'intarsia_queue_length{model="net"} 0.0' in text
    assert 'intarsia_refusals_total{model="net",why="queue"} 0.0' in text
    assert 'intarsia_requests_total{model="net",status="OK"}' in text
