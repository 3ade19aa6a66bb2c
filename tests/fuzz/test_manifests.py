"""Artifacts that anybody may have made: mutated field by field, their checksum right, and loaded by every verb.

Whatever is in the file, the command says what is wrong with it or does its work: no traceback, no signal, no hang,
nothing written elsewhere, nothing started. ``python -m tests.fuzz.test_manifests NAME...`` replays cases by name.
"""

from __future__ import annotations

import copy
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from intarsia.runtime.artifact.container_writing import create, reseal
from tests.fuzz.artifacts import BASES, WAYS
from tests.fuzz.harness import Case, Outcome, faults, run_cases

ROOT = Path(__file__).parents[2]
SHARE = 4
"""Cases of each base in `make test`."""
WHOLE = 5000
"""Cases of all bases together in `make large`."""
LIMIT_S = 10.0
COMPILE_S = {"single-inductor": 50.0}
"""Of engines whose own compiler takes as long as the limit: where a partition is built anew, or exported."""
DEEP = "[" * 20_000 + "]" * 20_000
_DEEP_MARK = "deep-nesting-stands-here"
_HOSTILE = "\x1b]0;owned\x07\x1b[31m\u202egnp.exe\u2066\x9b2J\x7f"
_STRINGS = ("", "x" * 100_000, _HOSTILE, "../../../../etc/passwd", "/dev/stdin", "\x00", "%s%n{0}{__class__}", "\ud800")
_NUMBERS: tuple[Any, ...] = (0, -1, 1, 2, 255, 2**31, 2**31 - 1, -(2**31), 2**62, -(2**63), 2**64, 1e308, 0.5)
_ODD: tuple[Any, ...] = (None, True, False, [], {}, [[]], {"": 0}, "1", 1.0, float("nan"), float("inf"), -0.0)
_DTYPES = (
    "float64",
    "float16",
    "int8",
    "int64",
    "string",
    "object",
    "O",
    "bool",
    "V16",
    "float8_e4m3fn",
    "unknown",
    "f4",
)

Place = tuple[int | str, ...]
"""Where in a JSON document something is."""


def mutated(document: Any, rng: random.Random) -> tuple[Any, str]:
    """A document with one thing in it changed, and what that is."""
    document = copy.deepcopy(document)
    place = _place(document, rng)
    if not place:
        return rng.choice(_ODD), "the whole"
    parent = document
    for step in place[:-1]:
        parent = parent[step]
    change = rng.choice(_changes(parent, place[-1]))
    change(parent, place[-1], rng)
    return document, f"{change.__name__.strip('_')} of {'.'.join(map(str, place))}"


def _place(document: Any, rng: random.Random) -> Place:
    """Somewhere in it: as likely deep inside of a small part as of a large one."""
    place: list[int | str] = []
    here = document
    while isinstance(here, (dict, list)) and here and (not place or rng.random() > 0.1):
        step = rng.choice(list(here)) if isinstance(here, dict) else rng.randrange(len(here))
        place.append(step)
        here = here[step]
    return tuple(place)


Change = Callable[[Any, Any, random.Random], None]


def _changes(parent: Any, step: Any) -> Sequence[Change]:
    value = parent[step]
    found: list[Change] = [_retyped, _deleted, _nested, _swapped]
    if isinstance(value, bool):
        return [*found, _negated]
    if isinstance(value, (int, float)):
        return [*found, _renumbered, _renumbered, _scaled, _scaled, _scaled]
    if isinstance(value, str):
        return [*found, _reworded, _reworded, _retyped_name, _exchanged, _exchanged]
    if isinstance(value, list):
        return [*found, _doubled, _reversed, _shortened, _scaled_all]
    if isinstance(value, dict):
        return [*found, _added, _renamed]
    return found


def _retyped(parent: Any, step: Any, rng: random.Random) -> None:
    parent[step] = rng.choice(_ODD)


def _deleted(parent: Any, step: Any, rng: random.Random) -> None:
    del parent[step]


def _nested(parent: Any, step: Any, rng: random.Random) -> None:
    parent[step] = rng.choice([_DEEP_MARK, [parent[step]], {"value": parent[step]}])


def _swapped(parent: Any, step: Any, rng: random.Random) -> None:
    other = rng.choice(list(parent) if isinstance(parent, dict) else range(len(parent)))
    parent[step], parent[other] = parent[other], parent[step]


def _negated(parent: Any, step: Any, rng: random.Random) -> None:
    parent[step] = not parent[step]


def _renumbered(parent: Any, step: Any, rng: random.Random) -> None:
    parent[step] = rng.choice(_NUMBERS)


def _scaled(parent: Any, step: Any, rng: random.Random) -> None:
    parent[step] = rng.choice([-1, 2, 16, 1024]) * parent[step] + rng.choice([0, 0, 1, -1])


def _reworded(parent: Any, step: Any, rng: random.Random) -> None:
    parent[step] = rng.choice([*_STRINGS, parent[step] + _HOSTILE, parent[step] * 2, parent[step][:-1]])


def _retyped_name(parent: Any, step: Any, rng: random.Random) -> None:
    parent[step] = rng.choice(_DTYPES)


def _exchanged(parent: Any, step: Any, rng: random.Random) -> None:
    """For another string that is somewhere near."""
    near = [value for value in (parent.values() if isinstance(parent, dict) else parent) if isinstance(value, str)]
    parent[step] = rng.choice(near)


def _doubled(parent: Any, step: Any, rng: random.Random) -> None:
    parent[step] = parent[step] * 2


def _reversed(parent: Any, step: Any, rng: random.Random) -> None:
    parent[step] = parent[step][::-1]


def _shortened(parent: Any, step: Any, rng: random.Random) -> None:
    parent[step] = parent[step][: rng.randrange(len(parent[step]) + 1)]


def _scaled_all(parent: Any, step: Any, rng: random.Random) -> None:
    factor = rng.choice([2, 16, -1])
    parent[step] = [each * factor if type(each) is int else each for each in parent[step]]


def _added(parent: Any, step: Any, rng: random.Random) -> None:
    parent[step] |= {rng.choice(_STRINGS): rng.choice([*_ODD, *_NUMBERS])}


def _renamed(parent: Any, step: Any, rng: random.Random) -> None:
    if parent[step]:
        key = rng.choice(list(parent[step]))
        parent[step] = {(rng.choice(_STRINGS) if name == key else name): value for name, value in parent[step].items()}


def damaged(content: bytes, rng: random.Random) -> tuple[bytes, str]:
    """Bytes of an engine, of which nobody knows what they mean: bits flipped, cut short, or made longer."""
    match rng.randrange(4):
        case 0:
            size = rng.randrange(len(content) + 1)
            return content[:size], f"cut to {size}"
        case 1:
            return content + rng.randbytes(rng.randrange(1, 5000)), "made longer"
        case 2 if len(content) >= 8:
            at = rng.randrange(len(content) - 7)
            number = rng.choice([0, 2**31 - 1, 2**32 - 1, 2**62, 2**64 - 1])
            return content[:at] + number.to_bytes(8, "little") + content[at + 8 :], f"{number} at {at}"
    flipped = bytearray(content)
    places = [rng.randrange(len(flipped)) for _ in range(rng.choice([1, 1, 4, 32]))] if flipped else []
    for at in places:
        flipped[at] ^= 1 << rng.randrange(8)
    return bytes(flipped), f"flipped at {places[:4]}"


def _dumped(document: Any) -> bytes:
    return json.dumps(document).replace(f'"{_DEEP_MARK}"', DEEP).encode()


def write_mutant(base: Path, seed: int, path: Path) -> str:
    """Write a mutant of an artifact, with a checksum that is right; what was changed."""
    rng = random.Random(f"{base.stem}/{seed}")
    if rng.random() < 0.03:
        return _write_rewired(base, path, rng)
    with zipfile.ZipFile(base) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    told = []
    for _ in range(rng.choice([1, 1, 1, 2])):
        name = _chosen(list(entries), rng)
        if name.endswith(".json"):
            document, what = mutated(json.loads(entries[name].replace(DEEP.encode(), b"0")), rng)
            entries[name] = _dumped(document)
        else:
            entries[name], what = damaged(entries[name], rng)
        told.append(f"{name}: {what}")
    _write_entries(path, entries)
    return "; ".join(told)


def _write_entries(path: Path, entries: Mapping[str, bytes]) -> None:
    with create(path) as out:
        for name, content in entries.items():
            if name == "weights.bin":
                with out.open(name) as stream:
                    stream.write(content)
            else:
                out.add(name, content)


def _chosen(names: list[str], rng: random.Random) -> str:
    """Mostly the manifest; of the rest mostly what engines made."""
    own = [name for name in names if name.startswith("steps/")]
    chance = rng.random()
    if chance < 0.7 or (chance < 0.85 and not own):
        return "manifest.json"
    return rng.choice(own) if chance < 0.85 else rng.choice(["report.json", "graph.onnx", "plan.yaml", "weights.bin"])


def _write_rewired(base: Path, path: Path, rng: random.Random) -> str:
    """The zip's own table changed."""
    content = bytearray(base.read_bytes())
    start = content.index(b"PK\x01\x02")
    at = rng.randrange(start, len(content) - 32)
    content[at] = rng.choice([0, 1, 0xFF, content[at] ^ (1 << rng.randrange(8))])
    path.write_bytes(content)
    reseal(path)
    return f"the zip's table at {at - start}"


def argv_of(path: Path, rng: random.Random) -> tuple[str, ...]:
    """One of the verbs that read an artifact."""
    verbs: Sequence[tuple[str, ...]] = (
        *(("run", str(path), "--random"),) * 6,
        ("run", str(path), "--random", "--profile", "--json"),
        ("explain", str(path)),
        ("explain", str(path), "--json"),
        ("explain", str(path), "--plan"),
        ("report", str(path), "-o", "page.html"),
        ("export", str(path), "exported"),
    )
    return rng.choice(verbs)


def cases(bases: Path, names: Sequence[tuple[str, int]], folder: Path) -> Iterator[Case]:
    """The case of each base and seed, in a folder of its own."""
    for base, seed in names:
        place = folder / f"{base}-{seed}"
        place.mkdir(parents=True)
        path = place / "m.intarsia"
        what = write_mutant(bases / f"{base}.intarsia", seed, path)
        argv = argv_of(path, random.Random(f"{base}/{seed}/verb"))
        yield Case(f"{base}/{seed} {argv[0]}: {what}", argv, place, COMPILE_S.get(base, 0.0))


def found_faults(bases: Path, names: Sequence[tuple[str, int]], folder: Path, workers: int = 2) -> list[str]:
    """What the cases of these names do that they must not."""
    # What the bases were built with is not built again for each case.
    environment = {"XDG_CACHE_HOME": str(bases / "cache")}
    told = []
    for case, outcome in run_cases(
        cases(bases, names, folder), limit_s=LIMIT_S, workers=workers, environment=environment
    ):
        told += [f"{case.name}: {fault}\n{outcome.output[-600:]}" for fault in faults(outcome)]
        shutil.rmtree(case.folder)
    return told


def write_bases(folder: Path) -> Path:
    """Write the bases in a process of its own: engines get along with each other, but not with a process that forks."""
    folder.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz.artifacts", str(folder)],
        cwd=ROOT,
        env={**os.environ, "XDG_CACHE_HOME": str(folder / "cache")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (folder / "told.txt").write_text(done.stdout)
    return folder


@pytest.fixture(scope="module")
def bases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_bases(tmp_path_factory.mktemp("bases"))


def _here(bases: Path) -> list[str]:
    found = [base for base in BASES if (bases / f"{base}.intarsia").exists()]
    assert len(found) > len(WAYS), (bases / "told.txt").read_text()
    return found


def test_what_was_not_changed_runs(bases: Path, tmp_path: Path) -> None:
    paths = [bases / f"{base}.intarsia" for base in _here(bases)]
    own = [Case(path.stem, ("run", str(path), "--random"), tmp_path / path.stem) for path in paths]
    # Nobody knows the files: the cache of a case is empty.
    for case, outcome in run_cases(own, limit_s=120.0):
        assert (outcome.exit_code, faults(outcome)) == (0, []), f"{case.name}: {outcome}"


def test_some_mutants(bases: Path, tmp_path: Path) -> None:
    names = [(base, seed) for base in _here(bases) for seed in range(SHARE)]
    told = found_faults(bases, names, tmp_path)
    assert not told, "\n\n".join(told)


def _edited(base: Path, path: Path, edit: Callable[[dict[str, Any]], object]) -> None:
    with zipfile.ZipFile(base) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    document = json.loads(entries["manifest.json"])
    edit(document)
    _write_entries(path, entries | {"manifest.json": _dumped(document)})


def _grown(factor: int) -> Callable[[dict[str, Any]], None]:
    """Every border inside of the plan so many times as large, in agreement: memory beyond a session's own."""

    def edit(document: dict[str, Any]) -> None:
        ends = {border["name"] for border in (*document["inputs"], *document["outputs"])}
        for step in document["steps"]:
            for border in (*step["inputs"], *step["outputs"]):
                if border["name"] not in ends:
                    border["shape"][0] *= factor
            if "partitions" not in step["meta"]:
                for row in (*step["meta"].get("inputs", ()), *step["meta"].get("outputs", ())):
                    if isinstance(row, dict) and row["name"] not in ends:
                        row["shape"][0] *= factor
                        row["blob_shape"][0] *= factor

    return edit


def _more_partitions(document: dict[str, Any]) -> None:
    for step in document["steps"]:
        if "partitions" in step["meta"]:
            step["meta"]["partitions"] = [[64, 64] for _ in step["meta"]["partitions"]]


def _many_threads(document: dict[str, Any]) -> None:
    document["settings"]["threads"] = 1_000_000


def _before_the_weights(document: dict[str, Any]) -> None:
    for weight in document["weights"].values():
        weight["offset"] = -(2**20)


@pytest.mark.parametrize(
    ("base", "edit"),
    [
        ("embedded", _grown(2)),
        ("embedded", _grown(16)),
        ("embedded", _more_partitions),
        ("mixed", _grown(16)),
        ("mixed", _many_threads),
        ("embedded", _many_threads),
        ("single-onnxruntime", _many_threads),
        ("single-ncnn", _many_threads),
        ("single-openvino", _before_the_weights),
    ],
)
def test_what_corrupted_memory_is_refused(
    bases: Path, base: str, edit: Callable[[dict[str, Any]], object], tmp_path: Path
) -> None:
    if base not in _here(bases):
        pytest.skip((bases / "told.txt").read_text())
    _edited(bases / f"{base}.intarsia", tmp_path / "m.intarsia", edit)
    case = Case(base, ("run", str(tmp_path / "m.intarsia"), "--random"), tmp_path / "case")
    ((_, outcome),) = run_cases([case], limit_s=LIMIT_S * 6, workers=1)
    assert (outcome.exit_code, faults(outcome)) == (2, []), outcome
    assert "m.intarsia: $." in outcome.output


def test_an_engine_that_dies_of_a_file_does_not_end_the_command(bases: Path, tmp_path: Path) -> None:
    """One bit of what MNN compiled is flipped: one file in ten ends its process."""
    if "single-mnn" not in _here(bases):
        pytest.skip((bases / "told.txt").read_text())
    with zipfile.ZipFile(bases / "single-mnn.intarsia") as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    name, rng = "steps/0/model.mnn", random.Random(0)
    files = []
    for number in range(32):
        content = bytearray(entries[name])
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        files.append(tmp_path / f"{number}.intarsia")
        _write_entries(files[-1], entries | {name: bytes(content)})
    own = [Case(file.stem, ("run", str(file), "--random"), tmp_path / file.stem) for file in files]
    outcomes = dict(run_cases(own, limit_s=LIMIT_S * 6))
    assert not {case.name: found for case, outcome in outcomes.items() if (found := faults(outcome))}
    died = [outcome for outcome in outcomes.values() if "an engine ends with SIG" in outcome.output]
    assert died, "nothing here shows any more what an engine cannot survive"
    assert {outcome.exit_code for outcome in died} == {2}


@pytest.mark.large
@pytest.mark.timeout(6 * 3600)
def test_many_mutants(bases: Path, tmp_path: Path) -> None:
    here = _here(bases)
    names = [(here[number % len(here)], SHARE + number // len(here)) for number in range(WHOLE)]
    told = found_faults(bases, names, tmp_path)
    assert not told, "\n\n".join(told)


def _replay(names: Sequence[str]) -> None:
    """Run cases by the first word of their names, and print what became of them."""
    with tempfile.TemporaryDirectory() as work:
        stored = Path(os.environ.get("FUZZ_BASES", Path(work, "bases")))
        stored = stored if stored.exists() else write_bases(stored)
        pairs = [(name.rpartition("/")[0], int(name.rpartition("/")[2])) for name in names]
        results: Iterator[tuple[Case, Outcome]] = run_cases(
            cases(stored, pairs, Path(work)), limit_s=LIMIT_S, environment={"XDG_CACHE_HOME": str(stored / "cache")}
        )
        for case, outcome in results:
            print(case.name, case.argv, outcome, faults(outcome), sep="\n", end="\n\n")  # noqa: T201 - a script


if __name__ == "__main__":
    _replay(sys.argv[1:])
