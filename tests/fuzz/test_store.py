"""Record stores that were edited, truncated or of others, and files of records: a bad record is absent, no more.

What is damaged is chosen by structure: a field of a row, a place inside its JSON, a page of the file, a file beside it.
A seed makes the same case again; a name tells it.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from intarsia.cost.records.database import COLUMNS
from intarsia.cost.records.outcomes import Kind, checked_outcome
from intarsia.cost.timing.verdict import CONTROL_NAME, Verdict
from intarsia.errors import IntarsiaError
from intarsia.search.collage import search_cache
from intarsia.search.precision import record
from intarsia.target import Target
from tests.fuzz.harness import Case, faults, run_cases
from tests.unit.cost.records.test_records_file import OUTCOMES
from tests.unit.graph.quantised import qdq_network
from tests.unit.search.fakes import chain_problem

COMMON, ALL = 40, 500
"""Cases that every run of the tests has, and those that there are."""
CODED = 4000
LIMIT_S, PATIENCE_S = 10.0, 300.0
"""For commands that read and write; and for compiles, which measure, on a busy machine."""
COMPILE = ("--target", "onnxruntime, reference", "--budget", "3", "--store", "r.sqlite", "-q")
EVERY = 5
"""One case in so many compiles."""
ODD: tuple[Any, ...] = (
    *(None, True, -1, 0, 0.5, 2**63, 10**30, -1e308, 1e308, float("nan"), float("inf")),
    *("", "a", "\u001b[2J\u202e", "x" * 5000, "../../etc/passwd", "onnxruntime -custom-ops=evil.so", "no-such-engine"),
    *([], {}, [[]], ["a"], [-1], [0], [1e400], {"ms": []}, {"": None}),
)


@dataclass(frozen=True)
class Warm:
    """What a compile leaves: a model, its store, the files of that, and its records as a file."""

    folder: Path


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Warm:
    folder = tmp_path_factory.mktemp("warm")
    (folder / "m.onnx").write_bytes(qdq_network(0, 2).SerializeToString())
    compiled = ("compile", "m.onnx", *COMPILE, "-o", str(folder / "m.intarsia"))
    for name, argv in {"compile": compiled, "export": ("tune", "--store", "r.sqlite", "--export", "r.jsonl")}.items():
        ((_, outcome),) = run_cases([Case(name, argv, folder)], limit_s=PATIENCE_S, workers=1)
        assert (outcome.exit_code, faults(outcome)) == (0, []), outcome.output
    return Warm(folder)


def paths(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place inside a JSON value."""
    yield at
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in entries:
        yield from paths(each, (*at, key))


def mutated(rng: random.Random, value: Any) -> Any:
    """The value with one to three places changed, removed, doubled or exchanged."""
    whole = [json.loads(json.dumps(value))]
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        at = rng.choice(list(paths(whole[0])))
        *way, last = (0, *at)
        holder: Any = whole
        for key in way:
            holder = holder[key]
        match rng.randrange(5):
            case 0 if at:
                del holder[last]
            case 1 if isinstance(holder[last], list):
                holder[last] = holder[last] * rng.choice((0, 2, 3)) if rng.random() < 0.7 else holder[last][:-1]
            case 2 if isinstance(holder[last], dict):
                holder[last][rng.choice(("", "more", "stage", "cause"))] = deepcopy(rng.choice(ODD))
            case 3 if isinstance(holder[last], int | float) and not isinstance(holder[last], bool):
                holder[last] = holder[last] * rng.choice((-1, 0, 1e300, 1e-300)) + rng.choice((0, 1, 1e6))
            case _:
                holder[last] = deepcopy(rng.choice(ODD))
    return whole[0]


def as_text(rng: random.Random, value: Any) -> str | bytes | None:
    """A JSON value as a text, now and then cut, with a flipped byte, or no text at all."""
    text = json.dumps(value)
    match rng.randrange(8):
        case 0:
            return text[: rng.randrange(len(text) + 1)]
        case 1:
            flipped = bytearray(text.encode())
            flipped[rng.randrange(len(flipped))] ^= 1 << rng.randrange(8)
            return bytes(flipped)
        case 2:
            return rng.choice((None, "", "null", "[" * 50_000, b"\xff\x00", '{"a":' * 3000))
        case _:
            return text


def edit_rows(rng: random.Random, folder: Path) -> str:
    """Change fields of rows in a table that takes anything."""
    told = []
    with closing(sqlite3.connect(folder / "r.sqlite")) as db:
        rows = [dict(zip(COLUMNS, row, strict=True)) for row in db.execute("SELECT * FROM record ORDER BY key")]
        for row in rng.sample(rows, rng.randrange(1, len(rows) + 1)):
            column = rng.choice((*COLUMNS[1:], "outcome", "outcome", "outcome"))
            told.append(f"{row['kind']}.{column}")
            if column in ("facts", "outcome", "provenance"):
                row[column] = as_text(rng, mutated(rng, json.loads(row[column])))
            else:
                row[column] = rng.choice([each for each in ODD if not isinstance(each, list | dict)][:-1])
                row[column] = str(row[column]) if isinstance(row[column], int) else row[column]
        db.execute("DROP TABLE record")
        db.execute(f"CREATE TABLE record ({', '.join(COLUMNS)}, PRIMARY KEY (key))")
        db.executemany("INSERT INTO record VALUES (?,?,?,?,?,?)", [tuple(row.values()) for row in rows])
        db.commit()
    return ", ".join(told)


TABLES = (
    "PRAGMA user_version=2",
    "PRAGMA user_version=-1",
    "PRAGMA user_version=0",
    "ALTER TABLE record DROP COLUMN provenance",
    "ALTER TABLE record ADD COLUMN more TEXT",
    "ALTER TABLE record RENAME COLUMN outcome TO result",
    "ALTER TABLE record RENAME TO records",
    "DROP TABLE record",
    "CREATE TRIGGER no BEFORE INSERT ON record BEGIN SELECT RAISE(ABORT, 'no'); END",
    "CREATE VIEW other AS SELECT * FROM record",
    "CREATE TABLE other (a)",
    "DELETE FROM record",
)


def edit_table(rng: random.Random, folder: Path) -> str:
    """Be a table of another version, or of another program."""
    chosen = rng.sample(TABLES, rng.choice((1, 1, 2)))
    with closing(sqlite3.connect(folder / "r.sqlite")) as db:
        for statement in chosen:
            try:
                db.execute(statement)
            except sqlite3.OperationalError:  # the one before has taken away what it is about
                continue
        db.commit()
    return "; ".join(chosen)


def damage(rng: random.Random, file: Path) -> str:
    """Cut a file, flip bits of it, or have something else in its place."""
    content = bytearray(file.read_bytes())
    match rng.randrange(6):
        case 0:
            os.truncate(file, rng.randrange(len(content) + 1))
            return f"{file.name} cut"
        case 1:
            file.unlink()
            return f"no {file.name}"
        case 2:
            file.unlink()
            file.mkdir()
            return f"{file.name} is a folder"
        case 3:
            file.write_bytes(rng.randbytes(rng.randrange(5000)))
            return f"{file.name} is noise"
        case _:
            for _ in range(rng.randrange(1, 20)):
                content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
            file.write_bytes(content)
            return f"bits of {file.name}"


def edit_store(rng: random.Random, folder: Path) -> str:
    """Damage the file of the store, or what SQLite has beside it."""
    if rng.random() < 0.2:
        beside = folder / f"r.sqlite{rng.choice(('-wal', '-shm', '-journal'))}"
        beside.write_bytes(rng.randbytes(rng.randrange(1, 70_000)))
        return f"{beside.name} is noise"
    return damage(rng, folder / "r.sqlite")


def edit_beside(rng: random.Random, folder: Path) -> str:
    """Damage files that belong to the store: the reference's values, and who lies there."""
    files = sorted(each for each in (folder / "r.files").rglob("*") if each.is_file())
    return ", ".join(damage(rng, file) for file in rng.sample(files, min(len(files), rng.randrange(1, 4))))


def edit_export(rng: random.Random, folder: Path) -> str:
    """Change lines of a file of records."""
    file = folder / "r.jsonl"
    lines: list[str | bytes | None] = [*file.read_text(encoding="utf-8").splitlines()]
    numbers = rng.sample(range(len(lines)), rng.randrange(1, len(lines) + 1))
    for number in numbers:
        lines[number] = as_text(rng, mutated(rng, json.loads(str(lines[number]))))
    if rng.random() < 0.2:
        rng.shuffle(lines)
    file.write_bytes(b"\n".join(each.encode() if isinstance(each, str) else each or b"" for each in lines))
    return f"lines {sorted(numbers)} of r.jsonl"


EDITS: tuple[Callable[[random.Random, Path], str], ...] = (
    *(edit_rows, edit_rows, edit_rows, edit_export, edit_export),
    *(edit_beside, edit_table, edit_store),
)
READS = (
    ("tune", "--store", "r.sqlite", "--list"),
    ("tune", "--store", "r.sqlite", "--list", "--json"),
    ("tune", "--store", "r.sqlite", "--export", "out.jsonl"),
    ("tune", "--store", "r.sqlite", "--clear", "--yes"),
)


def cases(warm: Warm, folder: Path, seeds: Iterable[int]) -> Iterator[Case]:
    """A case for each seed; its folder holds all that it needs."""
    for seed in seeds:
        rng = random.Random(seed)
        place = folder / str(seed)
        edit = EDITS[seed % len(EDITS)]
        place.mkdir()
        for name in ("r.sqlite", "r.jsonl", "m.onnx"):
            shutil.copy(warm.folder / name, place / name)
        shutil.copytree(warm.folder / "r.files", place / "r.files")
        what = edit(rng, place)
        argv: tuple[str, ...] = ("compile", "m.onnx", *COMPILE, "-o", str(place / "out.intarsia"))
        if edit is edit_export:
            argv = ("tune", *(("m.onnx", *COMPILE) if compiles(seed) else ("--store", "new.sqlite")), "--list")
            argv = (*argv, "--import", "r.jsonl")
        elif not compiles(seed) and edit is not edit_beside:
            argv = READS[rng.randrange(len(READS))]
        yield Case(f"store {seed}: {edit.__name__}: {what}: {' '.join(argv)}", argv, place)


def compiles(seed: int) -> bool:
    return seed % EVERY == 0


def check(warm: Warm, folder: Path, seeds: Iterable[int]) -> None:
    """Run the cases, and see that each keeps to the rules; one that is over leaves nothing."""
    found = []
    given = list(seeds)
    for are_compiles, limit_s in ((False, LIMIT_S), (True, PATIENCE_S)):
        own = [each for each in given if (compiles(each) or EDITS[each % len(EDITS)] is edit_beside) is are_compiles]
        for case, outcome in run_cases(cases(warm, folder, own), limit_s=limit_s):
            wrong = faults(outcome)
            # What lies beside the store, and single rows, never end a compile.
            if case.argv[0] == "compile" and any(f"edit_{each}:" in case.name for each in ("rows", "beside")):
                wrong += [] if outcome.exit_code == 0 else ["it did not end well"]
            if wrong:
                found.append(f"{case.name}\n  {wrong}\n{outcome.output}")
            shutil.rmtree(case.folder, ignore_errors=True)
    assert not found, "\n\n".join(found)


def test_a_share_of_damaged_stores(warm: Warm, tmp_path: Path) -> None:
    check(warm, tmp_path, range(COMMON))


@pytest.mark.large
@pytest.mark.timeout(7200)
def test_the_rest_of_the_damaged_stores(warm: Warm, tmp_path: Path) -> None:
    check(warm, tmp_path, range(COMMON, ALL))


PROBLEM = chain_problem(2, [Target("onnxruntime"), Target("mnn"), Target("ncnn")])


def read(kind: Kind, text: str | bytes) -> None:
    """Take a record as a compile does, and ask it whatever is asked of one."""
    outcome = checked_outcome(kind, text)
    match kind:
        case "search":
            search_cache.from_json(PROBLEM, outcome)
        case "reduced_precision":
            for each in record.from_json(outcome, PROBLEM).found:
                search_cache.fits(PROBLEM, each.candidate)
        case "paired_benchmark":
            ask(replace_lists(outcome))


def replace_lists(outcome: Any) -> Verdict:
    from pydantic import TypeAdapter

    return TypeAdapter(Verdict).validate_python(outcome)


def ask(verdict: Verdict) -> None:
    for name in verdict.benchmarked:
        for asked in (verdict.latency, verdict.expected_ms, verdict.parts_ms, verdict.may_leave):
            asked(name)
        verdict.speedup(name, verdict.first)
        verdict.compared(name, verdict.first)
        assert verdict.footprints[name].peak_bytes >= verdict.footprints[name].steady_bytes - 2**60
    if CONTROL_NAME in verdict.rounds_ms:
        assert verdict.control_holds in (True, False)
        assert verdict.is_in_doubt in (True, False)


@pytest.mark.parametrize("kind", OUTCOMES)
def test_a_record_of_each_kind_is_read_or_refused(kind: Kind) -> None:
    """Thousands for each kind, without a process: nothing but a refusal comes out, and some are taken."""
    read(kind, json.dumps(OUTCOMES[kind]))
    taken = refused = 0
    for seed in range(CODED):
        rng = random.Random(seed)
        text = as_text(rng, mutated(rng, OUTCOMES[kind]))
        if text is None:
            continue
        try:
            read(kind, text)
            taken += 1
        except (ValueError, IntarsiaError):
            refused += 1
    assert taken > CODED / 100
    assert refused > CODED / 10
