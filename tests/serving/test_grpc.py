"""The protocol over gRPC, as its documents have it: its six calls, tensors raw or typed, and errors.

It asks whatever answers at the address of `calls`. An error is any code but OK, and an answer has either form of
tensors. Which ours has is in `test_beyond_the_protocol.py`.
"""

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
from tests.serving.models import DATATYPES
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


def elements(answer: Any) -> dict[str, list[Any]]:
    """The elements of each output, in whichever form the server chose for the answer."""
    if answer.raw_output_contents:
        pairs = zip(answer.outputs, answer.raw_output_contents, strict=True)
        return {o.name: from_binary(raw, o.datatype, tuple(o.shape), "y").ravel().tolist() for o, raw in pairs}
    found = {each.name: list(getattr(each.contents, CONTENTS[each.datatype])) for each in answer.outputs}
    return {name: [x.decode() if isinstance(x, bytes) else x for x in each] for name, each in found.items()}


def test_health(calls: Calls) -> None:
    assert calls.ask("ServerLive").live
    assert calls.ask("ServerReady").ready
    assert calls.ask("ModelReady", M.ModelReadyRequest(name="net")).ready


def is_ready(calls: Calls, **model: str) -> bool:
    """What is not there may be said to be not ready, or be an error."""
    try:
        return bool(calls.ask("ModelReady", M.ModelReadyRequest(**model)).ready)
    except grpc.RpcError:
        return False


def test_what_is_not_there_is_not_ready(calls: Calls) -> None:
    assert is_ready(calls, name="net")
    assert not is_ready(calls, name="nothing")


def test_metadata(calls: Calls) -> None:
    assert calls.ask("ServerMetadata").name
    found = calls.ask("ModelMetadata", M.ModelMetadataRequest(name="net"))
    assert found.name == "net"
    assert [(each.name, each.datatype, list(each.shape)) for each in found.inputs] == [("x", "FP32", [4, 32])]
    assert [(each.name, each.datatype, list(each.shape)) for each in found.outputs] == [("y", "FP32", [4, 32])]
    refused(calls, M.ModelMetadataRequest(name="nothing"), "ModelMetadata")


def test_each_version_that_is_named_may_be_asked_for(calls: Calls) -> None:
    for version in calls.ask("ModelMetadata", M.ModelMetadataRequest(name="net")).versions:
        assert calls.ask("ModelReady", M.ModelReadyRequest(name="net", version=version)).ready
        assert calls.ask("ModelInfer", infer_request(model_version=version)).model_version == version


def test_raw_tensors_and_typed_ones_say_the_same(calls: Calls) -> None:
    raw = calls.ask("ModelInfer", infer_request(id="9"))
    assert (raw.id, raw.model_name) == ("9", "net")
    request = infer_request()
    request.inputs[0].contents.fp32_contents.extend(X.ravel().tolist())
    del request.raw_input_contents[:]
    np.testing.assert_array_equal(elements(calls.ask("ModelInfer", request))["y"], elements(raw)["y"])


def _types() -> tuple[Any, dict[str, list[Any]]]:
    request, expected = M.ModelInferRequest(model_name="types"), {}
    for name in DATATYPES:
        array = np.array(SAMPLES[name], numpy_dtype(BY_DATATYPE[name]))
        request.inputs.add(name=name, datatype=name, shape=[2, 2])
        request.raw_input_contents.append(to_binary(array))
        expected[f"out_{name}"] = array.ravel().tolist()
    return request, expected


def test_each_datatype_comes_back_raw(calls: Calls) -> None:
    request, expected = _types()
    assert elements(calls.ask("ModelInfer", request)) == expected


def test_only_the_outputs_that_are_named_come(calls: Calls) -> None:
    request, expected = _types()
    for name in ("out_INT8", "out_BYTES"):
        request.outputs.add(name=name)
    found = elements(calls.ask("ModelInfer", request))
    assert found == {name: expected[name] for name in ("out_INT8", "out_BYTES")}


def test_floats_of_16_bits_come_raw_alone(calls: Calls) -> None:
    request = M.ModelInferRequest(model_name="fp16", raw_input_contents=[b"\0\x38" * 4])
    request.inputs.add(name="FP16", datatype="FP16", shape=[2, 2])
    assert elements(calls.ask("ModelInfer", request)) == {"out_FP16": [0.5] * 4}
    del request.raw_input_contents[:]
    request.inputs[0].contents.fp32_contents.extend([0.5] * 4)
    refused(calls, request)


def test_what_is_not_there_is_refused(calls: Calls) -> None:
    refused(calls, infer_request(model_name="nothing"))


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


CHANGES = (_both, _short, _many, _unknown, _missing, _type, _shape, _output)


@pytest.mark.parametrize("change", CHANGES)
def test_a_bad_request_is_refused_and_the_server_goes_on(calls: Calls, change: Any) -> None:
    request = infer_request()
    change(request)
    refused(calls, request)
    assert calls.ask("ModelInfer", infer_request()).outputs[0].name == "y"


def test_a_message_that_is_none_is_refused(calls: Calls) -> None:
    refused(calls, b"\xff\xff\xff")
