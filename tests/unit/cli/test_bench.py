from __future__ import annotations

import json
from pathlib import Path

from tests.cli_fakes import Fakes, invoke


def test_the_artifacts_and_the_engines_reach_the_benchmark(fakes: Fakes, folder: Path) -> None:
    (folder / "m.intarsia").touch()
    done = invoke("bench", "m.intarsia", "--against", "onnxruntime", "--budget", "5", "--seed", "3", "--json")
    assert done.exit_code == 0, done.output
    _, settings = fakes.calls[0]
    assert {name: str(value) for name, value in settings.items()} == {
        "against": "['onnxruntime']",
        "budget_s": "5.0",
        "seed": "3",
    }
    report = json.loads(done.stdout)
    assert [(plan["name"], plan["verdict"]) for plan in report["plans"]] == [
        ("onnxruntime", "baseline"),
        ("m.intarsia", "faster"),
        ("old.intarsia", "slower"),
    ]
    assert report["control"]["median"] == 1.0


def test_a_plan_that_fails_is_exit_code_4_behind_the_table(fakes: Fakes, folder: Path) -> None:
    (folder / "m.intarsia").touch()
    fakes.benchmark_failures = {"m.intarsia": ("crash", "signal 11")}
    done = invoke("bench", "m.intarsia")
    assert done.exit_code == 4
    assert "failed at crash: signal 11" in done.stdout
    assert "m.intarsia, crash: signal 11" in done.stderr
