"""What h2load says becomes figures only where every request was answered whole."""

from __future__ import annotations

import json
import struct

import numpy as np
import pytest

from benchmarks.loopback_load import BYTES, GRPC, JSON, doors, read_turn
from intarsia.serving.grpc.messages import messages

X = np.arange(6, dtype=np.float32).reshape(2, 3)
DOORS = doors(X, "y")
TOLD = (
    "requests: 4 total, 4 done, 4 succeeded, 0 failed, 0 errored, 0 timeout\ntraffic: 9KB (9000) total, 96B ({}) data"
)
LOG = "100\t200\t1000\n200\t200\t3000\n250\t0\t50\n300\t200\t2000\n"


def test_each_door_asks_the_same() -> None:
    assert json.loads(DOORS[JSON].body)["inputs"][0]["data"] == X.ravel().tolist()
    length = int(DOORS[BYTES].headers["inference-header-content-length"])
    assert json.loads(DOORS[BYTES].body[:length])["inputs"][0]["parameters"] == {"binary_data_size": X.nbytes}
    assert DOORS[BYTES].body[length:] == X.tobytes()
    packed, size = struct.unpack(">?I", DOORS[GRPC].body[:5])
    assert (packed, size) == (False, len(DOORS[GRPC].body) - 5)
    request = messages().ModelInferRequest.FromString(DOORS[GRPC].body[5:])
    assert (request.inputs[0].name, list(request.inputs[0].shape)) == ("x", [2, 3])
    assert list(request.raw_input_contents) == [X.tobytes()]


def test_a_turn_is_read() -> None:
    turn = read_turn(TOLD.format(3 * X.nbytes), LOG, DOORS[BYTES], seconds=2.0, cores_at_work=0.5)
    assert (turn.per_second, turn.p50_ms, turn.p99_ms) == (1.5, 2.0, 3.0)


@pytest.mark.parametrize(
    ("told", "log"),
    [
        (TOLD.format(3 * X.nbytes - 1), LOG),
        (TOLD.format(1000).replace("0 errored", "1 errored"), LOG),
        (TOLD.format(1000), LOG.replace("200\t3000", "503\t3000")),
        (TOLD.format(1000), ""),
        ("", LOG),
    ],
)
def test_a_turn_that_lost_something_is_none(told: str, log: str) -> None:
    with pytest.raises(RuntimeError, match="not every request was answered"):
        read_turn(told, log, DOORS[BYTES], seconds=2.0, cores_at_work=0.5)
