"""No value of any option ends a verb in an error that nobody foresaw: each numeric option is found by its type."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from intarsia.cli.main import cli
from intarsia.cli.options import File, Milliseconds, Seconds, Share, Whole
from tests.cli_fakes import Fakes, invoke

NUMERIC = (click.types.IntParamType, click.types.FloatParamType)
HOSTILE = (
    *("nan", "-nan", "NaN", "inf", "-inf", "infinity", "1e308", "1e999", "-1", "-5", "-0.5", "-1e-300", str(10**30)),
    *("9" * 5000, "0x10", "", " ", "1.5.2", "1,5", "true", "None", "[1]", "1 2", "٣٣٣٣٣٣٣٣٣٣٣٣٣٣٣٣٣٣٣٣٣٣", "\udcff"),
)
"""None of these is a value of any of our numeric options, but for a time, a share or a seed of an odd spelling."""


def verbs(group: click.Group, *path: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    for name, verb in group.commands.items():
        if isinstance(verb, click.Group):
            yield from verbs(verb, *path, name)
        else:
            yield (*path, name), verb


PARAMETERS = [(path, param) for path, verb in verbs(cli) for param in verb.params]
NUMBERS = [(path, param) for path, param in PARAMETERS if isinstance(param.type, NUMERIC)]


def label(case: object) -> str:
    return case.name or "" if isinstance(case, click.Parameter) else " ".join(map(str, case))  # type: ignore[call-overload]


def test_there_are_numbers_and_paths() -> None:
    assert {param.name for _, param in NUMBERS} >= {"budget", "threads", "seed", "seeds", "max_error"}
    assert all(isinstance(param.type, File) for _, param in PARAMETERS if isinstance(param.type, click.Path))


@pytest.mark.parametrize(("path", "param"), NUMBERS, ids=label)
def test_a_numeric_option_takes_only_what_is_a_number_of_its_kind(
    path: tuple[str, ...], param: click.Parameter
) -> None:
    assert isinstance(param.type, Seconds | Milliseconds | Share | Whole)
    for text in HOSTILE:
        try:
            value = param.type.convert(text, param, None)
        except click.BadParameter:
            continue
        assert math.isfinite(value)
        assert 0 <= value <= 2**63 - 1


@pytest.mark.parametrize(("path", "param"), NUMBERS, ids=label)
@pytest.mark.parametrize("text", ["nan", "inf", "-5", "1e308", str(10**30)])
def test_a_verb_refuses_it_as_bad_input(
    path: tuple[str, ...], param: click.Parameter, text: str, fakes: Fakes, folder: Path
) -> None:
    done = invoke(*path, *(["m.onnx"] if path != ("config", "show") else []), f"{param.opts[-1]}={text}")
    assert (done.exit_code, fakes.calls) == (2, [])
    assert param.opts[-1] in done.stderr


@pytest.mark.parametrize(
    ("flag", "message"),
    [
        *(
            (f"--max-memory={text}", "not an amount of memory")
            for text in ("nanMB", "-1MB", "0B", "1e9MB", "9" * 400 + "GB")
        ),
        *((f"--shape=N={text}", "is not NAME=DIMS") for text in ("-1", "nan", "1.5", "1e3", "9" * 5000)),
        *((f"--shape=N={text}", "the shape given for 'N'") for text in (str(2**63), f"1x{10**30}")),
        *((f"--shape=N={text}", "range") for text in ("0..4", "5..1", f"1..{'9' * 50}", "-1..4", "nan..4", "1..4/9")),
        ("--threads=1025", "too large; at most 1024"),
        ("--seed=9223372036854775808", "too large; at most 9223372036854775807"),
        ("--max-error=1", "not in the range"),
    ],
)
def test_texts_that_hold_numbers(flag: str, message: str, folder: Path) -> None:
    done = CliRunner().invoke(cli, ["compile", "missing.onnx", "--store=s", "--target=mnn", flag])
    assert done.exit_code == 2
    assert " ".join(message.split()) in " ".join(done.stderr.split())
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("limit", ["p50>nan%", "p50>+1e999%", "p50>" + "9" * 400 + "ms", "memory>infMB", "p50>1.2.3ms"])
def test_limits_are_finite(limit: str, folder: Path) -> None:
    done = CliRunner().invoke(cli, ["compare", "missing.onnx", "--fail-if", limit])
    assert done.exit_code == 2
    assert "missing.onnx" not in done.stderr


@pytest.mark.parametrize("text", ["a\0b", "x" * 5000, "/".join("ab" * 3000), "loop/a"])
def test_a_path_that_no_system_has_is_bad_input(text: str, folder: Path) -> None:
    (folder / "loop").symlink_to("loop")
    for _, param in PARAMETERS:
        if isinstance(param.type, File):
            with pytest.raises(click.BadParameter, match="is no path"):
                param.type.convert(text, param, None)
    assert invoke("targets", text).exit_code == 2
    assert invoke("config", "show", "--config", text).exit_code == 2


SETTINGS = {
    "threads": [[1], {"a": 1}, True, "two", 0, 1e308, -1, 1.5, "", "1\n2"],
    "budget": [[60], {}, True, "much", -1, 1e308, ""],
    "seed": [[0], {"a": 1}, False, -5, 1.5, 10**30, "x"],
    "max-error": [[0.1], True, 0, 1, -1, "x"],
    "max-memory": [["500MB"], {"a": 1}, True, "many", 0, -1, "9" * 400 + "GB"],
    "store": [["s"], {"a": 1}, True, "a\0b", "x" * 5000],
    "plan": [["p"], {"a": 1}, True, "a\0b"],
    "constraints": [[], {}, True, "a\0b"],
    "partition": [["single"], {"a": 1}, True, "doubly", 3],
    "strict": [[True], {"a": 1}, "perhaps", 3, 1.5],
    "strict-machine": [[True], {"a": 1}, "perhaps", 3, 1.5],
    "objective": [["latency"], {"a": 1}, True, "speed", 3],
    "max-latency": [[20], {"a": 1}, True, "short", 0, -1, 20],
    "shape": ["N", 3, True, ["N"], [["N", 1]], {"N": [1]}, {"N": True}, {"N": {"a": 1}}, {"N": 1e308}, {"": 1}],
}
CASES = [(name, value) for name, values in SETTINGS.items() for value in values]


@pytest.mark.parametrize(("name", "value"), CASES, ids=lambda case: str(case)[:20])
def test_a_setting_of_a_file_of_another_type_is_bad_input(name: str, value: object, folder: Path) -> None:
    (folder / "m.json").write_text(json.dumps({"targets": ["mnn"], name: value}))
    done = CliRunner().invoke(cli, ["compile", "missing.onnx", "--config=m.json"])
    assert done.exit_code == 2, done.stderr
    assert "missing.onnx" not in done.stderr
    assert name in done.stderr or name == "max-memory"
