from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from intarsia.config import CompilationConfig, Deployment, Executor, Runtime
from intarsia.errors import SpecError
from intarsia.spec import Variant
from intarsia.target import LEVELS, TAGS, Target, list_tags, load_tags, register_tag


@pytest.fixture(autouse=True)
def _tags_of_one_test() -> Iterator[None]:
    with TAGS.scope(), LEVELS.scope():
        yield


def write(path: Path, rows: dict[str, object]) -> Path:
    path.write_text(json.dumps({"tags": rows}), encoding="utf-8")
    return path


# in Python


def test_a_registered_tag_is_returned_and_read() -> None:
    target = register_tag("v/board", "llvm -mcpu=x", variants={"fast": "llvm -mcpu=x -fast-math"}, source="data sheet")
    assert target == Target("llvm -mcpu=x") == Target("v/board")
    assert target.tag == "v/board"
    assert Target("v/board:fast")["fast-math"]
    assert TAGS["v/board"].source == "data sheet"


def test_redefinition_is_refused_unless_asked_for() -> None:
    register_tag("my/tag", {"kind": "llvm"})
    with pytest.raises(SpecError, match="tag 'my/tag' has been previously defined"):
        register_tag("my/tag", {"kind": "c"})
    assert register_tag("my/tag", {"kind": "c"}, override=True) == Target("c")


def test_a_shipped_tag_is_defined_too() -> None:
    with pytest.raises(SpecError, match="previously defined"):
        register_tag("nvidia/nvidia-a100", "cuda -arch=sm_80")
    register_tag("nvidia/nvidia-a100", "cuda -arch=sm_52", override=True)
    assert Target("nvidia/a100")["arch"] == "sm_52"


@pytest.mark.parametrize(
    ("name", "form", "variants"),
    [
        ("llvm", "mnn", {}),
        ("acl", "mnn", {}),
        ("v/x", "nope", {}),
        ("v/x", "v/x", {}),
        ("v/x", "llvm", {"a": "nope"}),
        ("v/x", "llvm", {"a": Variant(level="target", form="nope")}),
        ("v x", "llvm", {}),
    ],
)
def test_tags_that_are_refused_leave_nothing_behind(name: str, form: str, variants: dict[str, object]) -> None:
    with pytest.raises(SpecError):
        register_tag(name, form, variants=variants)
    assert name not in TAGS


# other levels


def test_a_tag_of_another_level_is_read_by_that_level() -> None:
    LEVELS.register("crate", lambda name: f"the crate {name}")
    assert register_tag("lab/box", {"anything": 1}, level="crate") == "the crate lab/box"
    assert TAGS.level_of("lab/box") == "crate"
    with pytest.raises(SpecError, match="names a crate; write a target"):
        Target("lab/box")


def test_a_variant_is_tried_out_by_its_own_level() -> None:
    seen: list[str] = []
    LEVELS.register("crate", seen.append)
    register_tag("lab/box", "mnn", variants={"all": Variant(level="crate", form={"anything": 1})})
    assert seen == ["lab/box:all"]
    assert TAGS.level_of("lab/box:all") == "crate"


def test_a_level_that_nobody_knows() -> None:
    with pytest.raises(SpecError, match="level 'crate' is not known"):
        register_tag("lab/box", {}, level="crate")
    assert "lab/box" not in TAGS


# files


def test_a_file_adds_tags_that_name_each_other_in_any_order(tmp_path: Path) -> None:
    path = write(tmp_path / "lab.json", {"lab/more": {"form": "lab/box -threads=2"}, "lab/box": {"form": "mnn"}})
    added = load_tags(path)
    assert list(added) == ["lab/more", "lab/box"]
    assert Target("lab/more") == Target("mnn -threads=2")


def test_a_folder_adds_every_file(tmp_path: Path) -> None:
    write(tmp_path / "a.json", {"lab/a": {"form": "mnn"}})
    (tmp_path / "b.yaml").write_text("tags: {lab/b: {form: ncnn}}", encoding="utf-8")
    assert list(load_tags(str(tmp_path))) == ["lab/a", "lab/b"]
    assert Target("lab/b") == Target("ncnn")


@pytest.mark.parametrize("fault", [{"form": "nope"}, {"form": "mnn", "sorce": "x"}, {}])
def test_a_file_with_a_fault_adds_nothing(tmp_path: Path, fault: dict[str, object]) -> None:
    path = write(tmp_path / "lab.json", {"lab/box": {"form": "mnn"}, "lab/bad": fault})
    with pytest.raises(SpecError, match="lab/bad"):
        load_tags(path)
    assert "lab/box" not in TAGS


def test_a_row_replaces_on_request_only(tmp_path: Path) -> None:
    register_tag("lab/box", "mnn")
    path = write(tmp_path / "lab.json", {"lab/box": {"form": "ncnn"}})
    with pytest.raises(SpecError, match="previously defined"):
        load_tags(path)
    load_tags(write(tmp_path / "lab.json", {"lab/box": {"form": "ncnn", "override": True}}))
    assert Target("lab/box") == Target("ncnn")


# listing


def test_listing_is_sorted_and_takes_a_pattern() -> None:
    register_tag("aaa/box", "mnn")
    names = list(list_tags())
    assert names == sorted(names)
    assert names[0] == "aaa/box"
    assert set(list_tags("aaa/*")) == {"aaa/box"}
    assert "nvidia/geforce-rtx-3070" in list_tags("*rtx-3*")


def test_listing_by_level() -> None:
    LEVELS.register("crate", str)
    register_tag("lab/box", {}, level="crate")
    assert set(list_tags(level="crate")) == {"lab/box"}
    assert "lab/box" not in list_tags(level="target")


@pytest.mark.parametrize(
    ("level", "form", "value"),
    [
        ("config", {"targets": ["mnn", "llvm"]}, CompilationConfig.of("mnn, llvm")),
        ("executor", "aot -unpacked-api", Executor("aot -unpacked-api")),
        ("runtime", {"kind": "crt"}, Runtime("crt")),
        ("deployment", {"machines": {"a": "llvm", "b": "mnn"}}, Deployment.of({"machines": {"a": "llvm", "b": "mnn"}})),
    ],
)
def test_every_level_has_tags(level: str, form: object, value: object) -> None:
    assert register_tag("lab/box", form, level=level) == value
    assert LEVELS[level]("lab/box") == value


def test_the_example_of_the_docs_page(tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "docs" / "spec-language.md").read_text(encoding="utf-8")
    example = page.partition("```yaml\n")[2].partition("```")[0]
    path = tmp_path / "acme.yaml"
    path.write_text(example, encoding="utf-8")
    assert list(load_tags(path)) == ["acme/board", "acme/board-2"]
    assert TAGS["acme/board"].source == "Acme data sheet, page 3"
    assert Target("acme/board-2") == Target("llvm -mcpu=cortex-a72 -num-cores=8")
    assert [str(t.kind.name) for t in CompilationConfig.of("acme/board:whole").targets] == ["ethos-n", "llvm"]
