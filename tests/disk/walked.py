"""Walks faults over the writes of a program, in processes of its own: ``python -m tests.disk.walked``.

    LD_PRELOAD=faults.so python -m tests.disk.walked (parts | compile | quick) FOLDER SEED SHARE HOW...

SHARE is how many cases are drawn, of those that are reached; 0 means every write. ``full:12`` is that one case. HOW is
one or more of

    full, full-once           the disk is full from a write on, or for that write, in every process
    before, after, half       the process that writes first is killed
    worker-before, worker-half  another process is killed, as its parent sees
    snapshot                  every process is killed at once: the folder is as it was at each moment of a run
    moments                   nothing is judged: what each moment of a run is
    same                      nothing is judged: names and sizes at some moments, and after a kill there

One line of JSON with the number of writes, and one for each case; its ``faults`` are empty if all is as it must be.
"""

from __future__ import annotations

import json
import random
import re
import shutil
import signal
import sqlite3
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx

from intarsia.cost.records.store import Store
from intarsia.errors import ArtifactError
from intarsia.graph import load_model
from intarsia.runtime import Artifact, load
from tests.disk.children import Children
from tests.disk.library import DISK_FULL, KILLS, WATCHED, Fault
from tests.disk.scenarios import MODEL, OUT, SCENARIOS, STORE, warm_up
from tests.disk.snapshots import AFTER_ALL, Snapshot, taken, watched
from tests.unit.graph.models import two_layers

LEFT = re.compile(r"\.?(intarsia-)?\d+-[0-9a-f]{8}(\.tmp)?|tmp\w{8}|\.build-.*|\.carried-.*")
"""Names of what is there for a while: of ours, and of Python's."""
PLANNED = frozenset({0, 4})
"""Exit codes of a command on a full disk, or that lost a worker: done all the same, or told."""
MOST_DRAWN = 3
"""Cases that are drawn at most, for each that is to be reached."""
SNAPSHOT, OF_WORKERS = "snapshot", "worker-"


@dataclass(frozen=True)
class Case:
    """A fault at one write, in a folder with an artifact of an earlier day or without.

    Attributes:
        how: A HOW of this module.
        at: Which write, counted from 1; which moment of a run for a snapshot.
        has_former: Whether there was an artifact.
    """

    how: str
    at: int
    has_former: bool


class Walk:
    """Runs a scenario with faults, and judges what is left each time."""

    def __init__(self, scenario: str, folder: Path) -> None:
        self._scenario = SCENARIOS[scenario]
        self._folder = folder
        self._children = Children(folder / "log")
        model = two_layers()
        self._model = model.SerializeToString()
        self._expected = _answers(model)
        warm_up()
        self._former = self._made()

    def count(self, how: str) -> int:
        """How many writes there are."""
        folder = self._prepared(has_former=False)
        fault = self._fault(folder, how, 0)
        fault.prepare()
        status = self._children.run(self._scenario, folder, fault)
        assert status == 0, self._children.said()
        return fault.seen().count

    def snapshots(self, *, has_former: bool) -> Iterator[Snapshot]:
        """The folder at each moment of a run."""
        folder = self._prepared(has_former=has_former)
        fault = Fault(folder=folder, state=self._folder / "state", how=WATCHED, at=0, whose="all")
        fault.prepare()
        yield from watched(self._children.begin(self._scenario, folder, fault), fault)

    def killed(self, case: Case) -> Snapshot:
        """What a kill leaves."""
        folder = self._prepared(has_former=case.has_former)
        fault = self._fault(folder, case.how, case.at)
        fault.prepare()
        status = self._children.run(self._scenario, folder, fault)
        assert status == -signal.SIGKILL, self._children.said()
        return taken(folder, fault.seen().what)

    def judged(self, case: Case) -> dict[str, object]:
        """What came of a case."""
        folder = self._prepared(has_former=case.has_former)
        fault = self._fault(folder, case.how, case.at)
        fault.prepare()
        status = self._children.run(self._scenario, folder, fault)
        seen, said = fault.seen(), self._children.said()
        found = []
        if seen.fired:
            found += list(_faults_of_end(case, status, said, seen.what))
        found += [f"left over: {path}" for path in _left(folder)] if case.how in DISK_FULL else []
        found += self._faults_of_rest(case, folder)
        return {**vars(case), "fired": seen.fired, "what": seen.what, "status": status, "faults": found}

    def judged_snapshot(self, case: Case, snapshot: Snapshot) -> dict[str, object]:
        """What comes of going on from a moment."""
        folder = self._emptied()
        snapshot.put(folder)
        found = self._faults_of_rest(case, folder)
        return {**vars(case), "fired": case.at, "what": snapshot.what, "status": -signal.SIGKILL, "faults": found}

    def _faults_of_rest(self, case: Case, folder: Path) -> list[str]:
        """Of what a fault left, and of the next run there."""
        found = list(self._faults_of_artifact(case, folder))
        before = _identity(folder / OUT)
        again = self._children.run(self._scenario, folder)
        said = self._children.said()
        if again != 0 or "damaged" in said:
            found.append(f"the next one ended with {again}: {said}")
        elif _identity(folder / OUT) == before:
            found.append("the next one wrote nothing")
        else:
            found += self._run_checks(folder)
        return found + [f"left over by the next one: {path}" for path in _left(folder)]

    def _faults_of_artifact(self, case: Case, folder: Path) -> Iterator[str]:
        """The one of an earlier day, a new one, or none."""
        out = folder / OUT
        if not out.exists():
            if case.has_former:
                yield "the former artifact is gone"
            return
        if not (case.has_former and out.read_bytes() == self._former):
            try:
                Artifact(out)
            except ArtifactError as error:
                yield f"half an artifact: {error}"

    def _run_checks(self, folder: Path) -> list[str]:
        answered = self._folder / "answered"
        answered.unlink(missing_ok=True)
        if self._children.run(lambda place: _check(place, self._expected, answered), folder) != 0:
            return [self._children.said()]
        return [] if answered.exists() else ["what was compiled was not run"]

    def _made(self) -> bytes:
        folder = self._prepared(has_former=False)
        status = self._children.run(self._scenario, folder)
        assert status == 0, self._children.said()
        return (folder / OUT).read_bytes()

    def _emptied(self) -> Path:
        folder = self._folder / "case"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        return folder

    def _prepared(self, *, has_former: bool) -> Path:
        folder = self._emptied()
        (folder / "tmp").mkdir()
        (folder / MODEL).write_bytes(self._model)
        if has_former:
            (folder / OUT).write_bytes(self._former)
        return folder

    def _fault(self, folder: Path, how: str, at: int) -> Fault:
        whose = "others" if how.startswith(OF_WORKERS) else "first" if how in KILLS else "all"
        return Fault(folder=folder, state=self._folder / "state", how=how.removeprefix(OF_WORKERS), at=at, whose=whose)


def _faults_of_end(case: Case, status: int, said: str, what: str) -> Iterator[str]:
    if "Traceback" in said or "Exception ignored" in said:
        yield f"a traceback: {said}"
    wanted = {-signal.SIGKILL} if case.how in KILLS else PLANNED
    if case.how in DISK_FULL and STORE in what:  # SQLite says no reason: the store that was named cannot be used
        wanted = PLANNED | {2}
    if status not in wanted:
        yield f"ended with {status}: {said}"


def _answers(model: onnx.ModelProto) -> dict[str, np.ndarray]:
    from intarsia.graph.reference.reference import evaluate
    from intarsia.runtime.executors.drawn_feeds import graph_feeds

    graph = load_model(model)
    return dict(evaluate(graph, graph_feeds(graph, seed=3)))


def _check(folder: Path, expected: dict[str, np.ndarray], answered: Path) -> None:
    """The store is sound, and what was compiled runs and agrees."""
    from intarsia.runtime.executors.drawn_feeds import graph_feeds

    with closing(sqlite3.connect(folder / STORE)) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert Store(folder / STORE).records()
    graph = load_model(folder / MODEL)
    with load(folder / OUT) as model:
        found = model(graph_feeds(graph, seed=3))
    assert {name: array.shape for name, array in found.items()} == {name: a.shape for name, a in expected.items()}
    for name, array in expected.items():
        np.testing.assert_allclose(found[name], array, rtol=1e-4, atol=1e-5)
    answered.touch()


def _identity(path: Path) -> tuple[int, int] | None:
    """Changes when a file is replaced."""
    return (path.stat().st_ino, path.stat().st_mtime_ns) if path.exists() else None


def _left(folder: Path) -> list[str]:
    return [str(path.relative_to(folder)) for path in folder.rglob("*") if LEFT.fullmatch(path.name)]


def tell(facts: object) -> None:
    """This is how it answers."""
    print(json.dumps(facts), flush=True)  # noqa: T201


def walk_snapshots(walk: Walk, drawn: random.Random, share: int) -> None:
    """Judge each moment whose folder differs from that of all others."""
    moments = 0
    different: dict[tuple[bool, str], tuple[Case, Snapshot]] = {}
    for has_former in (True, False):
        for snapshot in walk.snapshots(has_former=has_former):
            moments += 1
            case = Case(how=SNAPSHOT, at=moments, has_former=has_former)
            different.setdefault((has_former, snapshot.digest), (case, snapshot))
    tell({"moments": moments, "different": len(different)})
    for case, snapshot in drawn.sample(list(different.values()), share or len(different)):
        tell(walk.judged_snapshot(case, snapshot))


def tell_moments(walk: Walk) -> None:
    """What each moment of a run is."""
    for snapshot in walk.snapshots(has_former=False):
        if snapshot.what != AFTER_ALL:
            tell({"what": snapshot.what})


def compare_moments(walk: Walk, drawn: random.Random, share: int) -> None:
    """The names and sizes at some moments, and after a kill at the same write."""
    befores = [each for each in walk.snapshots(has_former=False) if each.what.startswith("before ")]
    for number in sorted(drawn.sample(range(len(befores)), share)):
        killed = walk.killed(Case(how="before", at=number + 1, has_former=False))
        tell({"what": befores[number].what, "moment": _sizes(befores[number]), "killed": _sizes(killed)})


def _sizes(snapshot: Snapshot) -> list[tuple[str, int]]:
    """Names, with the numbers of processes and files in them counted anew, and sizes."""
    found = sorted((re.sub("[0-9a-f]{8,}|[0-9]+", "#", each.path), len(each.content)) for each in snapshot.entries)
    counts = Counter[str]()
    for place, (name, size) in enumerate(found):
        counts[name] += 1
        found[place] = f"{name} {counts[name]}", size
    return found


def walk_faults(walk: Walk, drawn: random.Random, share: int, kinds: list[str]) -> None:
    """Judge each write with each kind of fault, or so many of those that are reached.

    A process that is short of time writes less than the one that was counted: another case is drawn for each that it
    does not come to.
    """
    counts = {how: walk.count(how) for how in kinds}
    cases = [Case(how=how, at=at, has_former=drawn.random() < 0.5) for how in kinds for at in range(1, counts[how] + 1)]
    tell(counts)
    reached = 0
    for case in drawn.sample(cases, min(MOST_DRAWN * share or len(cases), len(cases))):
        found = walk.judged(case)
        tell(found)
        reached += bool(found["fired"])
        if share and reached == share:
            return


def main() -> None:
    """Draw cases, and tell of each."""
    scenario, folder, seed, share, *kinds = sys.argv[1:]
    walk, drawn = Walk(scenario, Path(folder)), random.Random(int(seed))
    how, _, at = share.rpartition(":")
    if how:
        tell(walk.judged(Case(how=how, at=int(at), has_former=False)))
    elif kinds == ["moments"]:
        tell_moments(walk)
    elif kinds == ["same"]:
        compare_moments(walk, drawn, int(share))
    elif kinds == [SNAPSHOT]:
        walk_snapshots(walk, drawn, int(share))
    else:
        walk_faults(walk, drawn, int(share), kinds)


if __name__ == "__main__":
    main()
