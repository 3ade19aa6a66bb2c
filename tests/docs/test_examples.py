"""The examples of the pages run: blocks of Python from top to bottom, in one namespace a page; commands are parsed.

A value that a comment behind an expression states is compared. Compiling is stood in for by a build that measures
nothing; real sessions are recorded by ``benchmarks.first_session``.
"""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import click
import numpy as np
import onnx
import pytest

import intarsia
import intarsia.driver
from intarsia.cli.main import cli
from intarsia.config import RunSettings, Spin
from intarsia.graph import load_model
from intarsia.partitioning import Partition
from intarsia.runtime import CompiledModel, attach_report, build, load, plan_of, write_artifact
from intarsia.target import KINDS, TAGS
from tests.unit.graph.models import info, model

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("docs/*.md"), ROOT / "README.md"])
PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^(?:    |\$ )(intarsia .*)$", re.MULTILINE)
OTHERWISE_RUN = frozenset({"adding-an-engine.md", "deployments.md", "python.md", "serving.md"})
"""The blocks of the first are parts of tests/plugin_example, which is tested as a whole; those of the others run in
order, and measure, in tests/e2e/test_deployments.py, tests/e2e/test_python_page.py and tests/serving/test_page.py."""
PICTURE = (1, 3, 224, 224)
GIVEN: Mapping[str, str] = MappingProxyType(
    {
        "configuration.md": "from intarsia.target import Target\nmodel = 'model.onnx'",
        "devices.md": """
from intarsia.graph import load_model
graph, model, config = load_model("model.onnx"), "model.onnx", intarsia.CompilationConfig.of(
    {"targets": ["llvm"], "devices": {"gpu2": "cpu:2"}})
""",
        "errors.md": "target = 'onnxruntime'",
        "features.md": """
from intarsia.target import Target
from intarsia.target.features import has_features
target = Target("llvm -mcpu=haswell")
""",
        "trust.md": """
from pathlib import Path
from intarsia.runtime import load
from intarsia.runtime.artifact.signature import make_keys, sign
make_keys(Path("release.key"), Path("release.pub"))
intarsia.compile("model.onnx").save("model.intarsia")
sign(Path("model.intarsia"), Path("release.key"))
intarsia.load = load
""",
        "remote.md": "image = np.zeros((1, 3, 224, 224), np.float32)",
        "spec-language.md": """
from intarsia.target import Dispatch, Target, register_kind
""",
    }
)
"""What a page takes for granted."""


def named_model() -> onnx.ModelProto:
    """A chain with the names that the pages use."""
    names = ("conv1", "conv2", "conv_7", "relu_7")
    values = ("data", "mask", "a", "boxes", "scores")
    nodes = [
        onnx.helper.make_node("Relu", [before], [after], name=name)
        for name, before, after in zip(names, values, values[1:], strict=False)
    ]
    return model(nodes, [info("data", PICTURE)], [info("boxes", PICTURE), info("scores", PICTURE)])


def unmeasured(source: Any, *_: Any, **__: Any) -> CompiledModel:
    """The whole model on the reference."""
    graph = load_model(source)
    part = Partition(target=intarsia.Target("reference"), nodes=tuple(graph.position))
    path = Path("built.intarsia")
    write_artifact(path, graph, build(graph, plan_of(graph, [part], RunSettings(threads=1, spin=Spin.NEVER))))
    attach_report(path, {})
    return load(path)


def run(block: str, names: dict[str, Any]) -> Iterator[str]:
    """Run a block; what a comment states otherwise than it is."""
    lines = block.splitlines()
    for statement in ast.parse(block).body:
        code = ast.get_source_segment(block, statement) or ""
        stated = lines[(statement.end_lineno or 1) - 1].partition("  # ")[2]
        if isinstance(statement, ast.Expr) and (wanted := _literal(stated)) is not None:
            found = eval(code, names)
            if found != wanted[0]:
                yield f"{code} is {found!r}, not {stated}"
        else:
            exec(code, names)


def _literal(text: str) -> tuple[Any] | None:
    try:
        return (ast.literal_eval(re.split(r"[:,;]", text)[0]),)
    except (ValueError, SyntaxError):
        return None


@pytest.fixture
def _somewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A folder with the files that the pages name."""
    monkeypatch.chdir(tmp_path)
    Path("model.onnx").write_bytes(named_model().SerializeToString())
    Path("devices.yaml").write_text("nodes: {conv1: gpu2}\n", encoding="utf-8")
    Path("worker.token").write_text("secret", encoding="ascii")
    Path("board.yaml").write_text("targets: [mnn, llvm]\n", encoding="utf-8")
    monkeypatch.setattr(intarsia, "compile", unmeasured, raising=False)
    monkeypatch.setattr(intarsia, "load", lambda _: unmeasured("model.onnx"), raising=False)
    monkeypatch.setattr(intarsia.driver, "build", unmeasured)
    with KINDS.scope(), TAGS.scope():
        yield


@pytest.mark.usefixtures("_somewhere")
@pytest.mark.parametrize(
    "page",
    [each for each in PAGES if each.name not in OTHERWISE_RUN and PYTHON.search(each.read_text(encoding="utf-8"))],
    ids=lambda path: path.name,
)
def test_the_python_of_a_page_runs(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {
        "intarsia": intarsia,
        "np": np,
        **{name: getattr(intarsia, name) for name in ("Target", "CompilationConfig")},
    }
    exec(GIVEN.get(page.name, ""), names)
    assert [fault for block in PYTHON.findall(page.read_text(encoding="utf-8")) for fault in run(block, names)] == []


def commands(page: Path) -> list[str]:
    return [found.partition(" > ")[0].strip() for found in COMMAND.findall(page.read_text(encoding="utf-8"))]


@pytest.mark.usefixtures("_somewhere")
@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if page.name not in OTHERWISE_RUN and commands(page)],
    ids=lambda path: path.name,
)
def test_the_commands_of_a_page_are_spelt_right(page: Path) -> None:
    for line in commands(page):
        if not line.endswith("--help"):
            parse(cli, shlex.split(line, comments=True)[1:], line)


def parse(verb: click.Command, arguments: list[str], line: str) -> None:
    """Parse as the command would; nothing runs.

    Raises:
        click.UsageError: An option or a value that is not known.
    """
    # Without the group's context a verb would have no -h, here and from then on.
    context = click.Context(cli, **cli.context_settings)
    while isinstance(verb, click.Group):
        assert arguments[0] in verb.commands, f"{line}: there is no verb {arguments[0]}"
        verb, arguments = verb.commands[arguments[0]], arguments[1:]
    verb.make_context(verb.name, arguments, parent=context)
