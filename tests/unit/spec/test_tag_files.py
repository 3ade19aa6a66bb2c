from __future__ import annotations

from pathlib import Path

import pytest

from intarsia.errors import SpecError
from intarsia.spec import Variant
from intarsia.spec.tag_files import read_tag_file

JSON = """{
  "sources": {"sheet": "Data sheet, page 3"},
  "tags": {
    "v/a": {"form": {"kind": "llvm", "num-cores": 4}, "source": ["sheet", "a visit"]},
    "v/b": {"form": "v/a -mcpu=x", "override": true, "variants": {
      "fast": "v/b -fast-math",
      "slow": {"form": {"tag": "v/b"}},
      "all": {"level": "config", "form": {"targets": ["v/b"]}}}},
    "v/c": {"form": {"targets": ["v/a"]}, "level": "config", "source": "sheet", "variants": {
      "t": {"level": "target", "form": "v/a"}}}
  }
}"""
YAML = """
sources: {sheet: "Data sheet, page 3"}
tags:
  v/a: {form: {kind: llvm, num-cores: 4}, source: [sheet, a visit]}
  v/b:
    form: v/a -mcpu=x
    override: true
    variants:
      fast: v/b -fast-math
      slow: {form: {tag: v/b}}
      all: {level: config, form: {targets: [v/a]}}
"""


def write(folder: Path, text: str, name: str = "tags.json") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def fault(folder: Path, text: str, name: str = "tags.json") -> str:
    with pytest.raises(SpecError) as caught:
        read_tag_file(write(folder, text, name))
    assert name in str(caught.value)
    return str(caught.value)


def test_a_file(tmp_path: Path) -> None:
    rows = read_tag_file(write(tmp_path, JSON))
    assert list(rows) == ["v/a", "v/b", "v/c"]
    a, b, c = (row.tag for row in rows.values())
    assert (a.level, a.form, a.source) == ("target", {"kind": "llvm", "num-cores": 4}, "Data sheet, page 3; a visit")
    assert [row.override for row in rows.values()] == [False, True, False]
    assert b.chosen("fast") == Variant(level="target", form="v/b -fast-math")
    assert b.chosen("slow") == Variant(level="target", form={"tag": "v/b"})
    assert b.chosen("all") == Variant(level="config", form={"targets": ["v/b"]})
    assert (c.level, c.chosen("t")) == ("config", Variant(level="target", form="v/a"))


@pytest.mark.parametrize("name", ["tags.yaml", "tags.yml"])
def test_yaml_says_the_same(tmp_path: Path, name: str) -> None:
    from_json = read_tag_file(write(tmp_path, JSON))
    from_yaml = read_tag_file(write(tmp_path, YAML, name))
    assert from_yaml["v/a"] == from_json["v/a"]
    assert from_yaml["v/b"].tag.chosen("slow") == from_json["v/b"].tag.chosen("slow")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("[]", "must be a mapping, found a list"),
        ('{"tag": {}}', "unknown field 'tag' (str); did you mean 'tags'?"),
        ('{"tags": []}', "tags: must be a mapping"),
        ('{"tags": {"a": "llvm"}}', "tags['a']: must be a mapping, found 'llvm'"),
        ('{"tags": {"a": {}}}', "tags['a']: field 'form' is missing"),
        ('{"tags": {"a": {"form": "llvm", "sorce": ""}}}', "unknown field 'sorce' (str); did you mean 'source'?"),
        ('{"tags": {"a": {"form": "llvm", "level": 1}}}', "tags['a'].level: must be a str, found 1 (int)"),
        ('{"tags": {"a": {"form": "llvm", "source": 1}}}', "tags['a'].source: must be a str or a list"),
        ('{"tags": {"a": {"form": "llvm", "override": 1}}}', "tags['a'].override: must be a bool"),
        ('{"tags": {"a": {"form": "llvm", "variants": {"b": 1}}}}', "tags['a'].variants.b: must be a mapping"),
        ('{"tags": {"a": {"form": "llvm", "variants": {"b": {}}}}}', "tags['a'].variants.b: field 'form'"),
        ('{"tags": {"a": {"form": "llvm", "variants": {"1": "x"}}}}', "cannot name a variant"),
        ('{"tags": {"a b": {"form": "llvm"}}}', "'a b' cannot be the name of a tag"),
    ],
)
def test_faults_say_where_and_what(tmp_path: Path, text: str, what: str) -> None:
    assert what in fault(tmp_path, text)


def test_all_faults_come_together(tmp_path: Path) -> None:
    said = fault(tmp_path, '{"tags": {"a": {}, "b c": {"form": "mnn"}, "d": {"form": "mnn", "x": 1}}}')
    assert "3 problems" in said


def test_names_in_yaml_are_text_as_in_json(tmp_path: Path) -> None:
    rows = read_tag_file(write(tmp_path, "tags: {v/no: {form: llvm, variants: {on: mnn}}}", "a.yaml"))
    assert rows["v/no"].tag.chosen("on") == Variant(level="target", form="mnn")
    said = fault(tmp_path, "tags: {a: {form: llvm, variants: {2: mnn}}}", "a.yaml")
    assert "'2' cannot name a variant of tag 'a'" in said


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.json", '{"tags": {"v/a": {"form": "llvm"},\n "v/a": {"form": "mnn"}}}'),
        ("a.yaml", 'tags: {v/a: {form: llvm},\n "v/a": {form: mnn}}'),
    ],
)
def test_a_name_that_is_there_twice_is_shown(tmp_path: Path, name: str, text: str) -> None:
    said = fault(tmp_path, text, name).splitlines()
    assert f"{name}, line 2: 'v/a'" in said[0]
    assert said[1:] == ["  " + text.splitlines()[1], "   ^^^^^"]


@pytest.mark.parametrize(("name", "text"), [("a.json", "{"), ("a.yaml", "a: [")])
def test_what_is_no_such_text(tmp_path: Path, name: str, text: str) -> None:
    assert f"{name}, line 1: " in fault(tmp_path, text, name)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="cannot read the tag file"):
        read_tag_file(tmp_path / "none.json")
