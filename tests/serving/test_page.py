"""``docs/serving.md``: its Python asks a server, its command lines are spelt right, its manifest starts one."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click.testing
import pytest
import yaml
from onnx import helper

from intarsia.cli.main import cli
from intarsia.config import RunSettings, Spin
from intarsia.graph import load_model
from intarsia.partitioning import Partition
from intarsia.runtime import attach_report, build, plan_of, write_artifact
from intarsia.target import Target
from tests.docs.test_examples import PYTHON, ROOT, commands, parse, run
from tests.serving.process import PATIENCE_S, Running, Web, serving
from tests.unit.graph.models import info, model

PAGE = ROOT / "docs" / "serving.md"
TEXT = PAGE.read_text(encoding="utf-8")
HTTP, GRPC = "127.0.0.1:8000", "127.0.0.1:8001"
OF_COMPILING = {"--threads", "--max-latency", "--max-memory", "--shape"}
"""Options that the page names and `serve` does not have."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where ``net.intarsia`` is, which sets negative numbers to zero."""
    found = tmp_path_factory.mktemp("page")
    graph = load_model(model([helper.make_node("Relu", ["x"], ["y"])], [info("x", (1, 3))], [info("y", (1, 3))]))
    part = Partition(target=Target("reference"), nodes=tuple(node.id for node in graph.nodes))
    settings = RunSettings(threads=1, spin=Spin.NEVER)
    write_artifact(found / "net.intarsia", graph, build(graph, plan_of(graph, [part], settings)))
    attach_report(found / "net.intarsia", {})
    return found


@pytest.fixture(scope="module")
def manifest() -> dict[str, Any]:
    (text,) = re.findall(r"^```yaml\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
    (container,) = yaml.safe_load(text)["spec"]["template"]["spec"]["containers"]
    found: dict[str, Any] = container
    return found


@pytest.fixture(scope="module")
def page_server(folder: Path, manifest: dict[str, Any]) -> Iterator[Running]:
    """A server by the arguments of the manifest, but for the addresses."""
    options = [each for each in manifest["args"] if each not in {"--http", "--grpc"} and ":800" not in each]
    with serving(str(folder / "net.intarsia"), *options) as found:
        yield found


def test_the_python_of_the_page_asks_a_server(page_server: Running) -> None:
    names: dict[str, Any] = {}
    blocks = [each.replace(HTTP, page_server.http) for each in PYTHON.findall(TEXT)]
    assert len(blocks) == 2
    assert [fault for block in blocks for fault in run(block, names)] == []


def test_the_commands_of_the_page_are_spelt_right(manifest: dict[str, Any]) -> None:
    lines = [*commands(PAGE), shlex.join(["intarsia", *manifest["command"][1:], *manifest["args"]])]
    assert len(lines) == 8
    for line in lines:
        parse(cli, shlex.split(line, comments=True)[1:], line)


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl here")
def test_the_lines_for_curl_ask_a_server(page_server: Running) -> None:
    (block,) = re.findall(r"^```bash\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
    about, asked = block.replace("\\\n", " ").replace(HTTP, page_server.http).splitlines()
    metadata = _printed(about)
    assert metadata["inputs"] == [{"name": "x", "datatype": "FP32", "shape": [1, 3]}]
    assert _printed(asked)["outputs"][0]["data"] == [1.0, 0.0, 3.0]


def _printed(line: str) -> Any:
    words = shlex.split(line)
    done = subprocess.run([words[0], "-sS", *words[1:]], capture_output=True, text=True, check=True, timeout=PATIENCE_S)
    return json.loads(done.stdout)


def test_the_probes_of_the_manifest_are_answered(page_server: Running, manifest: dict[str, Any]) -> None:
    with Web(page_server.http) as web:
        for probe in ("livenessProbe", "readinessProbe"):
            assert web.get(manifest[probe]["httpGet"]["path"]).status == 200


def test_every_figure_of_the_page_is_there(page_server: Running) -> None:
    named = set(re.findall(r"`(intarsia_\w+)`", TEXT))
    assert len(named) == 6
    with Web(page_server.http) as web:
        text = web.get("/metrics").body.decode()
    assert {each for each in named if not re.search(rf"^# TYPE {each} ", text, re.MULTILINE)} == set()


def test_every_option_is_in_the_help() -> None:
    shown = click.testing.CliRunner().invoke(cli, ["serve", "--help"]).output
    assert {each for each in re.findall(r"`(--[a-z-]+)", TEXT) if each not in shown} <= OF_COMPILING
