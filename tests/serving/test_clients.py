"""The clients of Triton, others' reading of the protocol, in an environment of their own, by `triton_client.py`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.serving.process import Running

PROGRAM = Path(__file__).parent / "triton_client.py"
TIMES = {"http": 1, "http as JSON": 1, "http.aio": 8, "grpc": 1}
DATATYPES = 12


@pytest.mark.large
def test_the_three_clients_of_triton_get_each_datatype_back(running: Running, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "-q", "tritonclient[all]>=2.60", "ml-dtypes"], check=True)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [python, PROGRAM, running.http, running.grpc], capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr
    told = [line.rpartition(" ")[0] for line in done.stdout.splitlines()]
    assert {client: told.count(client) for client in TIMES} == {name: n * DATATYPES for name, n in TIMES.items()}
    assert running.events("failed") == []
