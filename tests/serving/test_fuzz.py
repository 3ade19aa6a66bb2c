"""Hostile bodies over both endpoints: each is answered or refused, never by a failure, and the server goes on."""

from __future__ import annotations

import json
import random
import socket
from typing import Any

import grpc
import numpy as np
import pytest

from tests.serving.process import Calls, Running, Web, binary_request
from tests.serving.test_grpc import infer_request

X = np.linspace(-1, 1, 128, dtype=np.float32).reshape(4, 32)
VALUES: tuple[Any, ...] = (
    *(None, True, 0, -1, 2**31, 2**63, -(2**70), 1e400, 0.5, "", "x", "FP32", "BYTES", "BF16", "\0", "\ud800", [], {}),
    *([[]], [None], {"name": "x"}, [[1], [2, 3]], "a" * 4000, [0] * 128, [[0.0] * 32] * 4),
)
CODES = {
    *(grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.NOT_FOUND, grpc.StatusCode.RESOURCE_EXHAUSTED),
}


def request() -> dict[str, Any]:
    tensor = {"name": "x", "datatype": "FP32", "shape": [4, 32], "data": X.ravel().tolist(), "parameters": {}}
    return {"id": "1", "inputs": [tensor], "outputs": [{"name": "y", "parameters": {}}], "parameters": {}}


def mutated(value: Any, dice: random.Random) -> Any:
    """The value with one place in it changed, left out, doubled or put elsewhere."""
    if isinstance(value, dict) and value and dice.random() < 0.9:
        key = dice.choice(list(value))
        if dice.random() < 0.2:
            return {name: each for name, each in value.items() if name != key}
        if dice.random() < 0.1:
            return value | {dice.choice(["binary_data_size", "binary_data", "data", "shape"]): dice.choice(VALUES)}
        return value | {key: mutated(value[key], dice)}
    if isinstance(value, list) and value and dice.random() < 0.8:
        place = dice.randrange(len(value))
        if dice.random() < 0.2:
            return value + value[: place + 1]
        return [*value[:place], mutated(value[place], dice), *value[place + 1 :]]
    return dice.choice(VALUES)


def scrambled(content: bytes, dice: random.Random) -> bytes:
    """The bytes with some changed, cut out or doubled."""
    found = bytearray(content)
    for _ in range(dice.randint(1, 6)):
        start = dice.randrange(len(found) + 1)
        end = min(len(found), start + dice.randint(0, 40))
        twice = bytes(found[start:end]) * 2
        found[start:end] = dice.choice([b"", dice.randbytes(dice.randint(0, 12)), twice, b"\0" * 8])
    return bytes(found)


def over_http(web: Web, dice: random.Random) -> int:
    sort = dice.randrange(3)
    headers: dict[str, str] = {}
    if sort == 0:
        body = json.dumps(mutated(mutated(request(), dice), dice)).encode()
    elif sort == 1:
        body = scrambled(json.dumps(request()).encode(), dice)
    else:
        body, headers = binary_request({"x": ("FP32", X)}, outputs=[{"name": "y", "parameters": {"binary_data": True}}])
        body = scrambled(body, dice)
        if dice.random() < 0.3:
            headers = {name: dice.choice(["", "0", "-1", "17", "99999999", "x", "1" * 40]) for name in headers}
    return web.infer("net", body, headers).status


def over_grpc(calls: Calls, dice: random.Random) -> grpc.StatusCode:
    message = infer_request(id="1")
    if dice.random() < 0.3:
        message.inputs[0].shape.append(dice.choice([0, -1, 2**62]))
    if dice.random() < 0.3:
        message.inputs[0].datatype = str(dice.choice(["", "BYTES", "FP64", "BF16", "x"]))
    content = message.SerializeToString()
    try:
        calls.ask("ModelInfer", scrambled(content, dice) if dice.random() < 0.8 else content)
    except grpc.RpcError as error:
        found: grpc.StatusCode = error.code()
        return found
    return grpc.StatusCode.OK


def attack(running: Running, number: int, seed: int) -> None:
    dice = random.Random(seed)
    with Web(running.http) as web, Calls(running.grpc) as calls:
        statuses = {over_http(web, dice) for _ in range(number // 2)}
        codes = {over_grpc(calls, dice) for _ in range(number - number // 2)}
        assert web.infer("net", request()).status == 200
        assert calls.ask("ModelInfer", infer_request()).outputs[0].name == "y"
    assert 400 in statuses
    assert statuses <= {200, 400, 404, 413}
    assert grpc.StatusCode.INVALID_ARGUMENT in codes
    assert codes <= {grpc.StatusCode.OK, *CODES}
    assert running.events("failed") == []


def test_hostile_bodies_leave_the_server_answering(running: Running) -> None:
    attack(running, 200, seed=0)


@pytest.mark.large
def test_many_hostile_bodies_leave_the_server_answering(running: Running) -> None:
    attack(running, 5000, seed=1)


@pytest.mark.parametrize(
    "sent",
    [
        b"\0" * 100,
        b"GET\r\n\r\n",
        b"POST /v2/models/net/infer HTTP/1.1\r\nHost: a\r\nContent-Length: -5\r\n\r\n",
        b"POST /v2/models/net/infer HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"POST /v2/models/net/infer HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nshort",
    ],
)
def test_what_is_no_request_of_http_leaves_the_server_answering(running: Running, web: Web, sent: bytes) -> None:
    host, _, port = running.http.partition(":")
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(4096):
            pass
    assert web.infer("net", request()).status == 200
