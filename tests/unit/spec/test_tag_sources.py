from __future__ import annotations

import json
import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType

import pytest

from intarsia.errors import SpecError
from intarsia.spec import Tag
from intarsia.spec.tag_sources import PlugIns, UserFolder, VendorFolder, read_tag_folder


def write(folder: Path, name: str, *tags: str, override: bool = False) -> None:
    rows = {tag: {"form": "llvm", "source": name, "override": override} for tag in tags}
    (folder / name).write_text(json.dumps({"tags": rows}), encoding="utf-8")


@pytest.fixture
def shipped(tmp_path: Path) -> VendorFolder:
    folder = tmp_path / "shipped"
    folder.mkdir()
    write(folder, "acme.json", "acme/one", "acme/one,32bit", "acme/cpu/two")
    (folder / "broken.json").write_text("{", encoding="utf-8")
    return VendorFolder(folder)


# a folder by vendor


def test_only_the_vendors_own_file_is_read(shipped: VendorFolder) -> None:
    one = shipped.find("acme/one")
    assert one is not None
    assert one.source == "acme.json"
    assert shipped.find("acme/cpu/two") is not None
    assert shipped.find("acme/three") is None
    assert shipped.find("nobody/one") is None
    assert shipped.find("broken") is None
    with pytest.raises(SpecError, match=r"broken\.json, line 1: "):
        shipped.find("broken/one")


def test_a_file_is_read_once(shipped: VendorFolder) -> None:
    assert shipped.find("acme/one") is shipped.find("acme/one")


def test_names_with_a_comma_are_looked_for_where_text_names_the_vendor(shipped: VendorFolder) -> None:
    assert shipped.with_comma("llvm, acme/one,32bit") == ("acme/one,32bit",)
    assert shipped.with_comma("llvm,mnn") == ()
    assert shipped.with_comma("other/one,mnn") == ()


def test_what_a_name_may_be_a_misspelling_of(tmp_path: Path) -> None:
    write(tmp_path, "acme.json", "acme/one", "acme/two")
    write(tmp_path, "other.json", "other/one")
    source = VendorFolder(tmp_path)
    assert list(source.similar("acmee/onne")) == ["acme/one", "acme/two"]
    assert sorted(source.similar("one")) == ["acme/one", "other/one"]
    assert list(source.similar("three")) == []
    assert list(source.similar("zzz/one")) == []
    assert sorted(source.tags()) == ["acme/one", "acme/two", "other/one"]


# a user's folder


def test_a_users_folder_need_not_exist(tmp_path: Path) -> None:
    source = UserFolder(lambda: tmp_path / "none")
    assert source.find("a") is None
    assert source.tags() == {}


def test_a_users_files_have_any_name_and_their_tags_too(tmp_path: Path) -> None:
    write(tmp_path, "mine.json", "platform0", "acme/five,1")
    (tmp_path / "more.yaml").write_text("tags: {lab/box: {form: mnn}}", encoding="utf-8")
    (tmp_path / "notes.txt").write_text("no tags", encoding="utf-8")
    source = UserFolder(lambda: tmp_path)
    assert sorted(source.tags()) == ["acme/five,1", "lab/box", "platform0"]
    assert source.find("lab/box") == Tag(name="lab/box", level="target", form="mnn")
    assert source.with_comma("a, b") == ("acme/five,1",)
    assert list(source.similar("x")) == list(source.tags())


def test_a_user_redefines_only_on_request(tmp_path: Path, shipped: VendorFolder) -> None:
    folder = tmp_path / "user"
    folder.mkdir()
    write(folder, "mine.json", "acme/one")
    with pytest.raises(SpecError, match=r"tag 'acme/one' of .* has been previously defined"):
        UserFolder(lambda: folder, over=[shipped]).find("acme/one")
    write(folder, "mine.json", "acme/one", override=True)
    mine = UserFolder(lambda: folder, over=[shipped]).find("acme/one")
    assert mine is not None
    assert mine.source == "mine.json"


def test_a_user_may_not_take_a_name_that_means_something(tmp_path: Path) -> None:
    write(tmp_path, "mine.json", "llvm")
    with pytest.raises(SpecError, match=r"'llvm' of .* cannot be the name of a tag"):
        UserFolder(lambda: tmp_path, is_taken=lambda name: name == "llvm").find("x")


def test_two_files_of_a_folder_define_no_tag_twice(tmp_path: Path) -> None:
    write(tmp_path, "a.json", "t")
    write(tmp_path, "b.json", "t", override=True)
    with pytest.raises(SpecError, match=r"'t' of .*b\.json has been previously defined by .*a\.json"):
        read_tag_folder(tmp_path)


# plug-ins


def offer(monkeypatch: pytest.MonkeyPatch, tags: object, vendor: str = "lab") -> PlugIns:
    module = ModuleType("lab_tags")
    module.__dict__["TAGS"] = tags
    monkeypatch.setitem(sys.modules, "lab_tags", module)
    point = EntryPoint(name=vendor, value="lab_tags:TAGS", group="some.tags")
    monkeypatch.setattr("importlib.metadata.entry_points", lambda *, group: [point] if group == "some.tags" else [])
    return PlugIns("some.tags", over=[])


BOX = Tag(name="lab/box", level="target", form="mnn", source="its sheet")


@pytest.mark.parametrize("offered", [[BOX], lambda: [BOX]])
def test_a_package_offers_tags_or_a_function_that_makes_them(monkeypatch: pytest.MonkeyPatch, offered: object) -> None:
    source = offer(monkeypatch, offered)
    assert source.find("lab/box") == BOX
    assert source.find("lab/other") is None
    assert source.find("box") is None
    assert list(source.similar("labb/box")) == ["lab/box"]


def test_a_package_that_is_not_named_is_not_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    source = offer(monkeypatch, lambda: 1 / 0)
    assert source.find("nvidia/box") is None
    assert source.with_comma("nvidia/a,b") == ()
    with pytest.raises(SpecError, match="cannot load the tags of plug-in lab_tags:TAGS: division by zero"):
        source.find("lab/box")


@pytest.mark.parametrize("offered", [[1], [Tag(name="box", level="target", form="mnn")], 5])
def test_what_a_package_may_not_offer(monkeypatch: pytest.MonkeyPatch, offered: object) -> None:
    with pytest.raises(SpecError, match="lab_tags:TAGS"):
        offer(monkeypatch, offered).find("lab/box")


def test_a_package_redefines_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "lab.json", "lab/box")
    offer(monkeypatch, [BOX])
    with pytest.raises(SpecError, match="'lab/box' of plug-in lab_tags:TAGS has been previously defined"):
        PlugIns("some.tags", over=[VendorFolder(tmp_path)]).find("lab/box")
