"""Asks another server what the protocol's tests ask ours, to see that the tests are fair.

``python -m tests.serving.beside`` starts kserve's own server, with the same models on ONNX Runtime, and writes how each
test ended there to ``benchmarks/results/protocol_beside.json``; `benchmarks.write_tables` puts it on the page.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from importlib.metadata import version
from pathlib import Path

import onnx

from benchmarks import results_file
from benchmarks.other_server import NAME, environment, other_server, versions
from benchmarks.serving_tables import PROTOCOL
from tests.serving.conftest import ELSEWHERE
from tests.serving.models import DATATYPES, FP16, identities
from tests.unit.graph.models import two_layers

ROOT = Path(__file__).parents[2]
FILES = ("tests/serving/test_http.py", "tests/serving/test_grpc.py")


def outcomes(report: Path) -> dict[str, dict[str, int]]:
    """How many cases of each test passed, and how many failed."""
    found: dict[str, dict[str, int]] = {}
    for case in ET.parse(report).getroot().iter("testcase"):
        test = f"{case.attrib['classname'].rpartition('.')[2]}.{case.attrib['name'].partition('[')[0]}"
        entry = found.setdefault(test, {"passed": 0, "failed": 0})
        entry["failed" if case.findall("failure") or case.findall("error") else "passed"] += 1
    return found


def main() -> None:
    """Start the other server, ask it, and write what came of it."""
    parser = argparse.ArgumentParser(prog="python -m tests.serving.beside", description=__doc__)
    parser.add_argument("--results", type=Path, default=PROTOCOL, metavar="FILE", help="where the outcomes go")
    given = parser.parse_args()
    python = environment(version("onnxruntime"))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        protos = {"net": two_layers(), "types": identities(DATATYPES), "fp16": identities([FP16])}
        models = {model: folder / f"{model}.onnx" for model in protos}
        for model, proto in protos.items():
            onnx.save(proto, models[model])
        report = folder / "report.xml"
        line = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-n",
            "0",
            f"--junitxml={report}",
            "-p",
            "no:cacheprovider",
            *FILES,
        ]
        with other_server(python, models, threads=1) as at:
            subprocess.run(line, cwd=ROOT, env=os.environ | {ELSEWHERE: f"{at['http']},{at['grpc']}"}, check=False)
        results = {"versions": {NAME: dict(versions(python))}, "tests": outcomes(report)}
    results_file.store(given.results, results)


if __name__ == "__main__":
    main()
