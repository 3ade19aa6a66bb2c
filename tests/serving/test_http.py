"""The protocol over REST, point by point as its documents have it: health, metadata, inference, errors, binary tensors.

It asks whatever answers at the address of `web`: models ``net`` (x FP32 [4, 32] to y), ``types`` and ``fp16``
(identities). A refusal is any status of 400 or more, with an error in words; versions are asked for where the server
has them. What our server says beyond the documents is in `test_beyond_the_protocol.py`.
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
from tests.serving.process import JSON, Reply, Web, binary_request

X = np.linspace(-1, 1, 128, dtype=np.float32).reshape(4, 32)
SAMPLES: dict[str, Any] = {
    "BOOL": [[True, False], [False, True]],
    "BYTES": [["a", ""], ["ä", "long " * 50]],
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
    """An input of each datatype."""
    return [
        {"name": name, "datatype": name, "shape": [2, 2], "data": sample if nested else flat(sample)}
        for name, sample in SAMPLES.items()
    ]


def refused(reply: Reply) -> str:
    assert reply.status >= 400, reply
    assert reply.json["error"]
    return str(reply.json["error"])


@pytest.mark.parametrize("path", ["health/live", "health/ready", "models/net/ready", "models/types/ready"])
def test_health_is_a_status(web: Web, path: str) -> None:
    assert web.get(f"/v2/{path}").status == 200


def test_what_is_not_there_is_not_ready(web: Web) -> None:
    assert 400 <= web.get("/v2/models/nothing/ready").status < 500


def test_the_server_tells_about_itself(web: Web) -> None:
    reply = web.get("/v2")
    assert reply.status == 200
    assert {name: type(value) for name, value in reply.json.items()} == {
        "name": str,
        "version": str,
        "extensions": list,
    }


def test_a_model_tells_about_itself(web: Web) -> None:
    found = web.get("/v2/models/net").json
    assert found["name"] == "net"
    assert found["inputs"] == [{"name": "x", "datatype": "FP32", "shape": [4, 32]}]
    assert found["outputs"] == [{"name": "y", "datatype": "FP32", "shape": [4, 32]}]
    assert isinstance(found["platform"], str)
    assert {each["datatype"] for each in web.get("/v2/models/types").json["inputs"]} == set(SAMPLES)


def test_each_version_that_is_named_may_be_asked_for(web: Web) -> None:
    found = web.get("/v2/models/net").json
    body = json.dumps({"inputs": [row()]}).encode()
    for version in found.get("versions") or ():
        assert web.get(f"/v2/models/net/versions/{version}").json == found
        assert web.get(f"/v2/models/net/versions/{version}/ready").status == 200
        assert web.ask("POST", f"/v2/models/net/versions/{version}/infer", body, JSON).status == 200


def test_inference_repeats_the_id_and_gives_all_outputs(web: Web) -> None:
    reply = web.infer("net", {"id": "a-1", "inputs": [row()]})
    assert reply.status == 200
    assert (reply.json["id"], reply.json["model_name"]) == ("a-1", "net")
    (output,) = reply.json["outputs"]
    assert (output["name"], output["datatype"], output["shape"]) == ("y", "FP32", [4, 32])
    assert len(output["data"]) == 128


def test_without_an_id_the_answer_has_none(web: Web) -> None:
    assert not web.infer("net", {"inputs": [row()]}).json.get("id")


def test_nested_and_flat_data_say_the_same(web: Web) -> None:
    found, nested = (web.infer("net", {"inputs": [row(data=data)]}).json for data in (X.ravel().tolist(), X.tolist()))
    assert nested["outputs"] == found["outputs"]


def test_only_the_outputs_that_are_named_come_in_their_order(web: Web) -> None:
    outputs = [{"name": "out_INT8"}, {"name": "out_BYTES"}]
    reply = web.infer("types", {"inputs": all_types(nested=False), "outputs": outputs})
    assert [each["name"] for each in reply.json["outputs"]] == ["out_INT8", "out_BYTES"]


@pytest.mark.parametrize("nested", [False, True])
def test_each_datatype_comes_back_through_json(web: Web, nested: bool) -> None:
    reply = web.infer("types", {"inputs": all_types(nested=nested)})
    assert reply.status == 200, reply.body
    answered = {each["datatype"]: each["data"] for each in reply.json["outputs"]}
    assert set(answered) == set(SAMPLES)
    for name, sample in SAMPLES.items():  # the shortest text of a float is read as its own type
        dtype = numpy_dtype(BY_DATATYPE[name])
        assert np.array(answered[name], dtype).tolist() == np.array(flat(sample), dtype).tolist()


def _arrays() -> dict[str, tuple[str, np.ndarray]]:
    return {name: (name, np.array(SAMPLES[name], numpy_dtype(BY_DATATYPE[name]))) for name in sorted(SAMPLES)}


def test_each_datatype_comes_back_as_bytes(web: Web) -> None:
    arrays = _arrays()
    body, headers = binary_request(arrays, id="b", parameters={"binary_data_output": True})
    reply = web.infer("types", body, headers)
    assert reply.status == 200, reply.body
    length = int(reply.headers["inference-header-content-length"])
    answer, place = json.loads(reply.body[:length]), length
    assert answer["id"] == "b"
    for output in answer["outputs"]:
        size = output["parameters"]["binary_data_size"]
        array = from_binary(reply.body[place : place + size], output["datatype"], tuple(output["shape"]), "y")
        assert array.tolist() == arrays[output["datatype"]][1].tolist()
        place += size
    assert place == len(reply.body)


def test_floats_of_16_bits_come_back_as_bytes(web: Web) -> None:
    array = np.array([[0.5, -2.0], [65504.0, 0.0]], np.float16)
    body, headers = binary_request({"FP16": ("FP16", array)}, parameters={"binary_data_output": True})
    reply = web.infer("fp16", body, headers)
    assert reply.body[int(reply.headers["inference-header-content-length"]) :] == array.tobytes()


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


def test_what_is_not_there_is_refused(web: Web) -> None:
    body = json.dumps({"inputs": [row()]}).encode()
    refused(web.get("/v2/models/nothing"))
    refused(web.ask("POST", "/v2/models/nothing/infer", body, JSON))
