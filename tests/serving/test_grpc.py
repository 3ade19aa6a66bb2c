"""The protocol over gRPC: its six calls, tensors raw or typed, and its errors."""

from __future__ import annotations

from typing import Any

import grpc
import numpy as np
import pytest

from intarsia.runtime.dtypes import numpy_dtype
from intarsia.serving.grpc.contents import CONTENTS
from intarsia.serving.grpc.messages import messages
from intarsia.serving.tensors.binary_data import from_binary, to_binary
from intarsia.serving.tensors.datatypes import BY_DATATYPE
from tests.serving.process import Calls
from tests.serving.test_http import SAMPLES, X

M = messages()


def infer_request(**changes: Any) -> Any:
    request = M.ModelInferRequest(**({"model_name": "net"} | changes))
    request.inputs.add(name="x", datatype="FP32", shape=[4, 32])
    request.raw_input_contents.append(X.tobytes())
    return request


def refused(calls: Calls, request: Any, name: str = "ModelInfer") -> grpc.StatusCode:
    with pytest.raises(grpc.RpcError) as caught:
        calls.ask(name, request)
    assert caught.value.details()
    found: grpc.StatusCode = caught.value.code()
    return found


def test_health(calls: Calls) -> None:
    assert calls.ask("ServerLive").live
    assert calls.ask("ServerReady").ready
    assert calls.ask("ModelReady", M.ModelReadyRequest(name="net")).ready
    assert calls.ask("ModelReady", M.ModelReadyRequest(name="net", version="1")).ready
    assert not calls.ask("ModelReady", M.ModelReadyRequest(name="net", version="99")).ready
    assert not calls.ask("ModelReady", M.ModelReadyRequest(name="nothing")).ready


def test_metadata(calls: Calls) -> None:
    assert calls.ask("ServerMetadata").name == "intarsia"
    found = calls.ask("ModelMetadata", M.ModelMetadataRequest(name="net"))
    assert (found.name, list(found.versions)) == ("net", ["1"])
    assert [(each.name, each.datatype, list(each.shape)) for each in found.inputs] == [("x", "FP32", [4, 32])]
    assert [(each.name, each.datatype, list(each.shape)) for each in found.outputs] == [("y", "FP32", [4, 32])]
    unknown = M.ModelMetadataRequest(name="nothing")
    assert refused(calls, unknown, "ModelMetadata") is grpc.StatusCode.NOT_FOUND


def test_raw_tensors_and_typed_ones_say_the_same(calls: Calls) -> None:
    raw = calls.ask("ModelInfer", infer_request(id="9", model_version="1"))
    assert (raw.id, raw.model_name, raw.model_version) == ("9", "net", "1")
    assert not raw.outputs[0].HasField("contents")
    request = infer_request()
    request.inputs[0].contents.fp32_contents.extend(X.ravel().tolist())
    del request.raw_input_contents[:]
    typed = calls.ask("ModelInfer", request)
    assert not typed.raw_output_contents
    np.testing.assert_array_equal(
        np.frombuffer(raw.raw_output_contents[0], "<f4"), np.array(typed.outputs[0].contents.fp32_contents, "f4")
    )


def _types(*, typed: bool) -> tuple[Any, dict[str, Any]]:
    request, arrays = M.ModelInferRequest(model_name="types"), {}
    for name, dtype in BY_DATATYPE.items():
        arrays[name] = np.array(SAMPLES.get(name, [[1, 2], [3, 4]]), numpy_dtype(dtype))
        tensor = request.inputs.add(name=name, datatype=name, shape=[2, 2])
        if typed:
            elements = [x.encode() for x in arrays[name].flat] if name == "BYTES" else arrays[name].ravel().tolist()
            getattr(tensor.contents, CONTENTS.get(name, "fp32_contents")).extend(elements)
        else:
            request.raw_input_contents.append(to_binary(arrays[name]))
    return request, arrays


def test_each_datatype_comes_back_raw(calls: Calls) -> None:
    request, arrays = _types(typed=False)
    answer = calls.ask("ModelInfer", request)
    for output, content in zip(answer.outputs, answer.raw_output_contents, strict=True):
        array = from_binary(content, output.datatype, tuple(output.shape), "y")
        assert array.tolist() == arrays[output.datatype].tolist()


def test_only_the_outputs_that_are_named_come(calls: Calls) -> None:
    request, _ = _types(typed=False)
    request.outputs.add(name="out_INT8")
    request.outputs.add(name="out_BYTES")
    answer = calls.ask("ModelInfer", request)
    assert [output.name for output in answer.outputs] == ["out_INT8", "out_BYTES"]
    assert len(answer.raw_output_contents) == 2


def test_floats_of_16_bits_have_no_typed_form(calls: Calls) -> None:
    assert refused(calls, _types(typed=True)[0]) is grpc.StatusCode.INVALID_ARGUMENT


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"model_name": "nothing"}, grpc.StatusCode.NOT_FOUND),
        ({"model_version": "99"}, grpc.StatusCode.NOT_FOUND),
    ],
)
def test_what_is_not_there_is_not_found(calls: Calls, changes: dict[str, str], code: grpc.StatusCode) -> None:
    assert refused(calls, infer_request(**changes)) is code


def _both(request: Any) -> None:
    request.inputs[0].contents.fp32_contents.extend([0.0] * 128)


def _short(request: Any) -> None:
    request.raw_input_contents[0] = b"\0" * 511


def _many(request: Any) -> None:
    request.raw_input_contents.append(b"")


def _unknown(request: Any) -> None:
    request.inputs[0].name = "u"


def _missing(request: Any) -> None:
    del request.inputs[:], request.raw_input_contents[:]


def _type(request: Any) -> None:
    request.inputs[0].datatype = "INT32"


def _shape(request: Any) -> None:
    request.inputs[0].shape[:] = [128]


def _output(request: Any) -> None:
    request.outputs.add(name="w")


@pytest.mark.parametrize("change", [_both, _short, _many, _unknown, _missing, _type, _shape, _output])
def test_a_bad_request_is_refused_and_the_server_goes_on(calls: Calls, change: Any) -> None:
    request = infer_request()
    change(request)
    assert refused(calls, request) is grpc.StatusCode.INVALID_ARGUMENT
    assert calls.ask("ModelInfer", infer_request()).outputs[0].name == "y"


def test_a_message_that_is_none_is_refused(calls: Calls) -> None:
    assert refused(calls, b"\xff\xff\xff") is grpc.StatusCode.INVALID_ARGUMENT


def test_a_message_above_the_bound_is_refused(calls: Calls) -> None:
    request = infer_request()
    request.raw_input_contents[0] = b"\0" * (4 * 2**20)
    assert refused(calls, request) is grpc.StatusCode.RESOURCE_EXHAUSTED
