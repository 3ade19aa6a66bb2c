from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from intarsia.runtime.dtypes import numpy_dtype
from intarsia.serving.grpc.contents import CONTENTS, decode, encode
from intarsia.serving.grpc.messages import MESSAGES, messages
from intarsia.serving.metadata import ModelMetadata, TensorMetadata
from intarsia.serving.statuses import RequestError
from intarsia.serving.tensors.datatypes import BY_DATATYPE
from tests.unit.serving.fakes import METADATA

RESULTS = {"y": np.array([1, 2], np.float32), "z": np.array(["b", ""], object)}


def typed() -> Any:
    request = messages().ModelInferRequest(model_name="m", id="7")
    request.inputs.add(name="x", datatype="FP32", shape=[2]).contents.fp32_contents.extend([1, 2])
    request.inputs.add(name="t", datatype="BYTES", shape=[1]).contents.bytes_contents.append(b"a")
    return request


def raw() -> Any:
    request = messages().ModelInferRequest(model_name="m")
    request.inputs.add(name="x", datatype="FP32", shape=[2])
    request.inputs.add(name="t", datatype="BYTES", shape=[1])
    request.raw_input_contents.extend([np.array([1, 2], "<f4").tobytes(), b"\1\0\0\0a"])
    return request


@pytest.mark.parametrize("request_", [typed(), raw()])
def test_both_forms_say_the_same(request_: Any) -> None:
    feeds, _ = decode(METADATA, request_)
    assert {name: array.tolist() for name, array in feeds.items()} == {"x": [1.0, 2.0], "t": ["a"]}


def test_an_answer_has_the_form_of_its_request() -> None:
    for request, is_typed in ((typed(), True), (raw(), False)):
        _, wanted = decode(METADATA, request)
        answer = messages().ModelInferResponse.FromString(encode(METADATA, wanted, RESULTS))
        assert answer.id == request.id
        assert [output.HasField("contents") for output in answer.outputs] == [is_typed, is_typed]
        if is_typed:
            assert list(answer.outputs[0].contents.fp32_contents) == [1, 2]
            assert list(answer.outputs[1].contents.bytes_contents) == [b"b", b""]
            assert not answer.raw_output_contents
        else:
            assert list(answer.raw_output_contents) == [np.array([1, 2], "<f4").tobytes(), b"\1\0\0\0b\0\0\0\0"]


@pytest.mark.parametrize("datatype", sorted(CONTENTS))
def test_typed_elements_of_each_datatype_come_back(datatype: str) -> None:
    dtype = numpy_dtype(BY_DATATYPE[datatype])
    array = np.array(["a", "ä"], object) if datatype == "BYTES" else np.array([0, 1]).astype(dtype)
    tensor = TensorMetadata(name="x", datatype=datatype, shape=(2,))
    metadata = ModelMetadata(name="m", version="1", inputs=(tensor,), outputs=(tensor,))
    request = messages().ModelInferRequest()
    elements = [each.encode() for each in array] if datatype == "BYTES" else array.tolist()
    getattr(request.inputs.add(name="x", datatype=datatype, shape=[2]).contents, CONTENTS[datatype]).extend(elements)
    feeds, wanted = decode(metadata, request)
    assert feeds["x"].dtype == dtype
    assert feeds["x"].tolist() == array.tolist()
    answer = messages().ModelInferResponse.FromString(encode(metadata, wanted, feeds))
    assert list(getattr(answer.outputs[0].contents, CONTENTS[datatype])) == elements


def _both(request: Any) -> None:
    request.raw_input_contents.extend([b"\0" * 8, b"\0" * 4])


def _too_few(request: Any) -> None:
    request.inputs[0].contents.fp32_contents.pop()


def _elsewhere(request: Any) -> None:
    request.inputs[0].contents.fp64_contents.append(1)


def _few_raw(request: Any) -> None:
    request.raw_input_contents.append(b"")


def _no_input(request: Any) -> None:
    request.inputs.pop()


def _no_text(request: Any) -> None:
    request.inputs[1].contents.bytes_contents[0] = b"\xff"


def _no_output(request: Any) -> None:
    request.outputs.add(name="w")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_both, "contents and raw_input_contents; give one of them"),
        (_too_few, r"1 elements, but the shape \[2\] takes 2"),
        (_elsewhere, r"the elements of FP32 are in contents\.fp32_contents, and not in fp64_contents"),
        (_few_raw, "1 of them, for 2 inputs"),
        (_no_input, "also takes t"),
        (_no_text, "not text in UTF-8"),
        (_no_output, "has no output 'w'"),
    ],
)
def test_what_is_not_well_formed_is_refused(change: Any, words: str) -> None:
    request = typed()
    change(request)
    with pytest.raises(RequestError, match=words):
        decode(METADATA, request)


def test_a_number_outside_of_its_datatype_is_refused() -> None:
    metadata = ModelMetadata(
        name="m", version="1", inputs=(TensorMetadata(name="x", datatype="INT8", shape=(1,)),), outputs=()
    )
    request = messages().ModelInferRequest()
    request.inputs.add(name="x", datatype="INT8", shape=[1]).contents.int_contents.append(300)
    with pytest.raises(RequestError, match="outside of the range of INT8"):
        decode(metadata, request)


def test_floats_of_16_bits_have_no_typed_form() -> None:
    tensor = TensorMetadata(name="x", datatype="FP16", shape=(1,))
    metadata = ModelMetadata(name="m", version="1", inputs=(tensor,), outputs=(tensor,))
    request = messages().ModelInferRequest()
    request.inputs.add(name="x", datatype="FP16", shape=[1]).contents.fp32_contents.append(1)
    with pytest.raises(RequestError, match="FP16 has no typed contents"):
        decode(metadata, request)


def test_every_message_has_the_fields_that_the_table_says() -> None:
    for name, fields in MESSAGES.items():
        found = messages()
        for part in name.split("."):
            found = getattr(found, part)
        numbers = {field.name: field.number for field in found.DESCRIPTOR.fields}
        assert numbers == {field: number for number, (field, _) in enumerate(fields, start=1)}
