"""Results are kept network by network, and never mixed with those of another machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import networks
from benchmarks import competitors, results_file
from intarsia.errors import ConfigError


@pytest.fixture(autouse=True)
def _here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(competitors, "machine", lambda: {"cpu": "ours"})
    monkeypatch.setattr(competitors, "versions", lambda: {"onnxruntime": "1"})


def test_what_is_done_is_kept_when_the_next_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "new" / "suite.json"

    def work(name: str, folder: Path) -> dict[str, Any]:
        assert folder.is_dir()
        if name == "bad":
            raise ConfigError("no such thing")
        if name == "worse":
            raise RuntimeError("a contender died")
        return {"ms": 1.0, "void": name == "noisy"}

    results_file.run(path, ["good", "bad", "worse", "noisy"], work, lambda found: f"{found['ms']} ms")
    results = results_file.load(path)
    assert results == {
        "machine": {"cpu": "ours"},
        "engines": {"onnxruntime": "1"},
        "networks": {
            "good": {"ms": 1.0, "void": False},
            "bad": {"failed": "no such thing"},
            "worse": {"failed": "a contender died"},
            "noisy": {"ms": 1.0, "void": True},
        },
    }
    assert capsys.readouterr().out.splitlines()[:2] == ["1/4 good 1.0 ms", "2/4 bad failed: no such thing"]
    assert results_file.missing(results, ["good", "bad", "worse", "noisy", "new"]) == ["bad", "worse", "noisy", "new"]


def test_a_stopped_run_keeps_what_is_done(tmp_path: Path) -> None:
    path = tmp_path / "suite.json"

    def work(name: str, folder: Path) -> dict[str, Any]:
        if name == "second":
            raise KeyboardInterrupt
        return {"void": False}

    with pytest.raises(KeyboardInterrupt):
        results_file.run(path, ["first", "second"], work, str)
    assert list(results_file.load(path)["networks"]) == ["first"]
    assert [file.name for file in tmp_path.iterdir()] == ["suite.json"]


@pytest.mark.parametrize("key", ["machine", "engines"])
def test_figures_of_another_machine_are_not_added_to(tmp_path: Path, key: str) -> None:
    path = tmp_path / "suite.json"
    results_file.store(path, {**results_file.load(path), key: {"cpu": "theirs"}})
    with pytest.raises(SystemExit, match=f"was measured with other {key}"):
        results_file.run(path, ["any"], lambda name, folder: pytest.fail("it ran"), str)
    assert json.loads(path.read_text())["networks"] == {}


def test_names_are_checked_and_left_out_means_the_suite(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parser = results_file.arguments("suite", "what", tmp_path / "suite.json")
    assert results_file.named(parser, parser.parse_args([])) == list(networks.SUITE)
    assert results_file.named(parser, parser.parse_args(["squeezenet"])) == ["squeezenet"]
    with pytest.raises(SystemExit):
        results_file.named(parser, parser.parse_args(["squeezenets"]))
    assert "no network squeezenets" in capsys.readouterr().err


def test_only_what_is_missing_runs_if_that_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "suite.json"
    results_file.run(path, ["squeezenet"], lambda name, folder: {"void": False}, str)
    parser = results_file.arguments("suite", "what", path)
    assert results_file.named(parser, parser.parse_args(["squeezenet", "vgg19", "--missing"])) == ["vgg19"]
