from __future__ import annotations

import importlib
import inspect
import json
import subprocess
import sys
from pathlib import Path

import click
import pytest

from intarsia import __version__
from intarsia.cli.main import cli
from intarsia.errors import (
    BackendCrashError,
    BackendUnavailableError,
    IntarsiaError,
    MismatchError,
    ModelError,
    NoCoverError,
    SpecError,
)
from tests.cli_fakes import Fakes, invoke

VERBS = (
    *("bench", "compare", "compile", "completion", "config", "deploy", "devices", "doctor", "explain", "export"),
    *("keygen", "report", "run", "serve", "sign", "targets", "tune", "verify", "worker"),
)


def in_a_process(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=False)


def test_what_a_terminal_has_no_character_for_is_printed_as_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", "latin-1")
    done = in_a_process("from intarsia.cli.start import main; main()", "targets", "llvm")
    assert (done.returncode, done.stderr) == (0, "")
    assert r"int \u2265 1" in done.stdout


def test_the_verbs_are_these() -> None:
    assert tuple(sorted(cli.commands)) == VERBS


@pytest.mark.parametrize("verb", [*(verb for verb in VERBS if verb != "config"), "config show"])
def test_every_verb_prints_json_on_demand(verb: str) -> None:
    words = verb.split()
    command: click.Command = cli
    for word in words:
        assert isinstance(command, click.Group)
        command = command.commands[word]
    assert {"as_json"} <= {parameter.name for parameter in command.params}
    assert "--verbose" in invoke(*words, "--help").stdout


@pytest.mark.parametrize(
    "words", [["--help"], ["compile", "--help"], ["targets"], ["targets", "aws/c5"], ["config", "show", "--target=mnn"]]
)
def test_what_only_describes_loads_neither_engine_nor_model_library(words: list[str]) -> None:
    script = (
        "import sys\n"
        "from intarsia.cli.main import cli\n"
        "try:\n"
        f"    cli({words!r})\n"
        "except SystemExit as left:\n"
        "    assert left.code == 0, left.code\n"
        "heavy = {'numpy', 'onnx', 'onnx_ir', 'onnxruntime', 'openvino', 'MNN', 'ncnn', 'intarsia.driver'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)\n"
    )
    assert in_a_process(script).stderr == "[]\n"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (SpecError("a"), 2),
        (ModelError("a"), 2),
        (BackendUnavailableError("a"), 3),
        (BackendCrashError("mnn", "a"), 4),
        (NoCoverError("a"), 4),
        (MismatchError("a"), 5),
        (IntarsiaError("a"), 1),
        (click.Abort(), 130),
    ],
)
def test_the_error_chooses_the_exit_code(fakes: Fakes, folder: Path, error: Exception, code: int) -> None:
    fakes.failure = error
    done = invoke("compile", "m.onnx")
    assert done.exit_code == code
    assert done.stdout == ""
    assert done.stderr.startswith("interrupted" if code == 130 else "error: ")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("verb", ["compile", "compare"])
def test_the_driver_takes_what_the_verb_passes(folder: Path, verb: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        fakes = Fakes()
        fakes.install(patch)
        assert invoke(verb, "m.onnx").exit_code == 0
    model, settings = fakes.calls[0]
    driver = importlib.import_module("intarsia.driver")
    assert callable(getattr(driver, verb))
    inspect.signature(driver.compile).bind(model, **settings)  # compare takes what compile takes


def test_an_error_is_an_object_under_json(fakes: Fakes, folder: Path) -> None:
    fakes.failure = BackendCrashError("mnn", "signal 11")
    done = invoke("compile", "m.onnx", "--json")
    assert json.loads(done.stdout) == {
        "error": {
            "type": "BackendCrashError",
            "message": "mnn failed at crash: signal 11",
            "exit_code": 4,
            "engine": "mnn",
            "stage": "crash",
        }
    }
    assert done.stderr == "error: mnn failed at crash: signal 11\n"


def test_a_usage_error_is_an_object_under_json() -> None:
    done = invoke("compile", "--json")
    assert done.exit_code == 2
    assert json.loads(done.stdout)["error"]["type"] == "MissingParameter"


def test_what_nobody_foresaw_is_told_in_short(fakes: Fakes, folder: Path) -> None:
    fakes.failure = KeyError("lost")
    short, long = invoke("compile", "m.onnx"), invoke("compile", "m.onnx", "--verbose")
    assert short.exit_code == long.exit_code == 1
    assert short.stderr == "error: unexpected KeyError: 'lost'\n(--verbose shows where it came from)\n"
    assert "Traceback" in long.stderr
    assert "tests/cli_fakes.py" in long.stderr


def test_without_a_verb_the_help_is_shown() -> None:
    assert invoke().stdout == invoke("--help").stdout


def test_the_console_script_answers() -> None:
    done = in_a_process("from intarsia.cli.main import main; main()", "--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"intarsia {__version__}\n", "")


def test_what_engines_print_to_stdout_goes_to_stderr() -> None:
    script = (
        "import os, subprocess, sys, click\n"
        "from intarsia.cli import main\n"
        "@main.cli.command()\n"
        "def noisy():\n"
        "    os.write(1, b'from this process\\n')\n"
        "    subprocess.run(['echo', 'from a worker'], check=True)\n"
        "    click.echo('{}')\n"
        "main.main()\n"
    )
    done = in_a_process(script, "noisy")
    assert (done.returncode, done.stdout) == (0, "{}\n")
    assert done.stderr.split("\n") == ["from this process", "from a worker", ""]


def test_warnings_and_remarks_are_one_line_each() -> None:
    script = (
        "import logging, warnings\n"
        "from intarsia.cli import main\n"
        "@main.cli.command()\n"
        "def wary():\n"
        "    warnings.warn('slow', stacklevel=1)\n"
        "    logging.getLogger('intarsia.x').warning('other CPU')\n"
        "    logging.getLogger('intarsia.x').info('detail')\n"
        "main.main()\n"
    )
    assert in_a_process(script, "wary").stderr == "warning: slow\nwarning: other CPU\n"
