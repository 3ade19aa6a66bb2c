"""Artifacts that are broken, cut short, foreign, or made to do harm, each a change of a sound one, by a seed."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import xxhash

from tests.artifacts import members, repacked

NUMBERS = (-1, 0, 1, 2, 7, 63, 64, 65, 2**16, 2**31 - 1, 2**31, 2**32, 2**46, 2**53, 2**63 - 1, -(2**63), 2**64, 10**40)
TEXTS = (
    "",
    "float32",
    "int64",
    "string",
    "no_type",
    "c",
    "../../etc/passwd",
    "x" * 5000,
    "\0",
    "\u202e",
    "weights.bin",
)
VALUES: tuple[Any, ...] = (*NUMBERS, *TEXTS, None, True, 1.5, [], {}, [[]], [None], {"a": 1})


def mutants(source: Path, folder: Path, count: int, seed: int) -> list[Path]:
    """So many changed copies, in a folder."""
    rng = random.Random(seed)
    whole = source.read_bytes()
    entries = members(source)
    changes: tuple[Callable[[], bytes], ...] = (
        lambda: _flipped(whole, rng),
        lambda: _sealed(_flipped_outside(whole, source, rng)),
        lambda: whole[: rng.randrange(len(whole))],
        lambda: rng.randbytes(rng.choice((0, 1, 40, 100, 1000, 20000))),
        lambda: _sealed(whole[: rng.randrange(300, len(whole))] + b"intarsia xxh3_128 " + b"0" * 32),
        *(lambda name=name: _with_json(entries, name, folder, rng) for name in ("manifest.json",) * 8),
        *(lambda name=name: _with_json(entries, name, folder, rng) for name in ("native.json",) * 3),
        lambda: _with_bytes(entries, folder, rng),
        lambda: _without(entries, folder, rng),
    )
    paths = []
    for number in range(count):
        path = folder / f"{number}.intarsia"
        path.write_bytes(changes[number % len(changes)]())
        paths.append(path)
    return paths


def _flipped(content: bytes, rng: random.Random) -> bytes:
    place = rng.randrange(len(content))
    return content[:place] + bytes([content[place] ^ 1 << rng.randrange(8)]) + content[place + 1 :]


def _flipped_outside(content: bytes, source: Path, rng: random.Random) -> bytes:
    """A few bytes of the table of entries or of a local header changed: engines' own files stay as they are."""
    table = content.rfind(b"PK\x01\x02", 0, len(content))
    first = content.find(b"PK\x01\x02")
    heads = [place for place in _places(content, b"PK\x03\x04")]
    for _ in range(rng.randrange(1, 4)):
        start = rng.choice([*range(first, table + 46, 3), *heads, len(content) - 72])
        place = min(len(content) - 51, start + rng.randrange(46))
        content = (
            content[:place] + bytes([rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))]) + content[place + 1 :]
        )
    return content


def _places(content: bytes, mark: bytes) -> Iterator[int]:
    place = content.find(mark)
    while place >= 0:
        yield place
        place = content.find(mark, place + 1)


def _sealed(content: bytes) -> bytes:
    """With a right checksum."""
    return content[:-32] + xxhash.xxh3_128_hexdigest(content[:-32]).encode()


def _with_json(entries: Mapping[str, bytes], name: str, folder: Path, rng: random.Random) -> bytes:
    """One to three values of a document replaced by what does not belong there, or gone, or twice there."""
    document = json.loads(entries[name])
    for _ in range(rng.randrange(1, 4)):
        holder, key = rng.choice(list(_slots(document)))
        what = rng.randrange(6)
        if what == 0 and isinstance(holder, dict):
            del holder[key]
        elif what == 1 and isinstance(holder, list):
            holder.append(holder[key])
        elif what == 2 and isinstance(holder, dict):
            holder[f"{key}?"] = holder[key]
        else:
            holder[key] = rng.choice(VALUES)
    text = json.dumps(document, ensure_ascii=rng.random() < 0.5).encode(errors="surrogatepass")
    if rng.random() < 0.2:
        text = _flipped(text, rng)
    return repacked(folder / "draft", {**entries, name: text}).read_bytes()


def _slots(document: Any) -> Iterator[tuple[Any, Any]]:
    """Every place in a document, by what holds it."""
    pairs: Any = document.items() if isinstance(document, dict) else enumerate(document)
    for key, value in list(pairs):
        yield document, key
        if isinstance(value, dict | list):
            yield from _slots(value)


def _with_bytes(entries: Mapping[str, bytes], folder: Path, rng: random.Random) -> bytes:
    """A document of ours that is none: deep, endless, of other bytes."""
    name = rng.choice(("manifest.json", "native.json"))
    content = rng.choice(
        (
            b"[" * 100000,
            b'{"a":' * 70000,
            b"",
            b"nul",
            rng.randbytes(300),
            entries[name][:-40],
            b"\xff" + entries[name],
            b"1e999",
            b'"\\ud800"',
            entries[name] + b"x",
            b'{"version": 2, "version": 2}',
            b"\xef\xbb\xbf{}",
        )
    )
    return repacked(folder / "draft", {**entries, name: content}).read_bytes()


def _without(entries: Mapping[str, bytes], folder: Path, rng: random.Random) -> bytes:
    """An entry is gone, empty, or shorter. Of engines' own files, which engines read, only that."""
    name = rng.choice(sorted(entries))
    content = rng.choice((None, b"", entries[name][: len(entries[name]) // 2]))
    if content is not None and name.endswith((".so", ".onnx")):
        content = None  # what it holds is for the system's loader and the engine to judge
    rest = {each: value for each, value in entries.items() if each != name}
    return repacked(folder / "draft", rest if content is None else {**rest, name: content}).read_bytes()
