"""Whatever file it is given, the library answers with a status and a text: no crash, no access outside of memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from intarsia.backends import registry
from intarsia.config import RunSettings
from tests.unit.runtime.cpp.conftest import Builds, run
from tests.unit.runtime.cpp.hostile import mutants
from tests.unit.runtime.cpp.prepared import LAYERS, whole, written

MUTANTS = 300
ADDRESS = "abort_on_error=0:allocator_may_return_null=1:max_allocation_size_mb=2048"


def test_mutated_files(tmp_path: Path, built: Builds, folders: str) -> None:
    parts = [("c", LAYERS[:3]), ("onnxruntime" if registry.probe("onnxruntime").usable else "c", LAYERS[3:])]
    source = written(tmp_path / "m.intarsia", parts, RunSettings(threads=1))
    paths = mutants(source, tmp_path, MUTANTS, seed=5)
    told = run([built("address") / "probe", source, *paths], ASAN_OPTIONS=ADDRESS, INTARSIA_ENGINE_FOLDERS=folders)
    lines = told.splitlines()
    assert lines[0].startswith(f"0 {source} ")
    answered = [line.split(" ", 2) for line in lines if line[:1].isdigit() and ".intarsia" in line]
    assert len(answered) == MUTANTS + 1
    refused = [words for status, _, words in answered if status != "0"]
    assert len(refused) > MUTANTS * 0.8, "most changes matter"
    assert all(words.strip() for words in refused)


def test_files_that_are_none(tmp_path: Path, built: Builds) -> None:
    model = tmp_path / "m.onnx"
    model.write_bytes(b"\x08\x08" + bytes(300))
    told = run([built("address") / "probe", tmp_path, tmp_path / "none", model, "/dev/null"])
    lines = told.splitlines()
    assert [line.split()[0] for line in lines] == ["2"] * 4
    assert "no artifact" in lines[0]
    assert "no such artifact" in lines[1]
    assert "an ONNX model, not an artifact" in lines[2]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("offset=", "offset='99999999999999' x="), "not inside the artifact"),
        (("offset=", "offset='18446744073709551615' x="), "a constant at no number"),
        (("<layers>", "<!-- --><layers>"), "a comment"),
        (("offset=", "size='1' size='2' offset="), "says one thing twice"),
    ],
)
def test_constants_of_openvino_outside_of_the_file(
    tmp_path: Path, built: Builds, folders: str, change: tuple[str, str], words: str
) -> None:
    from tests.artifacts import members, repacked

    if not registry.probe("openvino").usable:
        pytest.skip("OpenVINO is not here")
    entries = members(whole(tmp_path / "m.intarsia", "openvino"))
    name = "native/0/model.xml"
    text = entries[name].decode().replace(*change, 1)
    path = repacked(tmp_path / "evil.intarsia", {**entries, name: text.encode()})
    told = run([built("plain") / "probe", path], INTARSIA_ENGINE_FOLDERS=folders)
    assert told.startswith("2 ")
    assert words in told
