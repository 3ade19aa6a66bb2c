"""What our server says beyond the protocol's documents: which status it is, bounds, BF16, and figures."""

from __future__ import annotations

import json
from typing import Any

import grpc
import numpy as np
import pytest

from tests.serving.process import Calls, Reply, Web, binary_request
from tests.serving.test_grpc import CHANGES, M, infer_request
from tests.serving.test_grpc import refused as refused_call
from tests.serving.test_http import X, row

BF16 = b"\x80\x3f" * 4


@pytest.fixture
def web(running: Any) -> Any:
    """Our own server, whatever the environment names."""
    with Web(running.http) as found:
        yield found


@pytest.fixture
def calls(running: Any) -> Any:
    """The same over gRPC."""
    with Calls(running.grpc) as found:
        yield found


def refused(reply: Reply, status: int) -> None:
    assert reply.status == status, reply
    assert list(reply.json) == ["error"]
    assert reply.json["error"]


def test_a_head_has_no_body(web: Web) -> None:
    assert web.ask("HEAD", "/v2/health/live").body == b""


def test_the_server_tells_its_extension(web: Web) -> None:
    assert web.get("/v2").json["extensions"] == ["binary_tensor_data"]


def test_the_first_version_is_1(web: Web) -> None:
    found = web.get("/v2/models/net").json
    assert (found["versions"], found["platform"]) == (["1"], "intarsia")
    assert web.infer("net", {"inputs": [row()]}).json["model_version"] == "1"
    assert web.get("/v2/models/net/versions/99/ready").status == 404


def test_answers_say_what_they_are(web: Web) -> None:
    assert web.infer("net", {"inputs": [row()]}).headers["content-type"] == "application/json"
    body, headers = binary_request({"x": ("FP32", X)}, parameters={"binary_data_output": True})
    assert web.infer("net", body, headers).headers["content-type"] == "application/octet-stream"


def test_a_bad_request_is_400(web: Web) -> None:
    bodies: tuple[Any, ...] = (b"{", {"inputs": []}, {"inputs": [row(data=[1.0])]})
    for body in bodies:
        refused(web.infer("net", body), 400)


def test_what_is_not_there_is_404(web: Web) -> None:
    for path in ("/", "/v1/models/net", "/v2/models", "/v2/models/nothing", "/v2/models/net/versions/99", "/v2/"):
        refused(web.get(path), 404)
    body = json.dumps({"inputs": [row()]}).encode()
    for path in ("/v2/models/nothing/infer", "/v2/models/net/versions/99/infer"):
        refused(web.ask("POST", path, body), 404)


def test_a_wrong_method_is_405(web: Web) -> None:
    reply = web.get("/v2/models/net/infer")
    refused(reply, 405)
    assert reply.headers["allow"] == "POST"
    refused(web.ask("POST", "/v2/health/live", b""), 405)


def test_a_body_above_the_bound_is_413_however_it_comes(web: Web) -> None:
    refused(web.infer("net", b"x" * (3 * 2**20)), 413)
    web.close()
    chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    web._connection.putrequest("POST", "/v2/models/net/infer")
    web._connection.putheader("Transfer-Encoding", "chunked")
    web._connection.endheaders(chunk * 40 + b"0\r\n\r\n")
    response = web._connection.getresponse()
    assert response.status == 413
    assert "error" in json.loads(response.read())


def test_a_body_that_is_packed_is_415(web: Web) -> None:
    refused(web.infer("net", b"x", {"Content-Encoding": "gzip"}), 415)


def test_fp16_has_a_form_in_json(web: Web) -> None:
    tensor = {"name": "FP16", "datatype": "FP16", "shape": [2, 2], "data": [0.5, -2.0, 65504.0, 0.0]}
    assert web.infer("fp16", {"inputs": [tensor]}).json["outputs"][0]["data"] == tensor["data"]


def test_bf16_comes_back_as_bytes_alone(web: Web) -> None:
    tensor = {"name": "BF16", "datatype": "BF16", "shape": [2, 2]}
    head = json.dumps(
        {
            "inputs": [tensor | {"parameters": {"binary_data_size": 8}}],
            "parameters": {"binary_data_output": True},
        }
    ).encode()
    reply = web.infer("bf16", head + BF16, {"Inference-Header-Content-Length": str(len(head))})
    assert reply.body[int(reply.headers["inference-header-content-length"]) :] == BF16
    refused(web.infer("bf16", {"inputs": [tensor | {"data": [1.0] * 4}]}), 400)


def test_bf16_comes_back_raw_alone(calls: Calls) -> None:
    request = M.ModelInferRequest(model_name="bf16", raw_input_contents=[BF16])
    request.inputs.add(name="BF16", datatype="BF16", shape=[2, 2])
    assert list(calls.ask("ModelInfer", request).raw_output_contents) == [BF16]
    del request.raw_input_contents[:]
    request.inputs[0].contents.fp32_contents.extend([1.0] * 4)
    assert refused_call(calls, request) is grpc.StatusCode.INVALID_ARGUMENT


def test_an_answer_over_grpc_has_the_form_of_its_request(calls: Calls) -> None:
    raw = calls.ask("ModelInfer", infer_request(id="9", model_version="1"))
    assert (raw.model_name, raw.model_version) == ("net", "1")
    assert np.frombuffer(raw.raw_output_contents[0], "<f4").size == X.size
    assert not raw.outputs[0].HasField("contents")
    request = infer_request()
    request.inputs[0].contents.fp32_contents.extend(X.ravel().tolist())
    del request.raw_input_contents[:]
    typed = calls.ask("ModelInfer", request)
    assert not typed.raw_output_contents
    assert len(typed.outputs[0].contents.fp32_contents) == X.size


@pytest.mark.parametrize("change", CHANGES)
def test_a_bad_call_is_an_invalid_argument(calls: Calls, change: Any) -> None:
    request = infer_request()
    change(request)
    assert refused_call(calls, request) is grpc.StatusCode.INVALID_ARGUMENT


def test_what_is_not_there_is_not_found_over_grpc(calls: Calls) -> None:
    for request in (infer_request(model_name="nothing"), infer_request(model_version="99")):
        assert refused_call(calls, request) is grpc.StatusCode.NOT_FOUND
    unknown = M.ModelMetadataRequest(name="nothing")
    assert refused_call(calls, unknown, "ModelMetadata") is grpc.StatusCode.NOT_FOUND


def test_another_version_is_not_ready(calls: Calls) -> None:
    assert calls.ask("ModelReady", M.ModelReadyRequest(name="net", version="1")).ready
    assert not calls.ask("ModelReady", M.ModelReadyRequest(name="net", version="99")).ready


def test_a_message_above_the_bound_exhausts_resources(calls: Calls) -> None:
    request = infer_request()
    request.raw_input_contents[0] = b"\0" * (4 * 2**20)
    assert refused_call(calls, request) is grpc.StatusCode.RESOURCE_EXHAUSTED


def test_a_message_that_is_none_is_an_invalid_argument(calls: Calls) -> None:
    assert refused_call(calls, b"\xff\xff\xff") is grpc.StatusCode.INVALID_ARGUMENT


def test_figures_are_there_for_prometheus(web: Web) -> None:
    web.infer("net", {"inputs": [row()]})
    text = web.get("/metrics").body.decode()
    for stage in ("queue", "decode", "compute", "encode"):
        assert f'intarsia_stage_seconds_bucket{{le="+Inf",model="net",stage="{stage}"}}' in text
    assert 'intarsia_queue_length{model="net"} 0.0' in text
    assert 'intarsia_refusals_total{model="net",why="queue"} 0.0' in text
    assert 'intarsia_requests_total{model="net",status="OK"}' in text
