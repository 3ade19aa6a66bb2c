"""Mutations of what people write: of data before it is written as JSON or YAML, and of the text after."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator
from typing import Any

import yaml

from intarsia.errors import IntarsiaError
from intarsia.spec.documents import MOST_BYTES

ODD: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2**31, 2**63, 10**40, 0.5, -0.0, 1e308, 1e-320, "", " ", "\n", "a", "no", "010"),
    *([], {}, [[]], [{}], {"": ""}, [None], {"a": {"a": {"a": {}}}}, ["a", "a"], [1, "1", 1.0, True]),
    *("nan", "inf", "1_000", "1:30", "2020-01-01", "0x10", "null", "<<", "=", "*a", "&a", "!!python/name:os.system"),
    *("../..", "/etc/passwd", "/dev/zero", "$(id)", "`id`", "%s%n", "{0.__class__}", "a\0b", "\x1b[31m", "\u202e", "é"),
    *("x" * 5000, "llvm, " * 300, "-" * 300, "'" * 51, '"', "\\", "a,b", "a=b", "[", "{", '{"kind":', "- a", "llvm:1"),
    *(
        "llvm -mattr=" + "+a," * 500,
        "cuda:99999999999",
        "{'targets': ['llvm']}",
        '{"targets": ["llvm"]}',
        "🙂",
        "\ud800",
    ),
)
"""Values that stand where another one is wanted."""
SPLICES = (
    *(
        "\0",
        "\t",
        "\r",
        "\x85",
        "\u2028",
        "\ufeff",
        "\x1b",
        "\u202e",
        "é",
        "🙂",
        "'",
        '"',
        "\\",
        ",",
        ":",
        ": ",
        "- ",
        "? ",
    ),
    *(
        "{",
        "}",
        "[",
        "]",
        "#",
        " #",
        "&a ",
        "*a",
        "!!set ",
        "!!python/object/apply:os.system ",
        "!x ",
        "|\n",
        ">-\n",
        "%",
    ),
    *("---\n", "...\n", "<<: *a\n", "<<: {a: 1}\n", "null", "NaN", "-Infinity", "1e999", "9" * 5000, "0o7", "yes", "~"),
    *("\n", "\n\n  ", " " * 500, "[" * 200, "{a: " * 200, "a" * 3000, "\\ud800", "\\u0000", "\\x1b[2J"),
)
"""What is put into the middle of a text."""


def bomb(rng: random.Random) -> str:
    """Aliases that repeat aliases: a few lines, and any number of values."""
    width, depth = rng.choice((2, 9, 40)), rng.choice((3, 12, 60))
    rows = [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * width)}]" for i in range(1, depth)]
    return "\n".join(["a0: &a0 {k: lol}", *rows, ""])


def places(data: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every value within data."""
    yield at
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, inner in items:
        yield from places(inner, (*at, key))


def mutated(data: Any, rng: random.Random, others: list[Any]) -> Any:
    """The data with one to three places changed: another value, another name, one more, one less, one of other data."""
    made = copy.deepcopy(data)
    for _ in range(rng.choice((1, 1, 2, 3))):
        path = rng.choice(list(places(made)))
        if not path:
            made = rng.choice((made, [made], {"targets": made}, rng.choice(ODD), rng.choice(others)))
            continue
        holder = made
        for key in path[:-1]:
            holder = holder[key]
        _change(holder, path[-1], rng, others)
    return made


def _change(holder: Any, key: Any, rng: random.Random, others: list[Any]) -> None:
    match rng.randrange(7):
        case 0:
            del holder[key]
        case 1:
            holder[key] = [holder[key], holder[key]]
        case 2:
            holder[key] = {rng.choice(("kind", "tag", "targets", "a", "")): holder[key]}
        case 3 if isinstance(holder, dict):
            name = rng.choice((f"{key}x", str(key).replace("-", "_").upper(), "", "kind", "tag", "\x1b", "é" * 100))
            holder[name] = holder.pop(key)
        case 4:
            donor = rng.choice(others)
            path = rng.choice(list(places(donor)))
            for step in path:
                donor = donor[step]
            holder[key] = copy.deepcopy(donor)
        case _:
            holder[key] = rng.choice(ODD)


def spoiled(text: str, rng: random.Random) -> str:
    """The text with something put in, left out, said twice, cut off, or a flipped character."""
    at = rng.randrange(len(text) + 1)
    end = min(len(text), at + rng.choice((1, 1, 5, 30)))
    lines = text.splitlines(keepends=True) or [""]
    line = rng.randrange(len(lines))
    match rng.randrange(7):
        case 0 | 1:
            return text[:at] + rng.choice(SPLICES) + text[at:]
        case 2:
            return text[:at] + text[end:]
        case 3:
            return text[:at] + text[at:end] * rng.choice((2, 2, 300)) + text[end:]
        case 4:
            return text[:at]
        case 5:
            return "".join([*lines[:line], lines[line], *lines[line:]])
        case _:
            return text[:at] + "".join(chr(ord(char) ^ (1 << rng.randrange(7))) for char in text[at:end]) + text[end:]


def written(data: Any, rng: random.Random) -> tuple[str, str]:
    """Data as text, and the suffix of the file that it is for."""
    if isinstance(data, str) and rng.random() < 0.5:
        return data, rng.choice(("", ".txt"))
    if rng.random() < 0.5:
        return json.dumps(data, indent=rng.choice((None, 1))), ".json"
    dump: Callable[..., str] = yaml.safe_dump
    try:
        return dump(data, sort_keys=False, default_flow_style=rng.choice((None, True, False))), rng.choice(
            (".yaml", ".yml")
        )
    except yaml.YAMLError:
        return json.dumps(data), ".yaml"


def encoded(text: str, rng: random.Random) -> bytes:
    """The bytes of a file: UTF-8 mostly, now and then another encoding, damaged, or far too large."""
    content = text.encode("utf-8", errors="surrogatepass")
    match rng.randrange(40):
        case 0:
            return text.encode("utf-16", errors="surrogatepass")
        case 1:
            return b"\xef\xbb\xbf" + content
        case 2:
            return text.encode("latin-1", errors="replace")
        case 3:
            at = rng.randrange(len(content) + 1)
            return content[:at] + bytes([rng.randrange(256)]) + content[at:]
        case 4:
            return content.replace(b"\n", b"\r\n")
        case 5 if rng.random() < 0.2:
            return content + b"\n" + b"# " + b"x" * rng.choice((2**20, MOST_BYTES))
        case _:
            return content


def broken(law: Callable[[], None]) -> list[str]:
    """What a law found, in a process that may not end but by an error of ours."""
    try:
        law()
    except IntarsiaError:
        return []
    except Exception as error:
        return [f"{type(error).__name__}: {str(error)[:300]}"]
    return []
