"""The blocks of ``docs/python.md`` run, in order, as they stand there. They measure, and keep what they compile."""

from __future__ import annotations

import re
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from intarsia.backends import registry

PAGE = Path(__file__).parents[2] / "docs" / "python.md"
BLOCK = re.compile(r"^```python\n(?P<code>(?:(?!```).*\n)*)```$", re.MULTILINE)
pytestmark = pytest.mark.e2e


def blocks(*, with_torch: bool) -> list[str]:
    """The blocks that stand before the mark, or behind it, each at its own lines of the page."""
    page = PAGE.read_text(encoding="utf-8")
    mark = page.index("<!-- needs PyTorch -->")
    found = [each for each in BLOCK.finditer(page) if (each.start() > mark) is with_torch]
    return ["\n" * page[: each.start("code")].count("\n") + each["code"] for each in found]


def run(code: str, names: dict[str, Any]) -> None:
    exec(compile(code, str(PAGE), "exec"), names)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("page")


@pytest.fixture(scope="module")
def names(folder: Path) -> dict[str, Any]:
    """What the blocks without PyTorch leave."""
    left: dict[str, Any] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for code in blocks(with_torch=False):
            run(code, left)
    return left


def test_the_page_runs(names: dict[str, Any], folder: Path) -> None:
    assert names["session"].get_providers()[-1] == "CPUExecutionProvider"
    assert {each.suffix for each in (folder / "kept").iterdir()} == {".intarsia"}
    assert len(blocks(with_torch=False)) == 6


def test_the_part_about_torch_runs(names: dict[str, Any], folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not registry.probe("torch").usable or find_spec("onnxscript") is None:
        pytest.skip("PyTorch or onnxscript is not installed: the extra torch-compile")
    assert "intarsia" in {each.name for each in entry_points(group="torch_dynamo_backends")}
    monkeypatch.chdir(folder)
    for code in blocks(with_torch=True):
        run(code, names)
