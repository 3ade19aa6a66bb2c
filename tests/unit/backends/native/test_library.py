from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from intarsia.backends.native import library, recipe
from intarsia.errors import CompileError

CPU = frozenset({"avx2", "fma", "sse4_2"})


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder, and a CPU of one core that is always the same."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(library, "cpu_features", lambda: CPU)
    monkeypatch.setattr(library, "thread_budget", lambda: 1)
    return tmp_path / "cache" / "intarsia" / "native"


def compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, *options: str) -> Path:
    """A program that stands for the compiler; it finds the output's path in ``$out``, its arguments in ``calls``."""
    path = tmp_path / "c++"
    find = 'case " $* " in *" -c "*) exit 0;; esac; while [ "$1" != "-o" ]; do shift; done; out=$2'
    path.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/calls\n{find}\n{script}\n', encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("CXX", " ".join([str(path), *options]))
    return path


def calls(tmp_path: Path) -> list[str]:
    path = tmp_path / "calls"
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def test_it_is_compiled_once_and_found_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    compiler(tmp_path, monkeypatch, "echo library > $out", "-v")
    first, second = library.built(), library.built()
    assert first == second
    assert first.parent == cache
    assert first.read_text() == "library\n"
    assert {path.suffix for path in cache.iterdir()} == {".so", ".lock"}
    *objects, link = calls(tmp_path)
    for line in (*objects, link):
        assert line.startswith("-v ")
        assert "-mavx2 -mfma" in line
        assert "avx512" not in line
    assert sorted(line.split()[-1] for line in objects) == sorted(map(str, recipe.sources("*.cpp")))
    linked = [word for word in link.split() if word.endswith(".o")]
    assert linked == [f"{path.stem}.o" for path in recipe.sources("*.cpp")]


def test_what_was_compiled_before_it_was_ended_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    path = compiler(tmp_path, monkeypatch, "echo library > $out")
    words = path.read_text(encoding="utf-8")
    last = min(recipe.sources("*.cpp"), key=lambda each: each.stat().st_size)
    stop = tmp_path / "stop"
    stop.touch()
    ended = f'[ -e {stop} ] && case "$*" in *{last}) kill -9 $$;; esac'
    path.write_text(words.replace("\ncase", f"\n{ended}\ncase"), encoding="utf-8")
    monkeypatch.setattr("shutil.rmtree", lambda *_, **__: None)  # as if the whole process had been ended
    with pytest.raises(CompileError):
        library.built()
    stop.unlink()
    assert library.built().exists()
    # That source is compiled twice, each other once; and all are linked.
    assert len(calls(tmp_path)) == len(recipe.sources("*.cpp")) + 2


def test_the_first_part_that_does_not_compile_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = compiler(tmp_path, monkeypatch, "true")
    monkeypatch.setattr(library, "thread_budget", lambda: 2)
    path.write_text("#!/bin/sh\necho no such luck >&2\nexit 1\n", encoding="utf-8")
    with pytest.raises(CompileError, match="no such luck"):
        library.built()


def test_asking_what_is_lacking_compiles_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler(tmp_path, monkeypatch, "echo library > $out")
    assert library.lack() is None
    assert calls(tmp_path) == []


@pytest.mark.parametrize("change", ["compiler", "options", "cpu", "sources"])
def test_another_compiler_option_cpu_or_source_makes_another_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    path = compiler(tmp_path, monkeypatch, "echo library > $out")
    before = library.built()
    match change:
        case "compiler":
            os.utime(path, (1, 1))
        case "options":
            monkeypatch.setenv("CXX", f"{path} -g")
        case "cpu":
            monkeypatch.setattr(library, "cpu_features", lambda: CPU | set(recipe.SETS))
        case _:
            monkeypatch.setattr(recipe, "fingerprint", lambda: "other")
    assert library.built() != before
    assert before.exists()


def test_a_compiler_that_fails_is_remembered_with_its_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler(tmp_path, monkeypatch, "echo half > $out; echo 'no such flag' >&2; exit 1")
    with pytest.raises(CompileError, match=r"^native library failed at compile: (?s:.*)no such flag"):
        library.built()
    lack = library.lack()
    assert lack is not None
    assert "no such flag" in lack.reason
    assert lack.fix is not None
    failure = Path(lack.fix.rpartition(" ")[2])
    failure.unlink()
    assert library.lack() is None


def test_a_compiler_that_was_killed_may_try_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler(tmp_path, monkeypatch, "kill -9 $$")
    with pytest.raises(CompileError, match="exit status -9"):
        library.built()
    assert library.lack() is None


def test_without_a_compiler_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    lack = library.lack()
    assert lack is not None
    assert lack.fix == "apt-get install g++"
    with pytest.raises(CompileError, match="apt-get install g"):
        library.built()


@pytest.mark.parametrize(("features", "missing"), [(frozenset(), "avx2, fma"), (frozenset({"avx2"}), "lacks fma")])
def test_a_cpu_that_is_too_old_is_named(
    monkeypatch: pytest.MonkeyPatch, features: frozenset[str], missing: str
) -> None:
    monkeypatch.setattr(library, "cpu_features", lambda: features)
    lack = library.lack()
    assert lack is not None
    assert missing in lack.reason
    assert lack.fix is None


def test_the_block_is_that_of_the_widest_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    assert library.block() == 8
    monkeypatch.setattr(library, "cpu_features", lambda: CPU | set(recipe.SETS))
    assert library.block() == 16


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An install from a wheel that holds a library for a CPU with AVX2, and no compiler."""
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(recipe, "PREBUILT", tmp_path / "prebuilt")
    place = recipe.PREBUILT / recipe.prebuilt_name(recipe.NEEDED)
    place.parent.mkdir()
    place.write_text("library", encoding="utf-8")
    return place


def test_the_wheels_library_takes_no_compiler(wheel: Path, cache: Path) -> None:
    assert library.lack() is None
    assert library.built() == library.built_before() == wheel
    assert not cache.exists()


def test_the_wheels_library_comes_before_the_compiler(
    wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler(tmp_path, monkeypatch, "echo another > $out")
    assert library.built() == wheel
    assert calls(tmp_path) == []


def test_a_cpu_with_a_part_of_what_a_block_of_16_needs_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "cpu_features", lambda: {*recipe.NEEDED, "avx512f", "avx512vl"})
    lack = library.cpu_lack()
    assert lack is not None
    assert lack.reason.endswith("this one lacks avx512bw, avx512dq")


@pytest.mark.parametrize("change", ["wider CPU", "sources"])
def test_a_wheels_library_for_another_cpu_or_of_other_sources_is_passed_over(
    wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    if change == "sources":
        monkeypatch.setattr(recipe, "fingerprint", lambda: "other")
    else:  # blocks of 16 channels, which the library for AVX2 does not have
        monkeypatch.setattr(library, "cpu_features", lambda: CPU | set(recipe.SETS))
    assert library.prebuilt() is None
    assert library.built_before() is None
    lack = library.lack()
    assert lack is not None
    assert lack.fix == "apt-get install g++"
