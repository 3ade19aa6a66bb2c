"""Plans run from C++ give the very bits that they give from Python, and what is not right is told and not run."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from intarsia.backends import registry
from intarsia.config import RunSettings, Spin
from intarsia.config.precision import Precision, Scheme
from tests.artifacts import changed, members, repacked
from tests.unit.graph.quantise.networks import decoder
from tests.unit.runtime.cpp.client import Model
from tests.unit.runtime.cpp.conftest import Builds, run
from tests.unit.runtime.cpp.prepared import (
    ENGINES,
    LAYERS,
    answers,
    branches,
    feeds_of,
    whole,
    written,
)

MIX = [("openvino", LAYERS[:2]), ("onnxruntime", LAYERS[2:5]), ("c", LAYERS[5:])]


@pytest.fixture(autouse=True)
def _engines() -> None:
    for name in ENGINES:
        found = registry.probe(name)
        if not found.usable:
            pytest.skip(f"{name} cannot be used here: {found.reason}")


def same(path: Path, library: Path, folders: str, feeds: dict[str, np.ndarray]) -> None:
    wanted = answers(path, feeds)
    model = Model(library, path, engine_folders=folders.encode())
    try:
        for given in (feeds, {name: array.copy() for name, array in feeds.items()}):
            found = model(given)
            assert {name: array.tobytes() for name, array in found.items()} == {
                name: array.tobytes() for name, array in wanted.items()
            }
    finally:
        model.close()


@pytest.mark.parametrize("engine", ENGINES)
def test_one_engine(tmp_path: Path, library: Path, folders: str, engine: str) -> None:
    same(whole(tmp_path / "m.intarsia", engine), library, folders, feeds_of())


@pytest.mark.parametrize(
    ("parts", "settings"),
    [
        (MIX, RunSettings(threads=2, spin=Spin.CALL)),
        ([("winograd", LAYERS[:4]), ("openvino", LAYERS[4:])], RunSettings(threads=2, spin=Spin.NEVER)),
        (
            [("winograd", LAYERS[:2]), ("openvino", LAYERS[2:3]), ("winograd", LAYERS[3:])],
            RunSettings(threads=2, spin=Spin.CALL, embed=True),
        ),
        (
            [("onnxruntime", LAYERS[:2]), ("c", LAYERS[2:3]), ("onnxruntime", LAYERS[3:])],
            RunSettings(threads=2, spin=Spin.FREE, embed=True),
        ),
    ],
    ids=["three engines", "two", "inside our operators' session", "inside a session"],
)
def test_mixes(
    tmp_path: Path, library: Path, folders: str, parts: list[tuple[str, list[str]]], settings: RunSettings
) -> None:
    same(written(tmp_path / "m.intarsia", parts, settings), library, folders, feeds_of(1))


@pytest.mark.parametrize("engine", ["onnxruntime", "openvino", "winograd"])
def test_weights_in_few_bits(tmp_path: Path, library: Path, folders: str, engine: str) -> None:
    model = decoder(width=64)
    schemes = {"up0": Scheme.WEIGHTS_4, "down0": Scheme.WEIGHTS_8, "down1": Scheme.WEIGHTS_12}
    parts = [(engine, [node.name for node in model.graph.node])]
    settings = RunSettings(threads=2, spin=Spin.CALL, max_error=0.5)
    path = written(tmp_path / "m.intarsia", parts, settings, model, Precision.of(schemes, {}))
    x = np.random.default_rng(3).standard_normal((1, 64)).astype(np.float32)
    same(path, library, folders, {"x": x})


def test_independent_branches_at_one_time(tmp_path: Path, library: Path, folders: str) -> None:
    parts = [("onnxruntime", ["first"]), ("openvino", ["left"]), ("onnxruntime", ["right"]), ("c", ["last"])]
    path = written(tmp_path / "m.intarsia", parts, RunSettings(threads=2, parallel=True), branches())
    x = np.random.default_rng(3).standard_normal((1, 8, 9, 9)).astype(np.float32)
    model = Model(library, path, engine_folders=folders.encode())
    wanted = answers(path, {"x": x})["y"].tobytes()
    assert all(model({"x": x})["y"].tobytes() == wanted for _ in range(50))
    model.close()


def test_what_a_model_is(tmp_path: Path, library: Path, folders: str) -> None:
    model = Model(library, written(tmp_path / "m.intarsia", MIX), engine_folders=folders.encode())
    assert model.inputs == {"image": ("float32", (1, 32, 12, 12)), "bias": ("float32", (1, 10))}
    assert list(model.outputs) == ["h", "e"]
    assert model.library.intarsia_step_count(model.handle) == 3
    assert model.library.intarsia_threads(model.handle) == 2
    assert model.library.intarsia_remarks(model.handle) == b""
    model.close()


def test_feeds_that_do_not_fit(tmp_path: Path, library: Path, folders: str) -> None:
    model = Model(library, whole(tmp_path / "m.intarsia", "c"))
    good = feeds_of()
    for feeds, words in [
        ({"image": good["image"]}, "input bias float32[1,10] is missing"),
        ({**good, "nobody": good["bias"]}, "the model has no input 'nobody'; the inputs are image, bias"),
        ({**good, "bias": good["bias"][:, :9]}, "input bias float32[1,10] was given the shape [1,9]"),
        ({**good, "bias": good["bias"].astype(np.float64)}, "was given as float64"),
    ]:
        with pytest.raises(RuntimeError) as caught:
            model(feeds)
        assert str(caught.value).startswith("3: ")
        assert words in str(caught.value)
    assert model(good)["h"].shape == (1, 10)
    model.close()


def test_an_engine_that_is_not_there(tmp_path: Path, built: Builds) -> None:
    path = whole(tmp_path / "m.intarsia", "openvino")
    for stated, words in [
        (str(tmp_path / "none.so"), "libopenvino_c.so was not found"),
        ("relative.so", "give an absolute path"),
    ]:
        told = run([built("plain") / "probe", path], INTARSIA_OPENVINO_LIBRARY=stated)
        assert told.startswith("4 ")
        assert words in told


def test_a_relative_folder_of_engines_is_refused(tmp_path: Path, library: Path) -> None:
    with pytest.raises(RuntimeError, match=r"1: .*names the folder 'here'"):
        Model(library, whole(tmp_path / "m.intarsia", "c"), engine_folders=b"here")


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        (("machine", "architecture"), "s390x", "built for s390x"),
        (("machine", "system"), "Plan9", "built for Plan9"),
        (("machine", "isa"), ["avx1024"], "built with avx1024, which this machine lacks"),
        (("engines", "onnxruntime", "version"), "1.2.3", "built with onnxruntime 1.2.3"),
        (("version",), 3, "artifact format 3"),
    ],
)
def test_another_machine_or_engine_is_refused_by_name(
    tmp_path: Path, library: Path, folders: str, place: tuple[str, ...], value: object, words: str
) -> None:
    def change(manifest: dict[str, object]) -> None:
        found: dict[str, object] = manifest
        for name in place[:-1]:
            inner = found[name]
            assert isinstance(inner, dict)
            found = inner
        found[place[-1]] = value

    path = changed(whole(tmp_path / "m.intarsia", "onnxruntime"), tmp_path / "other.intarsia", change)
    with pytest.raises(RuntimeError) as caught:
        Model(library, path, engine_folders=folders.encode())
    assert words in str(caught.value)
    assert str(path) in str(caught.value)


def test_other_cores_are_a_remark(tmp_path: Path, library: Path) -> None:
    def change(manifest: dict[str, dict[str, int]]) -> None:
        manifest["machine"]["cores"] = 4096

    path = changed(whole(tmp_path / "m.intarsia", "c"), tmp_path / "other.intarsia", change)
    model = Model(library, path)
    assert b"cores: measured on 4096, here " in model.library.intarsia_remarks(model.handle)
    model.close()


def test_machine_code_is_refused_where_it_is_asked(tmp_path: Path, library: Path) -> None:
    with pytest.raises(RuntimeError, match=r"it holds machine code, which was refused: 'steps/0/model\.so'"):
        Model(library, whole(tmp_path / "m.intarsia", "c"), refuse_machine_code=1)


def test_a_library_that_is_named_must_be_allowed(tmp_path: Path, library: Path, folders: str) -> None:
    entries = members(whole(tmp_path / "m.intarsia", "onnxruntime"))
    for named, words in (("/lib/evil.so", "name it in the option allow"), ("evil.so", "never accepted")):
        native = json.loads(entries["native.json"])
        native["steps"][0]["libraries"] = [named]
        path = repacked(tmp_path / "evil.intarsia", {**entries, "native.json": json.dumps(native).encode()})
        with pytest.raises(RuntimeError, match=words):
            Model(library, path, engine_folders=folders.encode())


def test_a_signature_that_is_asked_for_is_not_passed_over(
    tmp_path: Path, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = whole(tmp_path / "m.intarsia", "c")
    monkeypatch.setenv("INTARSIA_SIGNED_BY", "/key.pub")
    with pytest.raises(RuntimeError, match="asks for a signature"):
        Model(library, path)


def test_an_artifact_that_was_not_prepared_says_what_to_do(tmp_path: Path, library: Path) -> None:
    entries = members(whole(tmp_path / "m.intarsia", "c"))
    del entries["native.json"]
    with pytest.raises(RuntimeError, match="compile with --runtime cpp"):
        Model(library, repacked(tmp_path / "plain.intarsia", entries))
