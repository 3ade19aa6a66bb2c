"""`CompilationConfig`: one machine, as the targets of a compile in priority order and the host that drives them.

Canonicalised and validated once, at its one door `CompilationConfig.of`; later stages rely on it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from intarsia.errors import BackendUnavailableError, SpecError
from intarsia.spec import Kind, Level, Option, Placed, Spec, SpecOf, list_of_specs, read, schema
from intarsia.target import KINDS, TAGS, Target, one_host, read_priority_list
from intarsia.target.target import LEVEL as TARGET_LEVEL

_KIND = Kind(
    name="config",
    meaning="one machine",
    options=schema(
        (
            Option(name="targets", type=list_of_specs("target"), meaning="what to compile for, most preferred first"),
            Option(
                name="host",
                type=SpecOf("target"),
                meaning="the target of the code that drives the rest",
                older=("target_host",),
            ),
        )
    ),
)
_LEVEL = Level(
    name="config",
    type=Spec,
    kinds={"config": _KIND},
    tags=TAGS,
    default_kind="config",
    inner={"target": TARGET_LEVEL},
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompilationConfig:
    """One machine. Make it with `of`, which validates.

    Attributes:
        targets: Most preferred first; no composites, and none states a host.
        places: For each target the device index that the list gave it (``opencl:1``), or ``None``.
        host: The target of the code that drives the rest. Not the default device.
    """

    targets: tuple[Target, ...]
    places: tuple[int | None, ...]
    host: Target

    @classmethod
    def of(cls, form: object = None) -> CompilationConfig:
        """The configuration of a kind, tag, priority list, dict, target, file (a `Path`) or configuration.

        ``None`` is ``llvm``: this machine, by every engine it has. Composites are spliced in place. The host is the one
        that any part states, else the first CPU target that can host, else ``llvm``.

        Raises:
            SpecError: A problem in any part, no target, two equal targets, or two hosts that differ.
        """
        if isinstance(form, CompilationConfig):
            return form
        if isinstance(form, Path):
            form = _file_text(form)
        stated = []
        if _is_config(form):
            spec = read(_LEVEL, form)
            form = list(spec.options.get("targets", ()))
            stated += [spec.options["host"]] if "host" in spec.options else []
        found = read_priority_list("llvm" if form is None else form)
        _refuse_twins(found.targets, found.places)
        host = one_host([*stated, *([] if found.host is None else [found.host])])
        host = _default_host(found.targets) if host is None else host.with_host(None)
        return cls(targets=found.targets, places=found.places, host=host)

    def __str__(self) -> str:
        """Canonical text, a priority list; a host that does not follow from the targets is stated by the first."""
        targets = list(self.targets)
        if self.host != _default_host(self.targets):
            targets[0] = targets[0].with_host(self.host)
        return ", ".join(target.text(index=place) for target, place in zip(targets, self.places, strict=True))

    def export(self) -> dict[str, Any]:
        """A dict of pure JSON."""
        placed = zip(self.targets, self.places, strict=True)
        targets = [(target if place is None else Placed(target, place)).export() for target, place in placed]
        return {"targets": targets, "host": self.host.export()}

    def json(self) -> str:
        """Canonical JSON text."""
        return json.dumps(self.export())


def engines(config: CompilationConfig, usable: Collection[str]) -> tuple[Target, ...]:
    """The engine targets to try, in priority order, each once.

    A device target becomes its engines that are usable; an engine that is named stays whether usable or not, so that
    its absence is reported. ``reference`` is never added by itself.

    Raises:
        BackendUnavailableError: Nothing is left.
    """
    found: dict[Target, None] = {}
    for target in config.targets:
        if target.kind.level == "engine":
            found.setdefault(target)
        else:
            found.update(dict.fromkeys(_served(target, name) for name in _serving(target, usable)))
    if not found:
        names = ", ".join(str(target) for target in config.targets)
        kinds = dict.fromkeys(name for target in config.targets for name in target.kind.engines)
        what = f"no usable engine serves {names}; it takes one of {', '.join(kinds) or 'none that is known'}"
        raise BackendUnavailableError(f"{what}: pip install 'intarsia[{next(iter(kinds), 'cpu')}]'")
    return tuple(found)


def _serving(device: Target, usable: Collection[str]) -> Iterator[str]:
    yield from (name for name in device.kind.engines if name in usable)
    for name in usable:
        kind = TARGET_LEVEL.kind(name)
        if name not in device.kind.engines and kind is not None and device.kind.name in KINDS[name].serves:
            yield name


def _served(device: Target, engine: str) -> Target:
    """The engine's target; what the device target states about itself goes along as its ``base``."""
    options: dict[str, Any] = {"kind": engine}
    if "threads" in device.options:
        options["threads"] = device.options["threads"]
    base = device.with_options({"threads": None})
    return Target(options if not base.options else options | {"base": base})


def _default_host(targets: Sequence[Target]) -> Target:
    for target in targets:
        if target.kind.level == "device" and target.device_type == "cpu":
            return target.with_options({"threads": None})
    return Target("llvm")


def _refuse_twins(targets: Sequence[Target], places: Sequence[int | None]) -> None:
    seen: dict[tuple[Target, int | None], int] = {}
    for number, twin in enumerate(zip(targets, places, strict=True)):
        first = seen.setdefault(twin, number)
        if first != number:
            text = twin[0].text(index=twin[1])
            raise SpecError(f"targets[{first}] and targets[{number}] are equal: {text!r}; leave one out")


def _is_config(form: object) -> bool:
    """Whether a form is of this level, and not a target or a list of targets."""
    if isinstance(form, str):
        text = form.strip()
        return _is_config_json(text) if text.startswith("{") else _names_config(text)
    if not isinstance(form, Mapping):
        return False
    tag = form.get("tag")
    tags = [tag] if isinstance(tag, str) else tag if isinstance(tag, list | tuple) else []
    named = any(isinstance(name, str) and _names_config(name) for name in tags)
    return "targets" in form or form.get("kind") == _KIND.name or (named and "kind" not in form)


def _is_config_json(text: str) -> bool:
    try:
        return _is_config(json.loads(text))
    except (ValueError, RecursionError):
        return False  # what is wrong with it, the reader of targets says


def _names_config(text: str) -> bool:
    word = next(iter(text.split()), "")
    tag = TAGS.get(word) or TAGS.get(word.rpartition(":")[0])
    return tag is not None and tag.level == _LEVEL.name


def _file_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SpecError(f"cannot read the target file {path}: {error}") from error
