"""Files of constraints: YAML or JSON that a person can read and edit.

A file says for each kind of subject which is where. One device stands for all inputs, or all outputs::

    nodes: {conv1: gpu2, conv2: "cuda:1"}
    values: {mask: {device: cpu, constrain_result: true}}
    inputs: cpu
    outputs: {scores: cpu, boxes: gpu2}
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from intarsia.devices.constraint import Constraint, Subject
from intarsia.errors import ConfigError, SpecError
from intarsia.spec.documents import TextError, read_text
from intarsia.spec.problems import nearest, shown
from intarsia.spec.yaml_text import compose, data_of
from intarsia.target import VirtualDevice

if TYPE_CHECKING:
    from intarsia.graph import Graph

_SECTIONS = {"nodes": Subject.NODE, "values": Subject.VALUE, "inputs": Subject.INPUTS, "outputs": Subject.OUTPUTS}
_FLAGS = ("constrain_body", "constrain_result")
_BREAKS = frozenset("\x85\u2028\u2029")
"""Line breaks that YAML 1.1 has and JSON has not: PyYAML reads them back only where they are escaped."""
_MOST_SAID = 50
"""Problems that are worded; behind them they are only counted."""
_ALL = frozenset({Subject.INPUTS, Subject.OUTPUTS})
"""Subjects of which a section may mean all: it is one device, or has an entry with an empty name."""

MODEL_KEY = "intarsia.devices"
"""Metadata key of a model; the value is the text of a file of constraints."""
NODE_KEY = "intarsia.device"
"""Metadata key of a node; the value is a label or a device. A function gives its own to its nodes."""


def read_constraints(path: str | Path) -> tuple[Constraint, ...]:
    """The constraints of a file; a `ConfigError` has every problem and its line, or says why it cannot be read."""
    try:
        text = read_text(path)
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path}: cannot be read as a file of device constraints ({error})") from error
    return parse_constraints(text, str(path))


def parse_constraints(text: str, source: str) -> tuple[Constraint, ...]:
    """The constraints of a file's text, which messages call ``source``; an empty one has none."""
    reader = _Reader(source)
    constraints = tuple(reader.constraints(text))
    if reader.problems:
        more = [f"… and {reader.unsaid} more"] if reader.unsaid else []
        raise ConfigError("\n".join([*reader.problems, *more]))
    return constraints


def dump_constraints(constraints: Iterable[Constraint]) -> str:
    """The text of a file that says these constraints; their sources are not kept."""
    section_of = {subject: section for section, subject in _SECTIONS.items()}
    document: dict[str, dict[str, list[Any]]] = {}
    for each in constraints:
        stated = {flag: getattr(each, flag) for flag in _FLAGS}
        plain = stated == {"constrain_body": True, "constrain_result": False}
        entry = str(each.device) if plain else {"device": str(each.device), **stated}
        document.setdefault(section_of[each.subject], {}).setdefault(each.name, []).append(entry)
    sections = {section: _short(entries) for section, entries in document.items()}
    # Names may be long; a folded line would be hard to move about.
    text: str = yaml.safe_dump(sections, sort_keys=False, allow_unicode=True, width=100_000)
    if not _BREAKS.isdisjoint(text):
        text = yaml.safe_dump(sections, sort_keys=False, width=100_000)
    return text


def _short(entries: dict[str, list[Any]]) -> Any:
    single = {name: items[0] if len(items) == 1 else items for name, items in entries.items()}
    return single[""] if list(single) == [""] and isinstance(single[""], str) else single


class _Reader:
    """Walks the YAML nodes, not the values they stand for: the nodes know their lines, and ``1e3`` stays a name."""

    def __init__(self, source: str) -> None:
        self.problems: list[str] = []
        self.unsaid = 0
        self._source = source
        self._text = ""

    def constraints(self, text: str) -> Iterator[Constraint]:
        """Everything that can be read; the rest becomes problems."""
        self._text = text
        try:
            root = compose(text)
        except TextError as fault:
            self.problems.append(fault.text_in(self._source))
            return
        if root is None:
            return
        for section, key, entries in self._fields(root, "a file of device constraints"):
            if section in _SECTIONS:
                yield from self._section(_SECTIONS[section], section, entries)
            else:
                hint = nearest(section, _SECTIONS, f"there are {', '.join(_SECTIONS)}")
                self._note(f"there is no section {section!r}{hint}", key.start_mark)

    def _section(self, subject: Subject, section: str, entries: yaml.Node) -> Iterator[Constraint]:
        if subject in _ALL and isinstance(entries, yaml.ScalarNode):
            yield from self._entry(subject, "", section, entries)
            return
        for name, key, entry in self._fields(entries, f"section {section!r}"):
            if not name and subject not in _ALL:
                self._note(f"section {section!r}: a name is missing", key.start_mark)
                continue
            for each in entry.value if isinstance(entry, yaml.SequenceNode) else [entry]:
                yield from self._entry(subject, name, f"{section}.{name}", each)

    def _entry(self, subject: Subject, name: str, path: str, node: yaml.Node) -> Iterator[Constraint]:
        flags = {"constrain_body": True, "constrain_result": False}
        device: str | VirtualDevice
        try:
            if isinstance(node, yaml.ScalarNode):
                device = node.value.strip()
            else:
                device = _device(data_of(node, self._text), flags)
        except TextError as fault:
            self._tell(fault)
            return
        except SpecError as error:
            self._note(f"{path}: {error}", node.start_mark)
            return
        if not device:
            self._note(f"{path}: a device is missing", node.start_mark)
            return
        source = f"{self._source}, line {node.start_mark.line + 1}"
        yield Constraint(subject=subject, name=name, device=device, source=source, **flags)

    def _fields(self, node: yaml.Node, what: str) -> Iterator[tuple[str, yaml.Node, yaml.Node]]:
        if not isinstance(node, yaml.MappingNode):
            self._note(f"{what} must be a mapping from names to devices", node.start_mark)
            return
        for key, value in node.value:
            yield key.value, key, value

    def _note(self, problem: str, mark: yaml.Mark | None) -> None:
        if len(self.problems) == _MOST_SAID:
            self.unsaid += 1  # finding the line takes time
        else:
            self._tell(TextError(problem, self._text, None if mark is None else mark.index))

    def _tell(self, fault: TextError) -> None:
        if len(self.problems) == _MOST_SAID:
            self.unsaid += 1
        else:
            self.problems.append(fault.text_in(self._source))


def _device(parts: Any, flags: dict[str, bool]) -> str | VirtualDevice:
    """The device of an entry that is a mapping; its flags go to ``flags``."""
    if not isinstance(parts, dict):
        raise SpecError("a device must be text, or a mapping")
    for flag in _FLAGS:
        stated = parts.pop(flag, flags[flag])
        if not isinstance(stated, bool):
            raise SpecError(f"{flag!r} must be true or false, found {shown(stated)}")
        flags[flag] = stated
    if parts.keys() == {"device"} and isinstance(parts["device"], str):
        return str(parts["device"])  # it may be a label
    return VirtualDevice.of(parts)


def model_constraints(graph: Graph) -> tuple[Constraint, ...]:
    """The constraints that a model carries; a `ConfigError` if its metadata says what a file of them cannot say."""
    own = (
        Constraint.node(node.id, node.metadata[NODE_KEY].strip(), source=f"the metadata of node {node.id!r}")
        for node in graph.nodes
        if NODE_KEY in node.metadata
    )
    text = graph.metadata.get(MODEL_KEY)
    return (*own, *(() if text is None else parse_constraints(text, f"the model's metadata {MODEL_KEY!r}")))
