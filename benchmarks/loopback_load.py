"""Clients on loopback that cost little themselves: h2load, which speaks HTTP/1.1 and what gRPC is made of.

A `Door` is one way to ask a served model: HTTP with JSON, HTTP with tensors as bytes, or gRPC. Every request of a turn
is the same. That an answer is right is seen once for each door; in a turn each must have its status and its size.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import struct
import subprocess
import urllib.request
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from intarsia.cost.timing.statistics import percentile
from intarsia.runtime.executors.pinning import pin
from intarsia.serving.grpc.messages import SERVICE, messages

MODEL = "m"
"""What a served model is called."""
JSON, BYTES, GRPC = "HTTP, JSON", "HTTP, bytes", "gRPC"
HEADER_LENGTH = "inference-header-content-length"
_WARM_UP = "500ms"
_PATIENCE_S = 60.0
_NONE_LOST = "0 failed, 0 errored, 0 timeout"
_BEGUN_BEFORE = "0"
"""What stands in place of the status where an answer's head came before the turn, and its end in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """One way to ask, with the request in it.

    Attributes:
        path: What is asked for.
        headers: What is sent beside the body.
        body: The request.
        least_bytes: Which the body of an answer has at least; one that is an error has fewer.
        is_grpc: Whether it is spoken at the address for gRPC.
    """

    path: str
    headers: Mapping[str, str]
    body: bytes
    least_bytes: int
    is_grpc: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What so many clients got in one turn, and how many cores they kept at work themselves."""

    per_second: float
    p50_ms: float
    p99_ms: float
    cores_at_work: float


def doors(x: np.ndarray, output: str) -> Mapping[str, Door]:
    """Each way to ask for the output of one input ``x``, which is of the same shape."""
    row = {"name": "x", "datatype": "FP32", "shape": list(x.shape)}
    path = f"/v2/models/{MODEL}/infer"
    text = json.dumps({"inputs": [row | {"data": x.ravel().tolist()}]}).encode()
    wanted = [{"name": output, "parameters": {"binary_data": True}}]
    binary = [row | {"parameters": {"binary_data_size": x.nbytes}}]
    head = json.dumps({"inputs": binary, "outputs": wanted}).encode()
    message = messages().ModelInferRequest(model_name=MODEL, raw_input_contents=[x.tobytes()])
    message.inputs.add(**row)
    content = message.SerializeToString()
    framed = struct.pack(">?I", False, len(content)) + content
    return {
        JSON: Door(path=path, headers={"content-type": "application/json"}, body=text, least_bytes=2 * x.size),
        BYTES: Door(
            path=path,
            headers={"content-type": "application/octet-stream", HEADER_LENGTH: str(len(head))},
            body=head + x.tobytes(),
            least_bytes=x.nbytes,
        ),
        GRPC: Door(
            path=f"/{SERVICE}/ModelInfer",
            headers={"content-type": "application/grpc", "te": "trailers"},
            body=framed,
            least_bytes=x.nbytes,
            is_grpc=True,
        ),
    }


def answer_over_http(door: Door, address: str) -> np.ndarray:
    """What one request gets, asked with the standard library."""
    request = urllib.request.Request(f"http://{address}{door.path}", door.body, dict(door.headers))
    with urllib.request.urlopen(request) as response:
        content, length = response.read(), response.headers[HEADER_LENGTH]
    if length is not None:
        return np.frombuffer(content[int(length) :], np.float32)
    return np.array(json.loads(content)["outputs"][0]["data"], np.float32)


def turn(
    door: Door, address: str, clients: int, seconds: float, folder: Path, cores: Collection[int] | None = None
) -> Turn:
    """Have so many clients ask as fast as they get answers; on these cores, if some are named.

    Raises:
        SystemExit: There is no h2load.
        RuntimeError: A request was not answered, or with less than an answer is.
    """
    if shutil.which("h2load") is None:
        raise SystemExit("the clients are h2load's, which is not here: apt-get install nghttp2-client")
    body, log = folder / "body", folder / "times"
    body.write_bytes(door.body)
    log.unlink(missing_ok=True)
    line = ["h2load", f"--clients={clients}", f"--duration={round(1e3 * seconds)}ms", f"--warm-up-time={_WARM_UP}"]
    line += [f"--data={body}", f"--log-file={log}", *([] if door.is_grpc else ["--h1"])]
    line += [f"--header={name}: {value}" for name, value in door.headers.items()]
    before = os.times()
    done = subprocess.run(
        [*line, f"http://{address}{door.path}"],
        capture_output=True,
        text=True,
        timeout=seconds + _PATIENCE_S,
        preexec_fn=None if cores is None else partial(pin, cores),
    )
    if done.returncode:
        raise RuntimeError(f"h2load: {done.stderr or done.stdout}")
    after = os.times()
    took_s = after.children_user + after.children_system - before.children_user - before.children_system
    at_work = took_s / (after.elapsed - before.elapsed)
    return read_turn(done.stdout, log.read_text(encoding="utf-8"), door, seconds, at_work)


def read_turn(told: str, log: str, door: Door, seconds: float, cores_at_work: float) -> Turn:
    """What h2load said, and its line for each request: when it was sent, the status, and microseconds."""
    rows = [row for line in log.splitlines() if (row := line.split("\t"))[1] != _BEGUN_BEFORE]
    statuses = {status for _, status, _ in rows}
    size = re.search(r"\((\d+)\) data", told)
    if (
        statuses != {"200"}
        or _NONE_LOST not in told
        or size is None
        or int(size.group(1)) < door.least_bytes * len(rows)
    ):
        raise RuntimeError(f"{door.path}: not every request was answered ({', '.join(sorted(statuses))}): {told}")
    took_ms = [int(us) / 1e3 for *_, us in rows]
    return Turn(
        per_second=len(rows) / seconds,
        p50_ms=percentile(took_ms, 0.5),
        p99_ms=percentile(took_ms, 0.99),
        cores_at_work=cores_at_work,
    )
