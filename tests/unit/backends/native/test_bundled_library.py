from __future__ import annotations

import ctypes
import platform
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from intarsia.backends.contract import EngineArtifact
from intarsia.backends.native import bundled_library, library, recipe
from intarsia.errors import CompileError, LoadError

CPU = frozenset({"avx2", "fma", "avx512f", "sse4_2"})
LIBRARY = b"library"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder, a CPU that is always the same, no compiler, and a loader that takes anything."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(library, "cpu_features", lambda: CPU)
    monkeypatch.setattr(library, "find_compiler", lambda: None)
    monkeypatch.setattr(ctypes, "CDLL", lambda path: None)
    return tmp_path / "cache" / "intarsia" / "native"


def artifact(content: bytes = LIBRARY, **facts: object) -> EngineArtifact:
    known = {"system": "Linux", "architecture": platform.machine(), "instruction_sets": ["avx2", "fma"]}
    return EngineArtifact(files={bundled_library.FILE: content}, meta={bundled_library.FACTS: known | facts})


def compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes) -> Path:
    """A library that was built here."""
    place = tmp_path / "built.so"
    place.write_bytes(content)
    monkeypatch.setattr(library, "built_before", lambda: place)
    monkeypatch.setattr(library, "built", lambda: place)
    return place


def test_what_is_packed_says_what_it_serves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler(tmp_path, monkeypatch, LIBRARY)
    content, facts = bundled_library.packed()
    assert content == LIBRARY
    assert facts["instruction_sets"] == ["avx2", "fma", "avx512f"]
    assert facts["sources"] == recipe.fingerprint()
    assert bundled_library.opened(
        EngineArtifact(files={bundled_library.FILE: content}, meta={bundled_library.FACTS: facts})
    )


def test_it_is_put_into_the_cache_by_its_content(cache: Path) -> None:
    path = bundled_library.opened(artifact())
    assert path.read_bytes() == LIBRARY
    assert bundled_library.opened(artifact()) == path
    assert bundled_library.opened(artifact(b"another")) != path
    assert len(list(cache.iterdir())) == 2


def test_many_at_once_find_it_whole(cache: Path) -> None:
    content = bytes(range(256)) * 4096
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: bundled_library.opened(artifact(content)).read_bytes() == content, range(64)))
    assert all(found)
    assert len(list(cache.iterdir())) == 1


def test_what_somebody_else_put_there_is_not_trusted() -> None:
    path = bundled_library.opened(artifact())
    path.write_bytes(b"something else")
    assert bundled_library.opened(artifact()) == path
    assert path.read_bytes() == LIBRARY


def test_the_one_that_was_built_here_is_used_if_it_is_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = compiler(tmp_path, monkeypatch, LIBRARY)
    assert bundled_library.opened(artifact()) == own
    assert bundled_library.opened(artifact(b"another")) != own


def test_without_a_folder_it_lies_in_memory(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("no folder")
    path = bundled_library.opened(artifact(b"in memory"))
    assert path.read_bytes() == b"in memory"
    assert bundled_library.opened(artifact(b"in memory")) == path
    assert bundled_library.opened(artifact(b"in memory, too")) != path


def test_a_folder_from_which_nothing_may_be_run_is_passed_over(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def load(path: str) -> None:
        if path.startswith(str(tmp_path)):
            raise OSError("failed to map segment from shared object")

    monkeypatch.setattr(ctypes, "CDLL", load)
    assert bundled_library.opened(artifact(b"noexec")).read_bytes() == b"noexec"


UNSERVED: dict[str, dict[str, Any]] = {
    "avx_vnni, which this machine lacks": {"instruction_sets": ["avx2", "avx_vnni"]},
    "built for riscv64": {"architecture": "riscv64"},
    "built for Darwin": {"system": "Darwin"},
}


@pytest.mark.parametrize("fault", UNSERVED)
def test_one_that_does_not_serve_this_machine_is_built_anew(
    fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = compiler(tmp_path, monkeypatch, b"another")
    assert bundled_library.opened(artifact(**UNSERVED[fault])) == own


@pytest.mark.parametrize("fault", UNSERVED)
def test_where_that_cannot_be_it_says_why_and_what_to_install(fault: str, cache: Path) -> None:
    with pytest.raises(LoadError, match=rf"(?s){fault}.*apt-get install g\+\+"):
        bundled_library.opened(artifact(**UNSERVED[fault]))
    assert not cache.exists()


def test_a_loader_that_refuses_it_is_quoted(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(path: str) -> None:
        raise OSError("version `GLIBC_2.99' not found")

    monkeypatch.setattr(ctypes, "CDLL", load)
    with pytest.raises(LoadError, match=r"(?s)GLIBC_2\.99.*apt-get install g\+\+") as caught:
        bundled_library.opened(artifact())
    assert isinstance(caught.value.__cause__, CompileError)


def test_an_artifact_without_one_has_it_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(LoadError, match=r"the artifact was made without it"):
        bundled_library.opened(EngineArtifact(files={}))
    own = compiler(tmp_path, monkeypatch, LIBRARY)
    assert bundled_library.opened(EngineArtifact(files={})) == own
