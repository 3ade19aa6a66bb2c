"""The settings of a compile as JSON, for a worker: files that they name are read here, and travel by their content."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from intarsia import json_types
from intarsia.devices import dump_constraints, read_constraints
from intarsia.devices.constraint_file import parse_constraints
from intarsia.driver.settings import SETTINGS, CompileSettings
from intarsia.errors import ConfigError, PlanError
from intarsia.partitioning import PlanFile, parse_plan
from intarsia.partitioning.plan_file import dump_plan_file
from intarsia.spec.documents import read_text

NOT_SENT: Final = {
    "store": "a worker keeps its own; it was stated when that was started",
    "custom_ops": "a library of this machine does not run there; name the worker's own in the target, as "
    "'onnxruntime -custom-ops=/path/there.so'",
}
"""Settings that name files of one machine, each with the reason why a worker does not take them."""
_PLAIN: Final = tuple(name for name in SETTINGS if name not in (*NOT_SENT, "plan", "constraints", "shapes"))


def settings_text(settings: CompileSettings) -> str:
    """The JSON that `settings_of_text` reads.

    Raises:
        PlanError: The plan file cannot be read.
        ConfigError: The file of constraints cannot be read.
    """
    facts: dict[str, Any] = {name: _plain(getattr(settings, name)) for name in _PLAIN}
    facts["shapes"] = None if settings.shapes is None else {name: _size(size) for name, size in settings.shapes.items()}
    if settings.plan is not None:
        facts["plan"] = _plan_text(settings.plan)
    stated = settings.constraints
    if stated is not None:
        read = read_constraints(Path(stated)) if isinstance(stated, str | os.PathLike) else stated
        facts["constraints"] = dump_constraints(read)
    return json.dumps(facts)


def settings_of_text(text: str, store: str | None) -> CompileSettings:
    """The settings that were sent, with the record store of this machine.

    Raises:
        ConfigError: It is no such text, or a setting is wrong.
        PlanError: The plan is none.
    """
    try:
        facts = json_types.parsed(text.encode())
    except ValueError as error:
        raise ConfigError(f"the settings that were sent are no JSON: {error}") from error
    known = {*_PLAIN, "plan", "constraints", "shapes"}
    if not isinstance(facts, dict) or not facts.keys() <= known:
        raise ConfigError("the settings that were sent are not those of a compile")
    if facts.get("shapes") is not None:
        facts["shapes"] = _sizes(facts["shapes"])
    readers: dict[str, Callable[[str, str], Any]] = {"plan": parse_plan, "constraints": parse_constraints}
    for name, read in readers.items():
        content = facts.get(name)
        if content is None:
            continue
        if not isinstance(content, str):
            raise ConfigError(f"the {name} that was sent is no text")
        facts[name] = read(content, f"the {name} that was sent")
    return CompileSettings(**facts, store=store)


def _plain(value: Any) -> Any:
    return dict(value) if hasattr(value, "items") else value


def _size(size: Any) -> Any:
    return list(size) if isinstance(size, tuple) else size if isinstance(size, int) else str(size)


def _sizes(facts: Any) -> Any:
    if not isinstance(facts, dict):
        return facts
    return {name: tuple(size) if isinstance(size, list) else size for name, size in facts.items()}


def _plan_text(plan: str | os.PathLike[str] | PlanFile) -> str:
    if isinstance(plan, PlanFile):
        return dump_plan_file(plan)
    try:
        return read_text(plan)
    except (OSError, ValueError) as error:
        raise PlanError(f"{plan}: cannot be read as a plan file ({error})") from error
