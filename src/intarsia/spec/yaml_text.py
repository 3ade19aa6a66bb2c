"""YAML that people write, to nodes that know their places, and to plain data: what JSON can say, and no more.

A node can be walked without fear: it is no deeper than a person nests, aliases repeat little, no map says a name twice,
and merges (``<<``) are done. No tag makes an object of anything. Plain words are read as by YAML 1.2's core schema, and
those that YAML 1.1 reads as something else are refused, since nobody can tell which of the two was meant.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

from intarsia.spec.documents import MOST_BYTES, MOST_DEEP, TOO_LARGE, TextError
from intarsia.spec.json_text import number_flaw
from intarsia.spec.problems import shown_name

if TYPE_CHECKING:
    import yaml

MOST_VALUES = 250_000
"""Values of one text, each counted as often as aliases repeat it."""
NULL = "tag:yaml.org,2002:null"
"""The tag of a plain word that means nothing: ``null``, ``~``, or no word at all."""
TEXT = "tag:yaml.org,2002:str"
"""The tag of what stands in quotes, or is marked ``!!str``."""
PLAIN = "?"
"""The tag of any other plain word."""
_MERGE = "<<"
_LIST, _MAP = "tag:yaml.org,2002:seq", "tag:yaml.org,2002:map"
_ALLOWED = {None: "", "!": "", _LIST: "list", _MAP: "map", TEXT: "text"}
"""Tags that may be written, and what they must stand before; empty for anything."""

_UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLS = {word: word.lower() == "true" for word in ("true", "True", "TRUE", "false", "False", "FALSE")}
_WHOLE = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_HEX = re.compile(r"0x[0-9a-fA-F]{1,64}")
_REAL = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NO_NUMBER = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_DOUBTFUL = (
    (re.compile(r"(?i:yes|no|on|off)"), "write true or false"),
    (re.compile(r"[-+]?0[0-9_]+|0o[0-7]+|0b[01_]+"), "write the number without a leading zero"),
    (re.compile(r"[-+]?[0-9][0-9_]*_[0-9_]*(\.[0-9_]*)?|0x[0-9a-fA-F]*_[0-9a-fA-F_]*"), "write the number without _"),
    (re.compile(r"[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?"), "some read a number to the base of 60"),
    (re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt\s].*)?", re.DOTALL), "some read a date"),
)
"""Plain words that versions of YAML read as different things, and what to do."""
_LONGEST_DOUBTFUL = 64


def parse_yaml(text: str) -> Any:
    """The data of YAML text, names as text; ``None`` of an empty one, a `TextError` if JSON cannot say the same."""
    root = compose(text)
    return None if root is None else data_of(root, text)


def data_of(node: yaml.Node, text: str) -> Any:
    """The data of a node that `compose` made of this text; a `TextError` where JSON cannot say it."""
    import yaml

    if isinstance(node, yaml.MappingNode):
        return {key.value: data_of(value, text) for key, value in node.value}
    if isinstance(node, yaml.SequenceNode):
        return [data_of(item, text) for item in node.value]
    return node.value if node.tag == TEXT else _word(node, text)


def compose(text: str) -> yaml.Node | None:
    """The nodes of YAML text: scalars are tagged `NULL`, `TEXT` or `PLAIN`; ``None`` for an empty text.

    Raises:
        TextError: It is no YAML, or is more than a person writes.
    """
    if len(text) > MOST_BYTES:
        raise TextError(TOO_LARGE)
    odd = _UNPRINTABLE.search(text)
    if odd is not None:
        raise TextError(f"this is not YAML: it contains the character U+{ord(odd[0]):04X}", text, *odd.span())
    import yaml  # slow to import, and few texts are YAML

    composer = _Composer(text)
    try:
        for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            composer.take(event)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        at = None if mark is None else min(mark.index, len(text))
        raise TextError(f"this is not YAML: {error.problem or error.context}", text, at) from None
    except yaml.YAMLError as error:
        raise TextError(f"this is not YAML: {error}") from None
    return composer.root


@dataclass(slots=True)
class _Open:
    """A list or map whose end has not come yet."""

    node: yaml.CollectionNode
    anchor: str | None
    is_map: bool
    key: yaml.ScalarNode | None = None
    names: set[str] = field(default_factory=set)
    merged: list[yaml.MappingNode] = field(default_factory=list)
    count: int = 1
    height: int = 0


@dataclass(frozen=True, slots=True)
class _Whole:
    """A value that is read: how many values it is with all that is in it, and how deep."""

    node: yaml.Node
    count: int = 1
    height: int = 0


class _Composer:
    """Makes nodes of events, without recursion."""

    def __init__(self, text: str) -> None:
        self.root: yaml.Node | None = None
        self._text = text
        self._open: list[_Open] = []
        self._anchors: dict[str, _Whole] = {}
        self._documents = 0
        self._count = 0

    def take(self, event: Any) -> None:
        """The next event of PyYAML's parser."""
        import yaml

        match event:
            case yaml.DocumentStartEvent():
                self._documents += 1
                if self._documents > 1:
                    self._fail("a second document begins here; a file may hold only one", event)
            case yaml.AliasEvent():
                self._put(self._repeated(event))
            case yaml.ScalarEvent():
                self._put(self._named(event, _Whole(self._scalar(event))))
            case yaml.SequenceStartEvent() | yaml.MappingStartEvent():
                self._begin(event)
            case yaml.SequenceEndEvent() | yaml.MappingEndEvent():
                self._end(event)

    def _scalar(self, event: Any) -> yaml.ScalarNode:
        import yaml

        self._check_tag(event, "text")
        is_plain = event.tag is None and event.implicit[0]
        tag = TEXT if not is_plain else NULL if event.value in _NULLS else PLAIN
        return yaml.ScalarNode(tag, event.value, event.start_mark, event.end_mark, event.style)

    def _begin(self, event: Any) -> None:
        import yaml

        is_map = isinstance(event, yaml.MappingStartEvent)
        self._check_tag(event, "map" if is_map else "list")
        if len(self._open) >= MOST_DEEP:
            self._fail(f"nested deeper than {MOST_DEEP} levels", event)
        kind = yaml.MappingNode if is_map else yaml.SequenceNode
        node = kind(_MAP if is_map else _LIST, [], event.start_mark, event.end_mark)
        self._open.append(_Open(node, event.anchor, is_map))

    def _end(self, event: Any) -> None:
        made = self._open.pop()
        made.node.end_mark = event.end_mark
        if made.merged:
            _merge(made)
        whole = _Whole(made.node, made.count, made.height + 1)
        if made.anchor is not None:
            self._anchors[made.anchor] = whole
        self._put(whole)

    def _named(self, event: Any, whole: _Whole) -> _Whole:
        if event.anchor is not None:
            self._anchors[event.anchor] = whole
        return whole

    def _repeated(self, event: Any) -> _Whole:
        found = self._anchors.get(event.anchor)
        if found is None:
            is_around = any(made.anchor == event.anchor for made in self._open)
            why = (
                "repeats the value that it is a part of"
                if is_around
                else "repeats a value, but no value before it is named so"
            )
            self._fail(f"*{event.anchor} {why}", event)
        if len(self._open) + found.height > MOST_DEEP:
            self._fail(f"nested deeper than {MOST_DEEP} levels", event)
        return found

    def _put(self, whole: _Whole) -> None:
        """Place a value that is read where it belongs."""
        self._count += 1
        if not self._open:
            self.root = whole.node
            return
        made = self._open[-1]
        made.count += whole.count
        made.height = max(made.height, whole.height)
        if max(made.count, self._count) > MOST_VALUES:
            self._fail(
                f"there are more than {MOST_VALUES:,} values, counting those that aliases (*) repeat", whole.node
            )
        if not made.is_map:
            made.node.value.append(whole.node)
        elif made.key is None:
            made.key = self._key(whole.node, made)
        else:
            self._pair(made, made.key, whole.node)
            made.key = None

    def _key(self, node: yaml.Node, made: _Open) -> yaml.ScalarNode:
        import yaml

        if not isinstance(node, yaml.ScalarNode):
            self._fail(
                f"a name must be text; this is a {'map' if isinstance(node, yaml.MappingNode) else 'list'}", node
            )
        if node.value in made.names:
            self._fail(f"{shown_name(node.value)} appears more than once", node)
        made.names.add(node.value)
        return node

    def _pair(self, made: _Open, key: yaml.ScalarNode, node: yaml.Node) -> None:
        import yaml

        if key.tag != PLAIN or key.value != _MERGE:
            made.node.value.append((key, node))
            return
        for each in node.value if isinstance(node, yaml.SequenceNode) else [node]:
            if not isinstance(each, yaml.MappingNode):
                self._fail(f"{_MERGE} needs a map, or a list of maps", node)
            made.merged.append(each)

    def _check_tag(self, event: Any, kind: str) -> None:
        wanted = _ALLOWED.get(event.tag)
        if wanted is None or (wanted and wanted != kind):
            name = event.tag.replace("tag:yaml.org,2002:", "!!")
            self._fail(f"the tag {shown_name(name)} has no meaning here; leave it out", event)

    def _fail(self, problem: str, at: Any) -> NoReturn:
        start, stop = at.start_mark.index, at.end_mark.index
        raise TextError(problem, self._text, start, stop)


def _merge(made: _Open) -> None:
    """Put before a map's own pairs those of the maps that it takes in; the first that says a name counts."""
    own = {key.value for key, _ in made.node.value}
    found: dict[str, tuple[yaml.Node, yaml.Node]] = {}
    for each in made.merged:
        for key, value in each.value:
            found.setdefault(key.value, (key, value))
    made.node.value[:0] = [pair for name, pair in found.items() if name not in own]


def _word(node: yaml.Node, text: str) -> Any:
    """What a plain word means."""
    word = node.value
    if word in _NULLS:
        return None
    if word in _BOOLS:
        return _BOOLS[word]
    flaw = _doubt(word)
    is_number = _WHOLE.fullmatch(word) or _REAL.fullmatch(word)
    if not flaw and is_number:
        flaw = number_flaw(word)
    if flaw:
        raise TextError(flaw, text, node.start_mark.index, node.end_mark.index)
    if _HEX.fullmatch(word):
        return int(word, 16)
    if is_number:
        return int(word) if _WHOLE.fullmatch(word) else float(word)
    return word


def _doubt(word: str) -> str:
    if _NO_NUMBER.fullmatch(word):
        return f"{word!r} is not a finite number; in quotes it is text"
    for pattern, cure in _DOUBTFUL:
        if len(word) <= _LONGEST_DOUBTFUL and pattern.fullmatch(word):
            return f"versions of YAML read {shown_name(word)} differently: {cure}; in quotes it is text"
    return ""
