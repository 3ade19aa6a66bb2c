from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from intarsia.target import KINDS
from intarsia.target.describe import HEADING, describe_kinds, section

PAGE = Path(__file__).parents[3] / "docs" / "spec-language.md"


def test_the_docs_page_holds_the_table() -> None:
    assert PAGE.read_text(encoding="utf-8").partition(HEADING)[2] == section()


def test_the_page_is_written_anew(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{HEADING}old", encoding="utf-8")
    subprocess.run([sys.executable, "-m", "intarsia.target.describe", str(page)], check=True)
    assert page.read_text(encoding="utf-8") == f"before\n{HEADING}{section()}"


@pytest.mark.parametrize("name", KINDS)
def test_every_option_is_described(name: str) -> None:
    described = describe_kinds()[name]
    assert [option.name for option in described.options] == list(KINDS[name].options)
    for option in described.options:
        assert option.flag == f"--target-{name}-{option.name}"
        assert option.type in option.help
        assert option.meaning in option.help
        where = "KIND" if option.is_shared else name
        assert f"| `{option.name}` | {option.type.replace('|', chr(92) + '|')} | {option.default} |" in section(), where


def test_help_says_unit_and_default() -> None:
    options = {option.name: option for option in describe_kinds()["opencl"].own_options}
    assert options["thread_warp_size"].help == "threads that run in lockstep [int ≥ 0; in threads; default 1]"
    assert "host" not in options
