"""What runs in an emulator is compared by instructions, and never by time."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

import intarsia
from intarsia.cli.main import cli
from intarsia.errors import ConfigError
from intarsia.evaluation.instructions import are_emulated, count
from intarsia.evaluation.recheck import retime
from intarsia.runtime import Artifact
from tests.unit.codegen.tools import BOARDS
from tests.unit.graph.models import two_layers


def compiled(folder: Path, target: str) -> Path:
    form = {"targets": [target], "executor": "aot", "runtime": "crt"}
    path = folder / f"{target.partition(' ')[0]}{len(list(folder.glob('*.intarsia')))}.intarsia"
    with intarsia.compile(two_layers().SerializeToString(), form, store=folder / "store") as made:
        return made.save(path)


@BOARDS
def test_instructions_are_counted_and_repeat_and_no_time_is_told(tmp_path: Path) -> None:
    board = Artifact(compiled(tmp_path, "c -mcpu=cortex-m4 -board=mps2-an386"))
    here = Artifact(compiled(tmp_path, "c"))
    assert are_emulated([board])
    assert not are_emulated([here, here])
    with pytest.raises(ConfigError, match=r"c0.intarsia runs in an emulator, .*c1.intarsia on this machine"):
        are_emulated([here, board])
    first, again = count([board, board], 0)
    assert first == again
    assert first["instructions"] > 100
    assert first["place"] == "QEMU's mps2-an386"
    assert retime(board, 0) is None
    done = CliRunner().invoke(cli, ["bench", str(board.path), str(board.path)])
    assert done.exit_code == 0, done.output
    assert f"{first['instructions']:,}" in done.stdout
    assert "no cycles" in done.stdout
    assert CliRunner().invoke(cli, ["bench", str(board.path), "--against", "reference"]).exit_code == 2
    page = tmp_path / "page.html"
    assert CliRunner().invoke(cli, ["report", str(board.path), "-o", str(page)]).exit_code == 0
    text = page.read_text(encoding="utf-8")
    assert "deepest stack" in text
    assert "workspace" in text
