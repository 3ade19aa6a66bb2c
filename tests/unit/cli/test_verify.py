from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np

from intarsia.errors import ExecutionError
from tests.cli_fakes import Fakes, invoke


def test_a_wrong_output_is_exit_code_5_with_the_whole_report(fakes: Fakes, folder: Path) -> None:
    (folder / "m.intarsia").write_text("an artifact")
    done = invoke("verify", "m.intarsia", "--json")
    report = json.loads(done.stdout)
    assert (done.exit_code, report["is_right"], report["bytes"]) == (5, False, 11)
    (check,) = report["checks"]
    assert [(each["name"], each["error"], each["is_right"]) for each in check["outputs"]] == [
        ("y", 2.1e-6, True),
        ("z", None, False),
    ]
    assert check["unchecked"] == ["labels"]
    assert check["guilty"].startswith("partition 1")


def test_all_right_is_exit_code_0(fakes: Fakes, folder: Path) -> None:
    (folder / "m.intarsia").touch()
    fakes.checks = tuple(replace(each, outputs=each.outputs[:1], guilty=None) for each in fakes.checks)
    assert invoke("verify", "m.intarsia").exit_code == 0


def test_seeds_and_inputs_are_handed_on(fakes: Fakes, folder: Path) -> None:
    (folder / "m.intarsia").touch()
    np.save(folder / "x.npy", np.zeros(3, np.float32))
    invoke("verify", "m.intarsia", "--seed", "3", "--seed", "4", "--input", "x=x.npy")
    invoke("verify", "m.intarsia")
    (_, first), (_, second) = fakes.calls
    assert (first["seeds"], list(first["given"])) == ((3, 4), ["x"])
    assert (second["seeds"], second["given"]) == ((1,), {})


def test_an_engine_that_fails_is_no_wrong_result(fakes: Fakes, folder: Path) -> None:
    (folder / "m.intarsia").touch()
    fakes.failure = ExecutionError("mnn", "signal 11")
    assert invoke("verify", "m.intarsia").exit_code == 4
