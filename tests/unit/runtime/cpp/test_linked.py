"""An artifact in the program's memory, found by its name, gives what its file gives, and is checked as that is."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest

from intarsia.backends import registry
from intarsia.runtime import Artifact
from intarsia.runtime.artifact.trust import OWN
from intarsia.runtime.cpp.exporting import MODEL, README, export_project, linked_name
from intarsia.runtime.cpp.preparing import is_linked, prepare
from tests.artifacts import members, repacked
from tests.unit.runtime.cpp.client import Model
from tests.unit.runtime.cpp.conftest import Builds, needs_compiler, run
from tests.unit.runtime.cpp.hostile import mutants
from tests.unit.runtime.cpp.prepared import ENGINES, answers, feeds_of, whole

MUTANTS = 60
ADDRESS = "abort_on_error=0:allocator_may_return_null=1:max_allocation_size_mb=2048"


def linked(path: Path) -> Path:
    """A network on the engine `c`, as it is compiled for the runtime ``cpp -system-lib``."""
    draft = whole(path.with_suffix(".draft"), "c")
    entries = {name: content for name, content in members(draft).items() if not name.startswith("native")}
    repacked(path, entries)
    prepare(path, linked=True)
    return path


@pytest.mark.parametrize("engine", ENGINES)
def test_the_answers_are_those_of_the_file(tmp_path: Path, built: Builds, folders: str, engine: str) -> None:
    if not registry.probe(engine).usable:
        pytest.skip(f"{engine} is not here")
    path = whole(tmp_path / "m.intarsia", engine)
    probe = [built("plain") / "probe", path]
    from_file = run(probe, INTARSIA_ENGINE_FOLDERS=folders)
    assert from_file.startswith("0 ")
    assert run(probe, INTARSIA_ENGINE_FOLDERS=folders, PROBE_LINKED="1") == from_file


def test_changed_bytes_are_refused(tmp_path: Path, built: Builds) -> None:
    source = whole(tmp_path / "m.intarsia", "c")
    paths = mutants(source, tmp_path, MUTANTS, seed=7)
    told = run([built("address") / "probe", source, *paths], ASAN_OPTIONS=ADDRESS, PROBE_LINKED="1")
    answered = [line.split(" ", 2) for line in told.splitlines() if line[:1].isdigit() and ".intarsia" in line]
    assert len(answered) == MUTANTS + 1
    assert answered[0][0] == "0"
    assert all(words.strip() for _, _, words in answered)


def test_a_name_is_of_one_artifact(tmp_path: Path, library: Path) -> None:
    model = Model(library, whole(tmp_path / "m.intarsia", "c"))
    one, other = b"one" * 100, b"other" * 100
    assert model.library.intarsia_link(b"a", one, len(one)) == 0
    assert model.library.intarsia_link(b"a", one, len(one)) == 0
    assert model.library.intarsia_link(b"a", other, len(other)) == 1
    assert b"two artifacts are linked by the name 'a'" in model.library.intarsia_error_text()
    assert model.library.intarsia_link(b"b", other, 0) == 1
    assert model.library.intarsia_load_linked(b"c", None, ctypes.byref(ctypes.c_void_p())) == 2
    assert b"no artifact of that name is linked into the program; there are: a" in model.library.intarsia_error_text()
    model.close()


def test_the_project_needs_no_file(tmp_path: Path) -> None:
    needs_compiler()
    path = linked(tmp_path / "my model (1).intarsia")
    assert is_linked(path)
    project = tmp_path / "project"
    export_project(Artifact(path, OWN), project)
    name = linked_name(Artifact(path, OWN))
    assert name == "my_model__1_"
    assert f'linked("{name}")' in (project / README).read_text(encoding="utf-8")
    run(["cmake", "-S", project, "-B", project / "build", "-DCMAKE_BUILD_TYPE=Debug"])
    run(["cmake", "--build", project / "build", "--parallel", "2"])
    (project / MODEL).unlink()
    feeds = feeds_of()
    words: list[object] = [project / "build" / "example", "--output", tmp_path]
    for name, array in feeds.items():
        np.save(tmp_path / f"{name}.npy", array)
        words += ["--input", f"{name}={tmp_path / name}.npy"]
    run(words)
    wanted = answers(path, feeds)
    assert np.load(tmp_path / "0.npy").tobytes() == wanted["h"].tobytes()
