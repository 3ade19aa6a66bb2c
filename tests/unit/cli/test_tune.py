from __future__ import annotations

import json
from pathlib import Path

from intarsia.cost.records.record import Key
from intarsia.cost.records.store import Store
from intarsia.errors import ModelError
from tests.cli_fakes import REPORT, Fakes, invoke


def test_the_models_and_the_settings_reach_the_driver(fakes: Fakes, folder: Path) -> None:
    done = invoke("tune", "a.onnx", "b.onnx", "--store", "s.db", "--budget", "8", "--shape", "N=8", "--json")
    assert done.exit_code == 0, done.output
    (models, settings), *_ = fakes.calls
    assert models == (Path("a.onnx"), Path("b.onnx"))
    assert (settings["budget"], settings["shapes"], settings["store"]) == (8.0, {"N": 8}, folder / "s.db")
    report = json.loads(done.stdout)
    assert [(row["model"], row["measured"], row["cached"]) for row in report["models"]] == [
        ("a.onnx", REPORT["search"]["measured"], REPORT["search"]["cached"]),
        ("b.onnx", REPORT["search"]["measured"], REPORT["search"]["cached"]),
    ]


def test_one_model_that_fails_is_told_and_the_others_go_on(fakes: Fakes, folder: Path) -> None:
    fakes.tuned = [ModelError("a.onnx is no ONNX model"), REPORT]
    done = invoke("tune", "a.onnx", "b.onnx", "--store", "s.db")
    assert done.exit_code == 2
    assert "a.onnx is no ONNX model" in done.stdout
    assert "the mix is 1.22 times as fast" in done.stdout
    assert done.stderr == "error: a.onnx is no ONNX model\n"


def test_an_interruption_tells_what_is_done(fakes: Fakes, folder: Path) -> None:
    fakes.tuned = [REPORT, KeyboardInterrupt()]
    done = invoke("tune", "a.onnx", "b.onnx", "--store", "s.db")
    assert done.exit_code == 130
    assert done.stderr == "interrupted: 1 of 2 models are done; the same command goes on where this stopped\n"


def test_records_come_in_go_out_and_are_removed(fakes: Fakes, folder: Path) -> None:
    Store(folder / "s.db").put("nodes", Key(facts={"graph": "a"}), {"ms": [1.0]}, {"model": str(folder / "a.onnx")})
    assert "wrote 1 record to t.jsonl" in invoke("tune", "--store", "s.db", "--export", "t.jsonl").stdout
    assert "removed 0 records" in invoke("tune", "--store", "s.db", "--clear", "b.onnx", "--export", "t.jsonl").stdout
    done = invoke("tune", "--store", "s.db", "--clear", "--import", "t.jsonl", "--list", "--json")
    report = json.loads(done.stdout)
    assert (report["removed"], report["added"]) == (1, 1)
    assert [(each["model"], each["records"], each["is_here"]) for each in report["records"]] == [("a.onnx", 1, False)]


def test_without_anything_to_do_it_says_so(fakes: Fakes, folder: Path) -> None:
    done = invoke("tune")
    assert done.exit_code == 2
    assert "name a MODEL, or one of --import" in done.stderr
