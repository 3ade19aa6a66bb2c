from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from intarsia.backends.native import recipe


def test_the_fingerprint_covers_the_sources_and_nothing_else(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(recipe, "FOLDER", tmp_path)
    seen = set()
    for name, text in (("a.cpp", "1"), ("a.cpp", "2"), ("b.h", "1"), ("notes.md", "1")):
        (tmp_path / name).write_text(text, encoding="utf-8")
        recipe.fingerprint.cache_clear()
        seen.add(recipe.fingerprint())
    recipe.fingerprint.cache_clear()
    assert len(seen) == 3


def test_a_built_library_is_called_by_its_sources_and_by_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    names = {recipe.prebuilt_name(each) for each in recipe.VARIANTS}
    assert len(names) == len(recipe.VARIANTS)
    assert recipe.prebuilt_name(("avx2", "fma")) == f"kernels-{recipe.fingerprint()}-avx2-fma.so"
    monkeypatch.setattr(recipe, "fingerprint", lambda: "other")
    assert names.isdisjoint({recipe.prebuilt_name(each) for each in recipe.VARIANTS})


def test_the_command_compiles_every_source_for_the_instruction_sets_that_are_stated() -> None:
    line = recipe.command(("g++", "-v"), recipe.flags(("avx2",)), Path("out.so"))
    assert line[:2] == ["g++", "-v"]
    assert "-mavx2" in line
    assert line[line.index("-o") + 1] == "out.so"
    assert [Path(each).name for each in line if each.endswith(".cpp")] == [
        path.name for path in recipe.sources("*.cpp")
    ]


def test_it_is_read_where_nothing_is_installed() -> None:
    line = [sys.executable, "-I", "-S", str(recipe.__file__)]
    subprocess.run(line, check=True)
