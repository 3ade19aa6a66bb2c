"""Adding to the namespace of tags, and listing it.

Rows are tried out before any is added, so a fault leaves none behind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from types import MappingProxyType
from typing import Literal, TypedDict, Unpack, overload

from intarsia.errors import SpecError
from intarsia.spec import Registry, Tag
from intarsia.spec.tag_files import Row, read_tag_file
from intarsia.spec.tag_sources import read_tag_folder
from intarsia.target.tags import TAGS, is_taken
from intarsia.target.target import Target

LEVELS: Registry[Callable[[str], object]] = Registry("level of tags", {"target": Target})
"""For each level the function that reads a tag's name as a value of it; a level that is loaded later adds itself."""


class TagFields(TypedDict, total=False):
    """What a tag may state beside its form and level, each as the attribute of `intarsia.spec.Tag`."""

    variants: Mapping[str, object] | None
    source: str
    override: bool


@overload
def register_tag(
    name: str, form: object, *, level: Literal["target"] = "target", **fields: Unpack[TagFields]
) -> Target: ...


@overload
def register_tag(name: str, form: object, *, level: str, **fields: Unpack[TagFields]) -> object: ...


def register_tag(
    name: str,
    form: object,
    *,
    level: str = "target",
    variants: Mapping[str, object] | None = None,
    source: str = "",
    override: bool = False,
) -> object:
    """Name a spec of any level, and return it. See `intarsia.spec.Tag` for the parameters.

    Raises:
        SpecError: The name is a kind's, or taken and ``override`` was not asked for; or the form is not of the level.
    """
    tag = Tag(name=name, level=level, form=form, variants=MappingProxyType(dict(variants or {})), source=source)
    if level not in LEVELS:
        raise SpecError(f"tag {name!r}: level {level!r} is not known; known are {', '.join(LEVELS)}")
    _register([Row(tag=tag, override=override)])
    return LEVELS[level](name)


def load_tags(path: str | Path) -> Mapping[str, Tag]:
    """Add the tags of a file, or of each tag file in a folder (`intarsia.spec.tag_files`), and return them by name.

    Raises:
        SpecError: A file cannot be read, a row is at fault, a name is taken and the row does not say ``override``, or a
            form is not of its level. Then none is added.
    """
    path = Path(path)
    rows = read_tag_folder(path) if path.is_dir() else read_tag_file(path)
    _register(rows.values())
    return MappingProxyType({name: row.tag for name, row in rows.items()})


def list_tags(pattern: str = "*", *, level: str = "") -> Mapping[str, Tag]:
    """Every tag, or those of one level, whose name matches a pattern of the shell (``nvidia/*rtx*``), sorted by name.

    Reads all that is shipped, and no form.
    """
    names = sorted(name for name in TAGS if fnmatchcase(name, pattern))
    found = {name: TAGS[name] for name in names}
    return MappingProxyType({name: tag for name, tag in found.items() if level in ("", tag.level)})


def _register(rows: Iterable[Row]) -> None:
    rows = tuple(rows)
    for row in rows:
        if is_taken(row.tag.name):
            raise SpecError(f"{row.tag.name!r} is a target kind or an alias, so it cannot be the name of a tag")
    with TAGS.scope():
        _add(rows)
        for row in rows:
            _try_out(row.tag)
    _add(rows)


def _add(rows: Iterable[Row]) -> None:
    for row in rows:
        TAGS.register(row.tag.name, row.tag, override=row.override)


def _try_out(tag: Tag) -> None:
    """Read the tag and its variants; a level that is not loaded is checked when the tag is used."""
    for variant in ("", *tag.variants):
        chosen = tag.chosen(variant)
        read = None if chosen is None else LEVELS.get(chosen.level)
        if read is not None:
            read(f"{tag.name}:{variant}" if variant else tag.name)
