"""Another server of the Open Inference Protocol that installs from PyPI: kserve's own, in an environment of its own.

kserve needs other versions of packages than Intarsia, so it gets a virtual environment, which takes minutes to make and
500 MB; it is made once, in the user's cache, and used again.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from platformdirs import user_cache_path

from benchmarks.serving_tables import OTHER

PACKAGES = ("kserve==0.21.0", "onnxruntime=={onnxruntime}")
PROGRAM = Path(__file__).parent / "kserve_program.py"
NAME = OTHER
_SHOWN = ("kserve", "onnxruntime", "uvicorn", "grpcio", "numpy")
_PATIENCE_S = 120.0


def environment(onnxruntime: str) -> Path:
    """The Python of an environment with kserve and this version of ONNX Runtime; made if there is none."""
    folder = user_cache_path("intarsia") / f"benchmark-kserve-onnxruntime-{onnxruntime}"
    python, done = folder / "bin" / "python", folder / "installed"
    if not done.exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        packages = [package.format(onnxruntime=onnxruntime) for package in PACKAGES]
        subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=True)
        done.touch()
    return python


def versions(python: Path) -> Mapping[str, str]:
    """What is installed there, as far as it matters here."""
    line = f"import json, importlib.metadata as m; print(json.dumps({{n: m.version(n) for n in {_SHOWN!r}}}))"
    found: Mapping[str, str] = json.loads(subprocess.check_output([python, "-c", line]))
    return found


@contextmanager
def other_server(python: Path, models: Mapping[str, Path], threads: int) -> Iterator[Mapping[str, str]]:
    """The addresses by protocol of a server of these ONNX models, each in one session of so many threads.

    Raises:
        RuntimeError: It does not start.
    """
    ports = _free_ports(2)
    line = [str(python), str(PROGRAM), *map(str, ports), str(threads)]
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    named = [f"{name}={path}" for name, path in models.items()]
    with subprocess.Popen([*line, *named], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=inherited) as made:
        try:
            _await_ready(made, f"http://127.0.0.1:{ports[0]}/v2/health/ready")
            yield {"http": f"127.0.0.1:{ports[0]}", "grpc": f"127.0.0.1:{ports[1]}"}
        finally:
            made.kill()


def _await_ready(process: subprocess.Popen[bytes], url: str) -> None:
    until = time.monotonic() + _PATIENCE_S
    while time.monotonic() < until and process.poll() is None:
        try:
            with urllib.request.urlopen(url):
                return
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.2)
    raise RuntimeError(f"{' '.join(map(str, process.args))} does not get ready")  # type: ignore[arg-type]


def _free_ports(number: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(number)]
    try:
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()
