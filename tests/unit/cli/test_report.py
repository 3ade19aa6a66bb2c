from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli_fakes import REPORT, Fakes, invoke


def test_an_artifact_becomes_a_page_beside_it(fakes: Fakes, folder: Path) -> None:
    (folder / "m.intarsia").touch()
    done = invoke("report", "m.intarsia")
    assert (done.exit_code, done.stdout) == (0, "wrote m.html\n")
    page = (folder / "m.html").read_text(encoding="utf-8")
    assert "mnn and onnxruntime" in page
    assert "spin: call" in page  # the plan file
    assert fakes.calls == []  # no engine was loaded


def test_json_says_what_was_written(fakes: Fakes, folder: Path) -> None:
    (folder / "m.intarsia").touch()
    told = json.loads(invoke("report", "m.intarsia", "-o", "p.html", "--json").stdout)
    size = (folder / "p.html").stat().st_size
    assert told == {"source": "m.intarsia", "page": "p.html", "bytes": size, "nodes": 4, "run_ms": None}


def test_run_adds_what_each_part_takes_now(fakes: Fakes, folder: Path) -> None:
    (folder / "m.intarsia").touch()
    done = invoke("report", "m.intarsia", "--run", "--json")
    assert json.loads(done.stdout)["run_ms"] == [1.5, 0.25]
    assert "measured just now" in (folder / "m.html").read_text(encoding="utf-8")
    assert fakes.model.closed


def test_a_report_alone_becomes_a_page_without_a_graph(fakes: Fakes, folder: Path) -> None:
    (folder / "r.json").write_text(json.dumps(REPORT), encoding="utf-8")
    assert invoke("report", "r.json").exit_code == 0
    page = (folder / "r.html").read_text(encoding="utf-8")
    assert "mnn and onnxruntime" in page
    assert 'id="canvas"' not in page


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "error: r.json: cannot be read as JSON"),
        ('{"singles": []}', "error: r.json: no report of a compile, it lacks best_single, chosen, latency_ms, "),
    ],
)
def test_what_is_no_report_is_bad_input(fakes: Fakes, folder: Path, content: str, said: str) -> None:
    (folder / "r.json").write_text(content, encoding="utf-8")
    done = invoke("report", "r.json")
    assert done.exit_code == 2
    assert done.stderr.startswith(said)
    assert not (folder / "r.html").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["none.intarsia"], "error: none.intarsia: cannot be read (No such file or directory)"),
        (["m.intarsia", "-o", "m.intarsia"], "error: cannot write m.intarsia: it is the artifact itself"),
        (["m.intarsia", "-o", "none/p.html"], "error: cannot write none/p.html: none is not a folder"),
        (["r.json", "--run"], "error: r.json is a report: only an artifact can be run"),
    ],
)
def test_what_cannot_be_done_is_said(fakes: Fakes, folder: Path, arguments: list[str], said: str) -> None:
    (folder / "m.intarsia").touch()
    (folder / "r.json").write_text(json.dumps(REPORT), encoding="utf-8")
    done = invoke("report", *arguments)
    assert done.exit_code == 2
    assert done.stderr.startswith(said)


def test_the_page_lands_in_the_working_directory(fakes: Fakes, folder: Path) -> None:
    (folder / "there").mkdir()
    (folder / "there" / "m.intarsia").touch()
    assert invoke("report", "there/m.intarsia").stdout == "wrote m.html\n"
    assert (folder / "m.html").is_file()


@pytest.mark.parametrize("name", sorted(REPORT))
@pytest.mark.parametrize("value", [None, 3, "a", [], {}, [None], {"a": None}], ids=str)
def test_a_field_of_another_type_is_bad_input_or_nothing(fakes: Fakes, folder: Path, name: str, value: object) -> None:
    (folder / "r.json").write_text(json.dumps({**REPORT, name: value}), encoding="utf-8")
    done = invoke("report", "r.json")
    assert done.exit_code in (0, 2), done.stderr
    assert (folder / "r.html").exists() == (done.exit_code == 0)


@pytest.mark.parametrize("content", ['{"a": ' * 100_000, "{\xff", "{" + "9" * 5000])
def test_what_is_no_json_is_bad_input(fakes: Fakes, folder: Path, content: str) -> None:
    (folder / "r.json").write_text(content, encoding="latin-1")
    assert invoke("report", "r.json").exit_code == 2
