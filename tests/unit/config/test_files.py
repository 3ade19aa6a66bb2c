from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest

from intarsia.config.files import find_config, read_config, target_text, user_folder
from intarsia.errors import ConfigError, SpecError

BOMB = "".join(f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n" for before, name in pairwise("abcdefghijklm"))
BOMB = f"a: &a [lol]\n{BOMB}"
"""Of 9^12 values."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, and the user's configurations in another."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return work


def keep(name: str, text: str = "{}") -> Path:
    path = user_folder() / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_is_found_by_path_by_name_and_by_name_in_a_folder(folder: Path) -> None:
    kept = keep("boards/pi.yaml")
    (folder / "pi").write_text("llvm")
    (folder / "own.json").write_text("{}")
    assert find_config("own.json") == Path("own.json")
    assert find_config("pi") == Path("pi")
    assert find_config("boards/pi") == find_config("pi.yaml") == kept
    assert find_config("./pi") == Path("pi")


def test_the_default_counts_where_none_is_named(folder: Path) -> None:
    assert find_config(None) is None
    kept = keep("default.json")
    assert find_config(None) == find_config("default") == kept
    assert find_config("default.json") == kept


def test_an_unknown_name_lists_the_known(folder: Path) -> None:
    with pytest.raises(ConfigError, match=r"--config pie: there is no such file, .*configs; that folder has none"):
        find_config("pie")
    keep("boards/pi.yaml")
    with pytest.raises(ConfigError, match=r"did you mean 'pi'\?"):
        find_config("pie")
    with pytest.raises(ConfigError, match=r"there are boards/pi, pi"):
        find_config("something-else")


@pytest.mark.parametrize(
    ("name", "text", "data"),
    [
        ("a.json", '{"targets": ["llvm"], "budget": 3}', {"targets": ["llvm"], "budget": 3}),
        ("a.yaml", "targets: [llvm]\nbudget: 3\n", {"targets": ["llvm"], "budget": 3}),
        ("a.yml", "- llvm\n- mnn\n", {"targets": ["llvm", "mnn"]}),
        ("a.txt", "mnn, llvm\n", {"targets": "mnn, llvm"}),
    ],
)
def test_json_yaml_and_text(folder: Path, name: str, text: str, data: object) -> None:
    (folder / name).write_text(text)
    assert read_config(Path(name)) == data


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.json", '{"a": 1,\n "a": 2}', r"a\.json, line 2: 'a' appears more than once\n   \"a\": 2\}\n   \^\^\^"),
        ("a.json", '{"a": 1,\n b}', r"a\.json, line 2: .*\n   b\}\n   \^"),
        ("a.json", "3", r"a\.json holds int, and not the fields"),
        ("a.yaml", "a: 1\nb: 2\na: 3", r"a\.yaml, line 3: 'a' appears more than once\n  a: 3\n  \^"),
        ("a.yaml", "a: [", r"a\.yaml, line 1: this is not YAML"),
        ("a.yaml", "a: 2020-01-01", r"a\.yaml, line 1: .* some read a date; in quotes it is text\n"),
        ("a.yaml", "a: .inf", r"a\.yaml, line 1: '\.inf' is not a finite number"),
        ("a.yaml", "a: &a [*a]", r"a\.yaml, line 1: \*a repeats the value that it is a part of"),
        (
            "a.yaml",
            BOMB,
            r"a\.yaml, line \d+: there are more than 250,000 values, counting those that aliases \(\*\) repeat",
        ),
        ("a.yaml", "", r"a\.yaml holds NoneType"),
    ],
)
def test_what_a_file_cannot_hold(folder: Path, name: str, text: str, message: str) -> None:
    (folder / name).write_text(text)
    with pytest.raises(SpecError, match=message):
        read_config(Path(name))


def test_a_file_that_cannot_be_read(folder: Path) -> None:
    (folder / "a.json").write_bytes(b"\xff")
    with pytest.raises(SpecError, match=r"cannot read the file a\.json"):
        read_config(Path("a.json"))
    with pytest.raises(SpecError, match=r"cannot read the file none\.yaml"):
        target_text("none.yaml")


def test_a_target_may_be_the_path_of_a_file(folder: Path) -> None:
    (folder / "machine").write_text("mnn, llvm\n")
    (folder / "machine.yaml").write_text("targets: [llvm]\n")
    (folder / "llvm").write_text("mnn")
    assert target_text("machine") == "mnn, llvm"
    assert json.loads(target_text("machine.yaml")) == {"targets": ["llvm"]}
    assert target_text("./llvm") == "mnn"
    for text in (
        "llvm",
        "aws/c5",
        "acl",
        "nvidia/jetson-nano:cuda",
        "mnn, llvm",
        '{"kind": "llvm"}',
        "x" * 5000,
        "a\0b",
        "",
    ):
        assert target_text(text) == text
