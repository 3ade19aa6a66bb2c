"""Configuration files: where they are looked for, and what they hold, as JSON or YAML. What it means is read later."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from intarsia.config.cli_overrides.paths import kind_named
from intarsia.errors import ConfigError, SpecError
from intarsia.spec.data_files import SUFFIXES, read_data
from intarsia.spec.problems import nearest, shown_name
from intarsia.target import TAGS
from intarsia.target.target import LEVEL as TARGET_LEVEL

DEFAULT = "default"
"""The name of the file that counts where none is named, if there is one."""


def user_folder() -> Path:
    """Where files that have a name stand: ``configs`` in Intarsia's configuration folder, ``~/.config``'s on Linux."""
    import platformdirs  # slow to import, and needed where a file is looked for only

    return Path(platformdirs.user_config_dir("intarsia")) / "configs"


def find_config(name: str | None) -> Path | None:
    """The file that ``--config NAME|PATH`` means; an existing path goes first. ``None`` if nothing is asked for.

    Raises:
        ConfigError: There is none of that name.
    """
    path = Path(DEFAULT if name is None else name)
    if name is not None and _is_file(path):
        return path
    named = dict(_named())
    found = named.get(path.with_suffix("").as_posix() if path.suffix in SUFFIXES else path.as_posix())
    if found is None and name is not None:
        known = f"there are {', '.join(sorted(named))}" if named else "that folder has none"
        hint = nearest(name, named, known)
        raise ConfigError(
            f"--config {name}: there is no such file, and no configuration of that name in {user_folder()}{hint}"
        )
    return found


def _named() -> Iterator[tuple[str, Path]]:
    """Every file of the user's folder: by its path within, without suffix, and by its name alone."""
    folder = user_folder()
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.suffix in SUFFIXES and path.is_file():
            yield path.stem, path
            yield path.relative_to(folder).with_suffix("").as_posix(), path


def read_config(path: Path) -> Mapping[str, Any]:
    """What a configuration file holds, a mapping or anything that names targets; a `SpecError` if it cannot be read."""
    data = read_data(path)
    if isinstance(data, Mapping):
        return data
    if isinstance(data, str | list):
        return {"targets": data}
    raise SpecError(f"{path} holds {type(data).__name__}, and not the fields of a configuration")


def target_text(text: str) -> str:
    """The text of ``--target``: as it is, or what the file holds whose path it is. A kind or a tag goes before a path.

    Raises:
        SpecError: It is the path of a file that cannot be read.
    """
    if any("\ud800" <= char <= "\udfff" for char in text):
        raise SpecError(f"{shown_name(text)} is no text: it holds bytes that are no UTF-8")
    word = next(iter(text.split()), "")
    if kind_named(TARGET_LEVEL, word) is not None or TAGS.tag_of(word) is not None:
        return text
    path = Path(text)
    looks_like_one = path.suffix in SUFFIXES and not text.startswith(("{", "["))
    if not looks_like_one and not _is_file(path):
        return text
    data = read_data(path)
    return data if isinstance(data, str) else json.dumps(data)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # too long for a path, or with a character that none has
        return False
