"""A form on its way through the merge: changed place by place, each leaf remembering who stated it last."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from intarsia.config.cli_overrides.forms import Form, Opened
from intarsia.config.cli_overrides.paths import Steps, changed, leaves, print_path, value_at


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
