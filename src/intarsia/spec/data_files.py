"""Reads JSON and YAML files that people write. The suffix decides the format; the caller interprets the data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from intarsia.errors import SpecError
from intarsia.spec.documents import TextError, read_text
from intarsia.spec.json_text import check_written, parse_json
from intarsia.spec.yaml_text import parse_yaml

SUFFIXES = (".json", ".yaml", ".yml")


def read_data(path: Path, what: str = "file") -> Any:
    """Return the data of a JSON or YAML file, or the stripped text of a file with any other suffix.

    Raises:
        SpecError: The file cannot be read or parsed. The message names it as ``what``, with the line and a caret.
    """
    try:
        text = read_text(path)
        if path.suffix not in SUFFIXES:
            return text.strip()
        if path.suffix != ".json":
            return parse_yaml(text)
        data = parse_json(text)
        check_written(data, text)
        return data
    except TextError as fault:
        raise SpecError(f"the {what} {fault.text_in(str(path))}") from None
    except (OSError, ValueError) as error:
        raise SpecError(f"cannot read the {what} {path}: {error}") from error
