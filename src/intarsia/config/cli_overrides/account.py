"""What a merged configuration comes to, leaf by leaf, and where each leaf comes from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from intarsia.config.cli_overrides.merge import Merged, Stated
from intarsia.config.cli_overrides.paths import Steps, print_path, value_at
from intarsia.config.compilation import CompilationConfig
from intarsia.config.drives import Drive
from intarsia.config.elements import CONFIG, level_of, member
from intarsia.target import TAGS, Target
from intarsia.target.explain import stated_fields

DERIVED = Stated("derived")
DEFAULT = Stated("default")


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """One value of a configuration.

    Attributes:
        path: Where it stands, as ``--set`` takes it.
        by: ``built-in``, the name of a file, a flag, ``derived`` from the rest, or ``default``.
        tag: The tag that brought it; empty where none did.
    """

    path: str
    value: str
    by: str
    tag: str = ""
    source: str = ""


def account(merged: Merged, config: CompilationConfig) -> tuple[Leaf, ...]:
    """Every leaf of the configuration that a merged form was read as.

    Paths are those of the configuration, where composites are spliced.
    """
    return tuple(_Account(merged).of_config(config, (), ()))


class _Account:
    def __init__(self, merged: Merged) -> None:
        self._merged = merged

    def of_config(self, config: CompilationConfig, form: Steps, at: Steps) -> Iterator[Leaf]:
        """The leaves of a configuration; ``form`` is its place in what was merged, ``at`` in the result."""
        places = list(self._spliced((*form, "targets")))
        drivers = [driver for place in places for driver in place.drivers]
        for index, element in enumerate(config.options["targets"]):
            spec, number = member(element)
            # Beyond the elements of the form there is only the host of a composite, which runs what its devices leave.
            steps = places[index].at if index < len(places) else (*drivers[0], "host")
            if isinstance(spec, Target):
                yield from self._of_target(spec, steps, (*at, "targets", index), number)
            else:
                yield from self.of_config(CompilationConfig.of(spec), steps, (*at, "targets", index))
        yield from self._of_host(config, form, at, drivers)
        for name, drive in (("executor", config.executor), ("runtime", config.runtime)):
            yield from self._of_drive(drive, (*form, name), (*at, name), is_stated=name in config.options)
        for label, labelled in config.devices.items():
            is_stated = label in config.options.get("devices", {})
            yield self._whole((*at, "devices", label), str(labelled), (*form, "devices", label), is_stated=is_stated)
        is_stated, device = "default_device" in config.options, config.default_device
        text = str(device) if is_stated else f"{device.device}:{device.index or 0}"
        yield self._whole((*at, "default_device"), text, (*form, "default_device"), is_stated=is_stated)
        if config.libraries:
            yield self._whole((*at, "libraries"), ",".join(config.libraries), (*form, "libraries"), is_stated=True)

    def _spliced(self, at: Steps, drivers: tuple[Steps, ...] = ()) -> Iterator[_Place]:
        """The places of the elements that are left when composites are spliced, in order."""
        elements = value_at(self._merged.form, at)
        for index, element in enumerate(elements if isinstance(elements, list) else ()):
            steps = (*at, index)
            if not isinstance(element, Mapping) or level_of(element) == CONFIG:
                yield _Place(steps, ())
                continue
            own = drivers if _read(element).host is None else (*drivers, steps)
            if "devices" in element:
                yield from self._spliced((*steps, "devices"), own)
            else:
                yield _Place(steps, own)

    def _of_target(self, target: Target, form: Steps, at: Steps, index: int | None = None) -> Iterator[Leaf]:
        kind = target.kind.name if index is None else f"{target.kind.name}:{index}"
        yield self._leaf((*at, "kind"), kind, self._who((*form, "kind")))
        if target.tags:
            yield self._leaf((*at, "tag"), ",".join(target.tags), self._who((*form, "tag")))
        for field in stated_fields(target):
            path, place = (*at, field.name), (*form, field.name)
            if print_path(place) in self._merged.flagged:
                yield self._leaf(path, field.value, self._who(place))
            elif field.tag:
                by = self._who(form).by
                yield Leaf(path=print_path(path), value=field.value, by=by, tag=field.tag, source=field.source)
            else:
                yield self._leaf(path, field.value, DERIVED if field.origin == "derived" else self._who(place))

    def _of_host(self, config: CompilationConfig, form: Steps, at: Steps, drivers: Sequence[Steps]) -> Iterator[Leaf]:
        """The host's leaves: stated itself, else by the first of the elements that state one, else derived."""
        if value_at(self._merged.form, (*form, "host")) is not None:
            yield from self._of_target(config.host, (*form, "host"), (*at, "host"))
        elif not drivers:
            yield self._leaf((*at, "host"), str(config.host), DERIVED)
        else:
            place, result = print_path((*drivers[0], "host")), print_path((*at, "host"))
            tags = _read(value_at(self._merged.form, drivers[0])).tags
            for leaf in self._of_target(config.host, (*drivers[0], "host"), (*at, "host")):
                name = leaf.path.removeprefix(result)
                is_told = leaf.tag or f"{place}{name}" in self._merged.flagged
                yield leaf if is_told else _brought(leaf, config.host, name.removeprefix("."), tags)

    def _of_drive(self, drive: Drive, form: Steps, at: Steps, *, is_stated: bool) -> Iterator[Leaf]:
        if not is_stated:
            yield self._leaf(at, str(drive), DEFAULT)
            return
        yield self._leaf((*at, "kind"), drive.kind.name, self._who((*form, "kind")))
        for name, value in drive.options.items():
            text = drive.kind.options[name].type.text(value)
            yield self._leaf((*at, name), text, self._who((*form, name)))

    def _whole(self, at: Steps, value: str, form: Steps, *, is_stated: bool) -> Leaf:
        return self._leaf(at, value, self._who(form) if is_stated else DERIVED)

    def _leaf(self, at: Steps, value: str, stated: Stated) -> Leaf:
        tag = TAGS.tag_of(stated.tag) if stated.tag else None
        source = "" if tag is None else tag.source
        return Leaf(path=print_path(at), value=value, by=stated.by, tag=stated.tag, source=source)

    def _who(self, form: Steps) -> Stated:
        """Who stated what stands at this place, or the first thing within it, or the thing around it."""
        origins, path = self._merged.origins, print_path(form)
        if path in origins:
            return origins[path]
        within = (stated for other, stated in origins.items() if other.startswith((f"{path}.", f"{path}[")))
        found = next(within, None)
        if found is not None:
            return found
        return self._who(form[:-1]) if len(form) > 1 else DERIVED


@dataclass(frozen=True, slots=True)
class _Place:
    """Where an element stands in the form; and of it and the composites around it, those that state a host."""

    at: Steps
    drivers: tuple[Steps, ...]


def _read(element: Mapping[str, Any]) -> Target:
    """The target of an element, without its device index."""
    kind = element.get("kind")
    return Target({**element, "kind": kind.partition(":")[0]} if isinstance(kind, str) else element)


def _brought(leaf: Leaf, host: Target, name: str, tags: Sequence[str]) -> Leaf:
    """The leaf of a host with the one of these tags, of the target that states the host, that says the same of it."""
    for tag in tags:
        named = Target(tag).host if TAGS.level_of(tag) == "target" else None
        if named is not None and (named.kind, named.options.get(name)) == (host.kind, host.options.get(name)):
            found = TAGS.tag_of(tag)
            return replace(leaf, tag=tag, source="" if found is None else found.source)
    return leaf
