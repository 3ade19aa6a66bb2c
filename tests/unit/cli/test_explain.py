from __future__ import annotations

import json
from pathlib import Path

from tests.cli_fakes import PLAN, REPORT, Fakes, invoke


def test_the_plan_is_printed_as_it_is_stored(fakes: Fakes, folder: Path) -> None:
    (folder / "m.intarsia").touch()
    assert invoke("explain", "m.intarsia", "--plan").stdout == PLAN
    assert json.loads(invoke("explain", "m.intarsia", "--plan", "--json").stdout) == {
        "artifact": "m.intarsia",
        "plan": PLAN,
    }


def test_json_is_the_report_and_the_engines(fakes: Fakes, folder: Path) -> None:
    (folder / "m.intarsia").touch()
    engines = {"mnn": {"version": "3.6.1", "licence": "BSD-3-Clause"}}
    code: dict[str, object] = {"signature": None, "machine_code": [], "named_code": []}
    expected = REPORT | {"artifact": "m.intarsia", "engines": engines} | code
    assert json.loads(invoke("explain", "m.intarsia", "--json").stdout) == expected


def test_a_missing_artifact_is_bad_input(fakes: Fakes, folder: Path) -> None:
    done = invoke("explain", "m.intarsia")
    assert (done.exit_code, done.stderr) == (2, "error: m.intarsia: no such file\n")
