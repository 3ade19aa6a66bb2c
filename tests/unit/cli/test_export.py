from __future__ import annotations

import json
from pathlib import Path

import pytest

from intarsia.errors import PlanError
from tests.cli_fakes import Fakes, invoke


def test_the_written_files_are_listed(fakes: Fakes, folder: Path) -> None:
    (folder / "m.intarsia").touch()
    assert invoke("export", "m.intarsia", "out").stdout == "out/model.mnn\nout/options.json\n"
    expected = {"artifact": "m.intarsia", "target": "mnn", "files": ["out/model.mnn", "out/options.json"]}
    assert json.loads(invoke("export", "m.intarsia", "out", "--json").stdout) == expected
    assert fakes.model.closed


def test_a_mixed_plan_is_refused(fakes: Fakes, folder: Path) -> None:
    (folder / "m.intarsia").touch()
    fakes.failure = PlanError("the plan mixes mnn and onnxruntime")
    done = invoke("export", "m.intarsia", "out")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == "error: the plan mixes mnn and onnxruntime\n"


def test_without_a_folder_they_go_into_one_of_the_artifact_s_name(fakes: Fakes, folder: Path) -> None:
    (folder / "there").mkdir()
    (folder / "there" / "m.intarsia").touch()
    assert invoke("export", "there/m.intarsia").stdout == "m/model.mnn\nm/options.json\n"


def test_a_file_is_no_folder_to_write_into(fakes: Fakes, folder: Path) -> None:
    for name in ("m.intarsia", "taken"):
        (folder / name).touch()
    done = invoke("export", "m.intarsia", "taken")
    assert done.exit_code == 2
    assert "cannot write into taken: it is a file" in done.stderr


def test_a_model_for_an_engine_that_runs_elsewhere_is_written_and_said_not_to_be_run(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def written(model: Path, target: str, folder: Path, *, shapes: object) -> tuple[tuple[Path, ...], str]:
        assert (model.name, target, shapes) == ("m.onnx", "coreml", {"n": 4})
        return (folder / "model.mlpackage",), "it runs elsewhere"

    monkeypatch.setattr("intarsia.driver.packages.write_package", written)
    (folder / "m.onnx").touch()
    done = invoke("export", "m.onnx", "out", "--target", "coreml", "--shape", "n=4")
    assert (done.stdout, done.stderr) == ("out/model.mlpackage\n", "not run: it runs elsewhere\n")
    told = json.loads(invoke("export", "m.onnx", "out", "--target", "coreml", "--shape", "n=4", "--json").stdout)
    assert told["not_run"] == "it runs elsewhere"


@pytest.mark.parametrize("more", [("--runtime", "cpp", "--target", "coreml"), ("--shape", "n=4")])
def test_flags_that_mean_nothing_together_are_refused(folder: Path, more: tuple[str, ...]) -> None:
    (folder / "m.onnx").touch()
    done = invoke("export", "m.onnx", "out", *more)
    assert done.exit_code == 2
    assert "--target" in done.stderr
