"""The one merge: built-in settings, a file, the command line. A leaf replaces; each remembers who stated it last."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from intarsia.config.cli_overrides.flags import Options, Rewrites
from intarsia.config.cli_overrides.forms import Form, Opened, divided, opened
from intarsia.config.cli_overrides.paths import (
    Steps,
    changed,
    find_option,
    kind_of,
    leaves,
    print_path,
    read_path,
    read_text,
    type_at,
    value_at,
)
from intarsia.config.combinations import default_executor, default_runtime
from intarsia.config.compilation import LEVEL as CONFIG_LEVEL
from intarsia.config.drives import Executor, Runtime
from intarsia.config.elements import CONFIG, level_of
from intarsia.errors import ConfigError, SpecError
from intarsia.spec import read
from intarsia.target import KINDS
from intarsia.target.target import LEVEL as TARGET_LEVEL


@dataclass(frozen=True, slots=True)
class Stated:
    """Who stated a leaf: ``built-in``, the name of a file, or a flag; and the tag that brought it, if one did."""

    by: str
    tag: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """A configuration's form, not yet read, and who stated what of it.

    Attributes:
        form: The fields of a configuration, ``targets`` a list of dicts.
        settings: What else the file holds.
        origins: For the flat path of each leaf who stated it.
        flagged: The paths that a flag of their own states.
    """

    form: Mapping[str, Any]
    settings: Mapping[str, Any]
    origins: Mapping[str, Stated]
    flagged: frozenset[str]


@dataclass(slots=True)
class FormDraft:
    """A form on its way, and who stated each leaf of it."""

    form: Form = field(default_factory=dict)
    settings: Form = field(default_factory=dict)
    origins: dict[str, Stated] = field(default_factory=dict)
    flagged: set[str] = field(default_factory=set)

    def lay_over(self, config: Opened, by: str) -> None:
        """State what a form says, and before it what its tag brings."""
        self.lay(config.brought, Stated(by, config.tag))
        self.lay(config.fields, Stated(by))

    def lay(self, fields: Mapping[str, Any], stated: Stated) -> None:
        """State whole fields; each takes the place of what it was."""
        for name, value in fields.items():
            self._place((name,), value, stated)

    def drop(self, names: tuple[str, ...]) -> None:
        """State these fields no longer."""
        for name in names:
            self._forget((name,))
            self.form.pop(name, None)

    def state(self, steps: Steps, value: object, flag: str) -> None:
        """State one place by a flag of its own."""
        self._place(steps, value, Stated(flag))
        self.flagged.update(print_path(path) for path, _ in leaves(value, steps))

    def _place(self, steps: Steps, value: object, stated: Stated) -> None:
        self._forget(steps)
        self.form = changed(self.form, steps, value)
        self.origins |= {print_path(path): stated for path, _ in leaves(value, steps)}

    def _forget(self, steps: Steps) -> None:
        gone = {print_path(path) for path, _ in leaves(value_at(self.form, steps), steps)}
        self.origins = {path: origin for path, origin in self.origins.items() if path not in gone}
        self.flagged -= gone

    def merged(self) -> Merged:
        """What has been stated."""
        return Merged(
            form=MappingProxyType(self.form),
            settings=MappingProxyType(self.settings),
            origins=MappingProxyType(self.origins),
            flagged=frozenset(self.flagged),
        )


OF_TARGETS = ("kind", "tag", "targets", "host", "devices", "default_device", "libraries")
"""What belongs to a list of targets, and goes when it is replaced."""


def merge_all(
    *,
    builtin: Mapping[str, Any] | None = None,
    file: Mapping[str, Any] | None = None,
    file_name: str = "the file",
    rewrites: Rewrites | None = None,
) -> Merged:
    """The built-in settings, over them the file key by key, over them the command line.

    ``--target`` replaces the list of targets and what belonged to it: `OF_TARGETS`. An option edits every target of its
    kind, hosts among them, and ``--set`` one place.

    Raises:
        SpecError: A text does not read, or a path leads nowhere.
        ConfigError: An option is of a kind that is not in the list, or of an executor or runtime that is not chosen.
    """
    rewrites = Rewrites() if rewrites is None else rewrites
    draft = FormDraft()
    for layer, origin in ((builtin, "built-in"), (file, file_name)):
        if layer is not None:
            try:
                config, settings = divided(layer)
            except SpecError as error:
                raise SpecError(f"{origin}: {error}") from None
            draft.lay_over(config, origin)
            draft.settings |= settings
    if rewrites.target is not None:
        draft.drop(OF_TARGETS)
        draft.lay_over(opened(rewrites.target), "--target")
    _edit_targets(draft, rewrites.options)
    _edit_drives(draft, rewrites)
    for path, text in rewrites.paths:
        steps, type_ = type_at(draft.form, read_path(path))
        value = read_text(type_, text, f"--set {path}")
        draft.state(steps, type_.data(value), f"--set {path}")
    return draft.merged()


def _edit_targets(draft: FormDraft, options: Options) -> None:
    for kind, stated in options.items():
        places = [steps for steps, name in _targets(draft.form) if name == kind]
        for name, value in stated.items():
            flag = f"--target-{kind}-{name}"
            if not places:
                listed = ", ".join(dict.fromkeys(name for _, name in _targets(draft.form))) or "none"
                what = f"{flag} is passed, but no target {kind} is specified; the targets are {listed}"
                raise ConfigError(f"{what}; name it in --target")
            for steps in places:
                draft.state((*steps, name), KINDS[kind].options[name].type.data(value), flag)


def _targets(form: Mapping[str, Any], at: Steps = ()) -> Iterator[tuple[Steps, str]]:
    """Every target that a configuration's form states, wherever it stands, with the name of its kind.

    Where the form states a host, those that tags bring give way to it, so they do not count.
    """
    yield from _in_list(form.get("targets"), (*at, "targets"), has_host="host" in form)
    yield from _in_target(form.get("host"), (*at, "host"), has_host=False)


def _in_list(elements: object, at: Steps, *, has_host: bool) -> Iterator[tuple[Steps, str]]:
    for index, element in enumerate(elements if isinstance(elements, list) else ()):
        if isinstance(element, Mapping) and level_of(element) == CONFIG:
            yield from _targets(element, (*at, index))
        else:
            yield from _in_target(element, (*at, index), has_host=has_host)


def _in_target(form: object, at: Steps, *, has_host: bool) -> Iterator[tuple[Steps, str]]:
    kind = kind_of(TARGET_LEVEL, form) if isinstance(form, Mapping) else None
    if kind is not None and isinstance(form, Mapping):
        yield at, kind.name
        yield from _in_list(form.get("devices"), (*at, "devices"), has_host=has_host)
        if not (has_host and "tag" in form):
            yield from _in_target(form.get("host"), (*at, "host"), has_host=has_host)


def _edit_drives(draft: FormDraft, rewrites: Rewrites) -> None:
    """The executor first, since the runtime that follows from nothing else follows from it."""
    if rewrites.executor is not None:
        draft.lay({"executor": Executor(rewrites.executor).export()}, Stated("--executor"))
    _edit_options(draft, "executor", rewrites.executor_options, default_executor().export())
    if rewrites.runtime is not None:
        draft.lay({"runtime": Runtime(rewrites.runtime).export()}, Stated("--runtime"))
    if rewrites.runtime_options:
        executor = Executor(draft.form["executor"]) if "executor" in draft.form else default_executor()
        _edit_options(draft, "runtime", rewrites.runtime_options, default_runtime(executor).export())


def _edit_options(draft: FormDraft, level: str, options: Options, default: Mapping[str, Any]) -> None:
    chosen = draft.form.get(level, default)
    if options and not isinstance(chosen, Mapping):
        chosen = read(CONFIG_LEVEL.nested(level), chosen).export()
    kind = kind_of(CONFIG_LEVEL.nested(level), chosen) if options else None
    for name, stated in options.items():
        for option_name, value in stated.items():
            flag = f"--{level}-{name}-{option_name}"
            if kind is None or kind.name != name:
                what = f"{flag} is passed, but the {level} specified is {chosen.get('kind')}, not {name}"
                raise ConfigError(f"{what}; choose it with --{level} {name}")
            if level not in draft.form:
                draft.lay({level: dict(chosen)}, Stated("default"))
            option = find_option(kind, option_name)
            assert option is not None
            draft.state((level, option.name), option.type.data(value), flag)
