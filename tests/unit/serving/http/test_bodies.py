from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from intarsia.serving.http.bodies import Decoder, encode
from intarsia.serving.statuses import RequestError
from tests.unit.serving.fakes import METADATA

X = {"name": "x", "datatype": "FP32", "shape": [2], "data": [1, 2]}
T = {"name": "t", "datatype": "BYTES", "shape": [1], "data": ["a"]}
RESULTS = {"y": np.array([1, 2], np.float32), "z": np.array(["b", ""], object)}


def decode(*request: Any) -> Any:
    """What a decoder that has seen nothing yet makes of a request."""
    return Decoder()(*request)


def body(*inputs: dict[str, Any], **others: Any) -> bytes:
    return json.dumps({"inputs": list(inputs or (X, T)), **others}).encode()


def binary(row: dict[str, Any], size: int) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name != "data"} | {"parameters": {"binary_data_size": size}}


def test_json_is_decoded() -> None:
    feeds, wanted = decode(METADATA, body(id="7"), None)
    assert {name: array.tolist() for name, array in feeds.items()} == {"x": [1.0, 2.0], "t": ["a"]}
    assert wanted.id == "7"
    assert [(output.name, is_binary) for output, is_binary in wanted.outputs] == [("y", False), ("z", False)]


def test_tensors_behind_the_json_are_taken_in_the_order_of_the_inputs() -> None:
    tensors = b"\1\0\0\0a" + np.array([1, 2], "<f4").tobytes()
    head = body(binary(T, 5), binary(X, 8))
    feeds, _ = decode(METADATA, head + tensors, str(len(head)))
    assert {name: array.tolist() for name, array in feeds.items()} == {"x": [1.0, 2.0], "t": ["a"]}
    head = body(X, binary(T, 5))
    feeds, _ = decode(METADATA, head + tensors[:5], str(len(head)))
    assert feeds["x"].tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("others", "binary_outputs"),
    [
        ({}, {"y": False, "z": False}),
        ({"parameters": {"binary_data_output": True}}, {"y": True, "z": True}),
        ({"outputs": [{"name": "z", "parameters": {"binary_data": True}}]}, {"z": True}),
        ({"outputs": [{"name": "z"}, {"name": "y"}]}, {"z": False, "y": False}),
        (
            {
                "outputs": [{"name": "y", "parameters": {"binary_data": False}}, {"name": "z"}],
                "parameters": {"binary_data_output": True},
            },
            {"y": False, "z": True},
        ),
    ],
)
def test_each_output_comes_as_it_is_asked_for(others: dict[str, Any], binary_outputs: dict[str, bool]) -> None:
    _, wanted = decode(METADATA, body(**others), None)
    assert {output.name: is_binary for output, is_binary in wanted.outputs} == binary_outputs
    content, length = encode(METADATA, wanted, RESULTS)
    assert (length is not None) == any(binary_outputs.values())
    answer, tensors = json.loads(content[:length]), content[length:] if length else b""
    assert (answer["model_name"], answer["model_version"]) == ("m", "1")
    assert "id" not in answer
    for row in answer["outputs"]:
        if binary_outputs[row["name"]]:
            assert "data" not in row
            size = row["parameters"]["binary_data_size"]
            expected = {"y": np.array([1, 2], "<f4").tobytes(), "z": b"\1\0\0\0b\0\0\0\0"}[row["name"]]
            assert tensors[:size] == expected
            tensors = tensors[size:]
        else:
            assert row["data"] == {"y": [1.0, 2.0], "z": ["b", ""]}[row["name"]]
    assert tensors == b""


@pytest.mark.parametrize(
    ("content", "length", "words"),
    [
        (b"", None, "the body is not JSON"),
        (b"{", None, "the body is not JSON"),
        (b"\xff", None, "the body is not JSON"),
        (b"[" * 100_000, None, "the body is not JSON"),
        (b"[]", None, "not an object"),
        (b"{}", None, "inputs: a list of objects"),
        (b'{"inputs": {}}', None, "inputs: a list of objects"),
        (b'{"inputs": [1]}', None, "inputs: a list of objects"),
        (b'{"inputs": [{}]}', None, r"inputs\[0\]\.name: a text"),
        (body(X), None, "also takes t"),
        (body(X, X, T), None, "there twice"),
        (body(X, T, {**X, "name": "u"}), None, "has no input 'u'; it has x, t"),
        (body({**X, "datatype": "INT32"}, T), None, "input 'x' is FP32, and the request says 'INT32'"),
        (body({**X, "datatype": 3}, T), None, r"datatype: a text"),
        (body({**X, "shape": "2"}, T), None, r"shape: a list of whole numbers"),
        (body({**X, "shape": [True]}, T), None, r"shape: a list of whole numbers"),
        (body({**X, "shape": [-2]}, T), None, "none of them negative"),
        (body({**X, "shape": [1] * 40}, T), None, "at most 32 sizes"),
        (body({**X, "shape": [2**70]}, T), None, r"shape: a list of whole numbers"),
        (body({**X, "shape": [2**60]}, T), None, "2 elements, but the shape"),
        (body({"name": "x", "datatype": "FP32", "shape": [2]}, T), None, "neither data nor"),
        (body({**X, "parameters": {"binary_data_size": 8}}, T), None, "give one of them"),
        (body(binary(X, 8), T), None, "0 bytes are left behind the JSON"),
        (body({**X, "parameters": 3}, T), None, r"inputs\[0\]\.parameters: an object"),
        (body(id=3), None, "id: a text"),
        (body(parameters=[]), None, "parameters: an object"),
        (body(parameters={"binary_data_output": 1}), None, "binary_data_output: true or false"),
        (body(outputs=3), None, "outputs: a list of objects"),
        (body(outputs=[{"name": "w"}]), None, "has no output 'w'; it has y, z"),
        (body(outputs=[{"name": "y"}, {"name": "y"}]), None, "named twice"),
        (body(outputs=[{"name": "y", "parameters": {"binary_data": "yes"}}]), None, "binary_data: true or false"),
        (body(), "x", "no number of bytes"),
        (body(), "-1", "no number of bytes"),
        (body(), "9999999", "no number of bytes"),
        (body() + b"12", str(len(body())), "2 bytes are left over"),
        (body(binary(X, 4), T) + b"0000", str(len(body(binary(X, 4), T))), "4 bytes, but FP32"),
    ],
)
def test_what_is_not_well_formed_is_refused(content: bytes, length: str | None, words: str) -> None:
    with pytest.raises(RequestError, match=words):
        decode(METADATA, content, length)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["name", "shape", "data", "datatype", "parameters", "binary_data_size", "binary_data"]), inner
    ),
    max_leaves=8,
)  # fmt: skip


@given(inputs=JSON, outputs=JSON, parameters=JSON, tail=st.binary(max_size=8), length=st.none() | st.integers(0, 60))
def test_any_body_is_decoded_or_refused(
    inputs: Any, outputs: Any, parameters: Any, tail: bytes, length: int | None
) -> None:
    content = json.dumps({"inputs": inputs, "outputs": outputs, "parameters": parameters}).encode() + tail
    with pytest.raises(RequestError):  # such inputs never have two right names
        decode(METADATA, content, None if length is None else str(length))


def test_the_same_json_before_other_tensors_is_understood_as_before() -> None:
    head = body(binary(T, 5), binary(X, 8), id="7", parameters={"binary_data_output": True})
    decoder = Decoder()
    first = decoder(METADATA, head + b"\1\0\0\0a" + np.array([1, 2], "<f4").tobytes(), str(len(head)))
    again = decoder(METADATA, head + b"\1\0\0\0b" + np.array([3, 4], "<f4").tobytes(), str(len(head)))
    assert {name: array.tolist() for name, array in first[0].items()} == {"t": ["a"], "x": [1.0, 2.0]}
    assert {name: array.tolist() for name, array in again[0].items()} == {"t": ["b"], "x": [3.0, 4.0]}
    assert again[1] == first[1]


def test_what_is_remembered_of_a_request_spares_no_check_of_the_next_one() -> None:
    head = body(binary(T, 5), binary(X, 8))
    decoder = Decoder()
    text, numbers = b"\1\0\0\0a", np.array([1, 2], "<f4").tobytes()
    decoder(METADATA, head + text + numbers, str(len(head)))
    for tensors, words in (
        (text + numbers + b"\0", "left over"),
        (text + numbers[:-1], "7 bytes are left"),
        (b"\2" + text[1:] + numbers, "left"),
    ):
        with pytest.raises(RequestError, match=words):
            decoder(METADATA, head + tensors, str(len(head)))
    other = replace(METADATA, version="2", inputs=METADATA.inputs[:1])
    with pytest.raises(RequestError, match="no input 't'"):
        decoder(other, head + text + numbers, str(len(head)))
