from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from intarsia.target import ALIASES, KINDS, LEVELS, TAGS, list_tags, register_tag
from tests.cli_fakes import invoke


def answer(*what: str) -> dict[str, Any]:
    done = invoke("targets", *what, "--json")
    assert done.exit_code == 0, done.output
    data: dict[str, Any] = json.loads(done.stdout)
    return data


def test_everything_is_listed() -> None:
    data = answer()
    assert [kind["name"] for kind in data["kinds"]] == list(KINDS)
    assert list(data["aliases"]) == list(ALIASES)
    assert sum(data["tags"].values()) == len(list_tags())


@pytest.mark.parametrize("name", KINDS)
def test_a_kind_shows_its_options(name: str) -> None:
    shown = answer(name)["kind"]
    assert [option["name"] for option in shown["options"]] == list(KINDS[name].options)
    text = invoke("targets", name).stdout
    assert text.startswith(f"{name}: {KINDS[name].meaning}\n")
    for option in KINDS[name].options.values():
        assert f"\n{option.name} " in text


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("ethos-?", ["ethos-n", "ethos-u"]),
        ("ethos-n*", ["ethos-n", "ethos-n37", "ethos-n57", "ethos-n77", "ethos-n78"]),
        ("nvidia/jetson-nano*", ["nvidia/jetson-nano", "nvidia/jetson-nano:cuda", "nvidia/jetson-nano:cpu"]),
        ("rasp4b6", ["arm/rasp4b64"]),
    ],
)
def test_a_pattern_searches_kinds_aliases_and_tags(pattern: str, names: list[str]) -> None:
    found = answer(pattern)["found"]
    assert [each["name"] for each in found] == names
    assert all(each["means"] for each in found)


def test_every_tag_can_be_listed() -> None:
    found = {each["name"]: each for each in answer("*/*")["found"]}
    assert set(list_tags()) <= found.keys()
    assert all(each["means"] and each["source"] for each in found.values())


def test_a_spec_is_explained_target_by_target(tmp_path: Path) -> None:
    path = tmp_path / "machine.json"
    path.write_text('{"targets": ["aws/c5 -threads=2", "mnn"], "executor": "vm"}')
    data = answer(str(path))
    assert (data["level"], [target["kind"] for target in data["targets"]]) == ("config", ["llvm", "mnn"])
    origins = {field["name"]: (field["origin"], field["tag"]) for field in data["targets"][0]["fields"]}
    assert (origins["mcpu"], origins["threads"]) == (("tag", "aws/c5"), ("user", ""))
    assert {field["origin"] for field in data["targets"][1]["fields"]} == {"derived", "default"}
    assert {leaf["path"]: leaf["by"] for leaf in data["leaves"]}["executor.kind"] == "--target"


@pytest.mark.parametrize(
    "form", ["llvm -mcpu=haswell", "acl", '{"kind": "mnn"}', "nvidia/jetson-nano:cpu", "cuda:1, llvm"]
)
def test_any_form_is_explained(form: str) -> None:
    done = invoke("targets", form)
    assert done.exit_code == 0, done.output
    assert "field" in done.stdout


@pytest.mark.parametrize(
    ("level", "form", "text"),
    [("executor", "aot -unpacked-api", "aot -unpacked-api=true"), ("runtime", "rpc -address=a:1", "rpc -address=a:1")],
)
def test_tags_of_other_levels_are_explained(level: str, form: str, text: str) -> None:
    with TAGS.scope():
        register_tag("a/thing", form, level=level)
        assert level in LEVELS
        assert answer("a/thing")["text"] == text
        assert [each["means"] for each in answer("a/th*")["found"]] == [text]


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("lllvm", "did you mean 'llvm'?"),
        ("nothing*", "no kind, alias or tag is called 'nothing*'"),
        ("llvm -mcp=x", "did you mean 'mcpu'?"),
        ("aws/c55", "tag 'aws/c55' is not defined; did you mean"),
        ("none.json", "cannot read the file none.json"),
    ],
)
def test_what_is_not_there_is_told(what: str, message: str) -> None:
    done = invoke("targets", what)
    assert (done.exit_code, done.stdout) == (2, "")
    assert message in done.stderr


def test_a_word_without_separators_finds_its_tags() -> None:
    done = invoke("targets", "raspberrypi4", "--json")
    assert [each["name"] for each in json.loads(done.stdout)["found"]] == [
        "raspberry-pi/4b-aarch64",
        "raspberry-pi/4b-armhf",
    ]
