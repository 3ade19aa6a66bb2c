from __future__ import annotations

import json
import logging
import warnings

import pytest

from intarsia.errors import ArtifactError
from intarsia.serving.logs import json_lines, tell, tell_error


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    return [json.loads(line) for line in capsys.readouterr().err.splitlines()]


def test_whatever_is_said_is_a_line_of_json(capsys: pytest.CaptureFixture[str]) -> None:
    with warnings.catch_warnings(), json_lines():
        warnings.simplefilter("always")
        tell("ready", model="m", seconds=0.5)
        logging.getLogger("another").warning("two\nlines of %s", "it")
        warnings.warn("it overflows", RuntimeWarning, stacklevel=1)
        tell_error("failed", ArtifactError("damaged"), model="m")
        try:
            raise ZeroDivisionError("by zero")
        except ZeroDivisionError as error:
            tell_error("failed", error)
    found = lines(capsys)
    assert [(line["level"], line["event"]) for line in found] == [
        ("info", "ready"),
        ("warning", "two\nlines of it"),
        ("warning", "warning"),
        ("error", "failed"),
        ("error", "failed"),
    ]
    assert all("T" in str(line["time"]) for line in found)
    assert (found[0]["model"], found[0]["seconds"]) == ("m", 0.5)
    assert found[2]["warning"] == "it overflows"
    assert found[3]["error"] == "damaged"
    assert "traceback" not in found[3]
    assert found[4]["error"] == "unexpected ZeroDivisionError: by zero"
    assert "ZeroDivisionError" in str(found[4]["traceback"])


def test_where_only_errors_are_asked_for_nothing_else_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    root = logging.getLogger()
    before = root.level
    root.setLevel(logging.ERROR)
    try:
        with json_lines():
            tell("ready")
            tell_error("failed", ArtifactError("damaged"))
    finally:
        root.setLevel(before)
    assert [line["event"] for line in lines(capsys)] == ["failed"]
