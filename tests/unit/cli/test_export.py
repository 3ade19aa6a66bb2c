from __future__ import annotations

import json
from pathlib import Path

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
