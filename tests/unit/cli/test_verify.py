from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from intarsia.cost.timing.verdict import Shown
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
    fakes.right()
    fakes.timing = None  # as of a plan with open dimensions
    done = invoke("verify", "m.intarsia", "--json")
    report = json.loads(done.stdout)
    assert (done.exit_code, report["timing"], report["written"]) == (0, None, None)


def test_a_mix_that_is_slower_here_is_exit_code_6(fakes: Fakes, folder: Path) -> None:
    (folder / "m.intarsia").touch()
    fakes.right()
    done = invoke("verify", "m.intarsia", "--json")
    timing = json.loads(done.stdout)["timing"]
    assert (done.exit_code, timing["single"], timing["is_slower"]) == (6, "mnn -precision=low", True)


def test_with_a_place_for_it_the_engine_alone_is_written(fakes: Fakes, folder: Path) -> None:
    (folder / "m.intarsia").touch()
    fakes.right()
    done = invoke("verify", "m.intarsia", "-o", "alone.intarsia", "--json")
    assert (done.exit_code, json.loads(done.stdout)["written"]) == (0, "alone.intarsia")
    model, settings = fakes.calls[-1]
    assert model.name == "m.onnx"
    assert (settings["target"], settings["partition"], settings["threads"]) == ("mnn -precision=low", "single", 2)
    assert (folder / "alone.intarsia").exists()


def test_a_mix_that_is_faster_here_is_left_alone(fakes: Fakes, folder: Path) -> None:
    (folder / "m.intarsia").touch()
    fakes.right()
    assert fakes.timing is not None
    fakes.timing = replace(fakes.timing, is_slower=False)
    done = invoke("verify", "m.intarsia", "-o", "alone.intarsia")
    assert done.exit_code == 0
    assert not (folder / "alone.intarsia").exists()


@pytest.mark.parametrize(
    ("shown", "told"),
    [
        (Shown.FASTER, "0.80 times as fast as mnn -precision=low alone (0.78 to 0.83)"),
        (Shown.SLOWER, "slower than mnn -precision=low alone: 0.80 times as fast (0.78 to 0.83)"),
        (
            Shown.NO_DIFFERENCE,
            "no difference shown to mnn -precision=low alone (0.78 to 0.83 times as fast, but not beyond the noise)",
        ),
        (Shown.NOTHING, "the machine is too noisy now to compare it with mnn -precision=low alone"),
    ],
)
def test_what_the_race_showed_is_what_is_said(fakes: Fakes, folder: Path, shown: Shown, told: str) -> None:
    (folder / "m.intarsia").touch()
    fakes.right()
    assert fakes.timing is not None
    fakes.timing = replace(fakes.timing, shown=shown, is_slower=shown is Shown.SLOWER)
    assert told in invoke("verify", "m.intarsia").stdout


def test_what_answers_wrongly_is_not_timed(fakes: Fakes, folder: Path) -> None:
    (folder / "m.intarsia").touch()
    assert json.loads(invoke("verify", "m.intarsia", "--json").stdout)["timing"] is None
    assert len(fakes.calls) == 1


def test_an_engine_that_could_not_be_timed_is_told(fakes: Fakes, folder: Path) -> None:
    (folder / "m.intarsia").touch()
    fakes.right()
    assert fakes.timing is not None
    fakes.timing = replace(fakes.timing, speedup=None, single_ms=None, is_slower=False, untimed="not installed")
    done = invoke("verify", "m.intarsia")
    assert done.exit_code == 0
    assert "mnn -precision=low alone was not timed: not installed" in done.stdout


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
