from __future__ import annotations

import json

from tests.cli_fakes import Fakes, invoke


def test_each_engine_says_why_not_and_what_mends_it(fakes: Fakes) -> None:
    done = invoke("doctor", "--json")
    assert done.exit_code == 0
    unknown: dict[str, object] = {"version": None, "devices": [], "reason": None, "mend": None}
    assert json.loads(done.stdout) == {
        "machine": {"architecture": "x86_64", "cpu": "A CPU", "cores": 2, "isa": ["avx2"]},
        "engines": [
            unknown | {"name": "mnn", "usable": True, "version": "3.6.1", "devices": ["cpu", "vulkan:0"]},
            unknown
            | {"name": "ncnn", "usable": False, "reason": "not installed", "mend": "pip install 'intarsia[ncnn]'"},
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
    done = invoke("doctor", "--json", "--target", "reference -python=/no/such/python, llvm, reference")
    engines = {engine["name"]: engine for engine in json.loads(done.stdout)["engines"]}
    assert list(engines) == ["reference@/no/such/python", "reference"]
    assert "does not run" in engines["reference@/no/such/python"]["reason"]
    assert engines["reference"]["usable"]
    assert done.exit_code == 3
