"""Files of data that people write, as JSON or YAML by their suffix. What the data means is left to whoever asks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from intarsia.errors import SpecError
from intarsia.spec.documents import TextError, read_text
from intarsia.spec.json_text import check_written, parse_json
from intarsia.spec.yaml_text import parse_yaml

SUFFIXES = (".json", ".yaml", ".yml")


def read_data(path: Path, what: str = "file") -> Any:
    """The data of a JSON or YAML file; the text of a file with another suffix, without the blanks around it.

    Raises:
        SpecError: It cannot be read, or is wrong, with the line and a caret; ``what`` is what it calls the file.
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
        raise SpecError(f"the {what} {fault.told(str(path))}") from None
    except (OSError, ValueError) as error:
        raise SpecError(f"cannot read the {what} {path}: {error}") from error
