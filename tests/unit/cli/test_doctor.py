from __future__ import annotations

import json

from tests.cli_fakes import Fakes, invoke


def test_each_engine_says_why_not_and_what_mends_it(fakes: Fakes) -> None:
    done = invoke("doctor", "--json")
    assert done.exit_code == 0
    unknown: dict[str, object] = {"version": None, "devices": [], "reason": None, "fix": None}
    assert json.loads(done.stdout) == {
        "machine": {"architecture": "x86_64", "cpu": "A CPU", "cores": 2, "isa": ["avx2"]},
        "engines": [
            unknown | {"name": "mnn", "usable": True, "version": "3.6.1", "devices": ["cpu", "vulkan:0"]},
            unknown
            | {"name": "ncnn", "usable": False, "reason": "not installed", "fix": "pip install 'intarsia[ncnn]'"},
            unknown
            | {"name": "odd", "usable": False, "reason": "odd: its plug-in does not import: no module named 'odd'"},
            unknown | {"name": "bnns", "usable": False, "reason": "described only: it needs a machine of Apple's"},
        ],
    }


def test_no_usable_engine_is_exit_code_3(fakes: Fakes) -> None:
    del fakes.engines["mnn"]
    done = invoke("doctor")
    assert done.exit_code == 3
    assert "pip install 'intarsia[ncnn]'" in done.stdout


def test_engines_are_looked_at_in_the_interpreter_that_a_target_names() -> None:
    done = invoke("doctor", "--json", "--target", "reference -python=/no/such/python, reference")
    engines = {engine["name"]: engine for engine in json.loads(done.stdout)["engines"]}
    assert list(engines) == ["reference@/no/such/python", "reference"]
    assert "does not run" in engines["reference@/no/such/python"]["reason"]
    assert engines["reference"]["usable"]
    assert done.exit_code == 3


def test_of_a_board_it_says_what_was_checked_what_is_missing_and_what_to_do() -> None:
    done = invoke("doctor", "--target", "raspberry-pi/4b-aarch64")
    assert done.exit_code == 3
    assert "looked at: llvm -mattr=+neon -mcpu=cortex-a72 -mtriple=aarch64-linux-gnu" in done.stdout
    assert "nothing here compiles for it. Compile on that machine itself" in done.stdout
    assert "compile MODEL --target raspberry-pi/4b-aarch64" in done.stdout
    rows = {row["name"]: row for row in json.loads(invoke("doctor", "--json", "--target", "llvm").stdout)["engines"]}
    assert {"onnxruntime", "openvino", "mnn", "ncnn", "tvm", "xla"} <= set(rows)
    board = json.loads(invoke("doctor", "--json", "--target", "llvm -mtriple=riscv64-linux-gnu").stdout)["engines"]
    assert {row["name"] for row in board} == set(rows)
    assert not any(row["usable"] for row in board)
    assert all(row["reason"] for row in board)


def test_of_an_engine_alone_it_says_that_it_cannot_be_used() -> None:
    done = invoke("doctor", "--target", "tensorrt")
    assert done.exit_code == 3
    assert "tensorrt  no" in done.stdout
    assert "none of it can be used here" in done.stdout


def test_nothing_is_to_be_installed_for_a_device_that_no_backend_runs_on() -> None:
    done = invoke("doctor", "--target", "hexagon")
    assert done.exit_code == 3
    assert "tvm runs here on cpu, not on hexagon" in done.stdout
    assert "nothing here compiles for it. See by 'intarsia compile MODEL --target hexagon'" in done.stdout
    assert "pip install" not in done.stdout
