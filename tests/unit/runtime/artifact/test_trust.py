"""What an artifact names or holds is asked for; what was not allowed is refused before an engine is looked at."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import intarsia
from intarsia.backends import registry
from intarsia.errors import ArtifactError, ConfigError
from intarsia.runtime import Artifact, CompiledModel, export
from intarsia.runtime.artifact.trust import OWN, Trust, code_of_engine, holds_code
from tests.artifacts import Manifest, canary_program, changed, retarget, written


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("plain") / "m.intarsia")


def naming(plain: Path, folder: Path, program: Path | str) -> Path:
    """The second partition's engine is said to be in that interpreter."""

    def change(manifest: Manifest) -> None:
        retarget(manifest, {1: f"reference -python={program}"})

    return changed(plain, folder / "named.intarsia", change)


def test_an_interpreter_that_is_named_never_runs_unasked(plain: Path, tmp_path: Path) -> None:
    program, sung = canary_program(tmp_path)
    path = naming(plain, tmp_path, program)
    with pytest.raises(ArtifactError) as caught:
        intarsia.load(path)
    assert "partition 2 (-python of reference)" in str(caught.value)
    assert f"--allow {program}" in str(caught.value)
    for more in (tmp_path / "python3", f"{program}/", tmp_path):
        with pytest.raises(ArtifactError, match="names"):
            intarsia.load(path, allow=more)
    assert not sung.exists()


def test_one_that_is_allowed_runs(plain: Path, tmp_path: Path) -> None:
    """The canary is no interpreter, so that is as far as it gets."""
    program, sung = canary_program(tmp_path)
    (tmp_path / "link").symlink_to(tmp_path, target_is_directory=True)
    for allowed in (program, tmp_path / "link" / "python", tmp_path / ".." / tmp_path.name / "python"):
        sung.unlink(missing_ok=True)
        registry.refresh()
        with pytest.raises(intarsia.errors.BackendUnavailableError):
            intarsia.load(naming(plain, tmp_path, program), allow=[allowed])
        assert sung.exists()


def test_a_link_of_another_name_is_another_interpreter(plain: Path, tmp_path: Path) -> None:
    """An interpreter finds its packages beside the link that it was called by, not beside what that leads to."""
    program, sung = canary_program(tmp_path)
    (tmp_path / "evil").mkdir()
    (tmp_path / "evil" / "python").symlink_to(program)
    with pytest.raises(ArtifactError, match="evil"):
        intarsia.load(naming(plain, tmp_path, tmp_path / "evil" / "python"), allow=program)
    assert not sung.exists()


def test_a_relative_path_is_refused_on_both_sides(plain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program, sung = canary_program(tmp_path)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match="'python' is a relative path"):
        intarsia.load(plain, allow="python")
    for relative in ("python", "./python", "C:\\python"):
        with pytest.raises(ArtifactError):
            intarsia.load(naming(plain, tmp_path, relative), allow=program)
    assert not sung.exists()


def test_an_engine_in_the_list_alone_counts_too(plain: Path, tmp_path: Path) -> None:
    program, sung = canary_program(tmp_path)

    def change(manifest: Manifest) -> None:
        manifest["engines"][f"onnxruntime@{program}"] = manifest["engines"]["reference"]

    path = changed(plain, tmp_path / "m.intarsia", change)
    with pytest.raises(ArtifactError, match="onnxruntime"):
        intarsia.load(path)
    (code,) = code_of_engine(f"onnxruntime@{program}")
    assert (code.path, "the list of engines" in code.where) == (str(program), True)
    assert not sung.exists()


@pytest.mark.parametrize("around", ["llvm -host='{}'", "reference -host='{}'", "composite -devices='reference','{}'"])
def test_one_inside_another_target_counts_too(around: str, plain: Path, tmp_path: Path) -> None:
    program, sung = canary_program(tmp_path)

    def change(manifest: Manifest) -> None:
        retarget(manifest, {0: around.format(f"reference -python={program}")})

    with pytest.raises(ArtifactError):
        Artifact(changed(plain, tmp_path / "m.intarsia", change))
    assert not sung.exists()


def test_a_plan_of_a_bucket_counts_too(plain: Path, tmp_path: Path) -> None:
    program, sung = canary_program(tmp_path)

    def change(manifest: Manifest) -> None:
        retarget(manifest, {0: f"reference -python={program}"})
        bucket = {"ranges": {"n": [1, 4]}, "sizes": {"n": 2}, "settings": manifest["settings"], "steps": [1]}
        manifest["buckets"] = [{**bucket, "steps": [0]}, bucket]

    with pytest.raises(ArtifactError):
        Artifact(changed(plain, tmp_path / "m.intarsia", change))
    assert not sung.exists()


def test_what_is_only_shown_is_never_loaded(plain: Path, tmp_path: Path) -> None:
    program, sung = canary_program(tmp_path)
    opened = Artifact(naming(plain, tmp_path, program), Trust(is_read=True))
    assert [code.path for code in opened.named_code] == [str(program)] * 2
    with CompiledModel(opened) as model:
        for act in (model.load, opened.build, opened.changed_engines, lambda: export(model, tmp_path / "out")):
            with pytest.raises(ArtifactError, match="opened to be shown"):
                act()
    assert not sung.exists()


def test_what_this_compile_made_is_not_asked_for(plain: Path, tmp_path: Path) -> None:
    program, _ = canary_program(tmp_path)
    assert Artifact(naming(plain, tmp_path, program), OWN).named_code


@pytest.mark.parametrize(
    ("engine", "file", "is_code"),
    [
        ("reference", "model.onnx", False),
        ("onnxruntime", "model.onnx", False),
        ("onnxruntime", "kernels.so", True),
        ("winograd", "kernels.so", True),
        ("tvm", "kernels.so", True),
        ("tvm", "plan.json", False),
        ("iree", "model.vmfb", True),
        ("inductor", "model.so", True),
        ("an-engine-that-is-not-here", "anything", True),
    ],
)
def test_which_files_are_machine_code(engine: str, file: str, is_code: bool) -> None:
    assert holds_code(engine, file) is is_code


def test_machine_code_is_listed_and_can_be_refused(plain: Path, tmp_path: Path) -> None:
    def change(manifest: Manifest) -> None:
        retarget(manifest, {1: "onnxruntime"})
        manifest["steps"][1]["files"] = ["kernels.so"]
        manifest["same"] = {"steps/1/kernels.so": "steps/0/model.onnx"}

    path = changed(plain, tmp_path / "m.intarsia", change)
    (held,) = Artifact(path, Trust(is_read=True)).held_code
    assert (held.file, held.engine) == ("steps/1/kernels.so", "onnxruntime")
    assert held.nbytes > 0
    assert len(held.sha256) == 64
    with pytest.raises(ArtifactError, match=r"it holds machine code, which was refused: 'steps/1/kernels\.so'"):
        intarsia.load(path, machine_code=False)
    assert Artifact(plain, Trust.of(machine_code=False)).held_code == ()


def test_every_engine_of_ours_says_what_it_ships() -> None:
    """What says nothing may ship code in any file, so that a new engine is not forgotten."""
    for name in registry.names():
        assert "machine_code" in vars(type(registry.get(name))), name


def test_a_trust_goes_to_a_worker_and_back() -> None:
    from intarsia.cost.worker.protocol import Open

    asked = Open(path="m", trust=replace(Trust.of("/a/b", signed_by="/k.pub"), is_own=True))
    assert Open.model_validate_json(asked.model_dump_json()) == asked
