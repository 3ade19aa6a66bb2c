"""Walks a fault over the writes of a program, in processes of its own: ``python -m tests.disk.walked``.

    LD_PRELOAD=faults.so python -m tests.disk.walked (parts | compile) FOLDER SEED SHARE [all]

SHARE is how many cases are drawn; 0 means every write and every kind of fault. With ``all``, faults come in worker
processes as well. One line of JSON for each case; its ``faults`` are empty if all is as it must be.
"""

from __future__ import annotations

import atexit
import json
import os
import random
import re
import shutil
import signal
import sqlite3
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx

from intarsia.cli.main import cli
from intarsia.config import RunSettings, Spin
from intarsia.cost.records.record import Key
from intarsia.cost.records.records_file import export_records
from intarsia.cost.records.store import Store
from intarsia.cost.worker.workspace import Workspace
from intarsia.errors import ArtifactError, IntarsiaError
from intarsia.files import disk_errors, replace_file, save_array
from intarsia.graph import load_model, save_graph
from intarsia.partitioning import Partition
from intarsia.runtime import (
    Artifact,
    CompiledModel,
    attach_report,
    build,
    export,
    load,
    plan_of,
    random_feeds,
    write_artifact,
)
from intarsia.runtime.compiled_partitions import CompiledPartitions
from intarsia.target import Target
from tests.disk.library import DISK_FULL, KILLS, Fault
from tests.unit.graph.models import two_layers

LEFT = re.compile(r"\.?(intarsia-)?\d+-[0-9a-f]{8}(\.tmp)?|tmp\w{8}|\.build-.*|\.carried-.*")
"""Names of what is there for a while: of ours, and of Python's."""
PLANNED = frozenset({0, 4})
"""Exit codes of a command on a full disk: done all the same, or told."""
ENGINE, OUT, STORE, MODEL = "reference", "out.intarsia", "store.sqlite", "model.onnx"


def parts(folder: Path) -> None:
    """Everything that a compile writes and a few other verbs do, in this process and without measuring."""
    graph = load_model(folder / MODEL)
    store = Store(folder / STORE)
    work = Workspace(store)
    try:
        with disk_errors(folder):
            save_graph(graph, work.folder)
            work.compute_reference(graph, set(), seed=0)
            store.put("partition", Key(facts={"of": "a piece"}), {"samples_ms": [1.0]}, {})
            partition = Partition(target=Target(ENGINE), nodes=tuple(node.id for node in graph.nodes))
            plan = plan_of(graph, [partition], RunSettings(threads=1, spin=Spin.NEVER))
            artifact = work.folder / "chosen.intarsia"
            write_artifact(artifact, graph, build(graph, plan, CompiledPartitions(work.folder / "compiled")))
            attach_report(artifact, {"search": {}})
            work.keep_only(artifact)
        with CompiledModel(Artifact(artifact), on_close=work.remove) as model:
            model.save(folder / OUT)
            for name, array in model(random_feeds(model.inputs, seed=0)).items():
                save_array(folder / f"{name}.npy", array)
            replace_file(folder / "page.html", b"<html>" * 1000)
            export_records(store, folder / "records.jsonl")
            export(model, folder / "exported")
    finally:
        work.remove()


def compiled(folder: Path) -> None:
    """The command, with an engine that is here wherever we are."""
    line = ("compile", folder / MODEL, "--target", ENGINE, "--threads", 1, "--budget", 1)
    cli.main([*map(str, (*line, "--store", folder / STORE, "-o", folder / OUT))])


SCENARIOS: dict[str, Callable[[Path], None]] = {"parts": parts, "compile": compiled}


@dataclass(frozen=True)
class Case:
    """A fault at one write, in a folder with an artifact of an earlier day or without."""

    how: str
    at: int
    has_former: bool


class Walk:
    """Runs a scenario with faults, and judges what is left each time."""

    def __init__(self, scenario: str, folder: Path, whose: str) -> None:
        self._scenario = SCENARIOS[scenario]
        self._folder = folder
        self._whose = whose
        self._log = folder / "log"
        model = two_layers()
        self._model = model.SerializeToString()
        self._expected = _answers(model)
        self._former = self._made()

    def count(self, how: str) -> int:
        """How many writes there are."""
        case = self._prepared(Case(how=how, at=0, has_former=False))
        fault = self._fault(case, how, 0)
        status = self._run(fault, self._scenario, case)
        assert status == 0, self._log.read_text(errors="replace")
        return fault.seen().count

    def judged(self, case: Case) -> dict[str, object]:
        """What came of a case."""
        folder = self._prepared(case)
        fault = self._fault(folder, case.how, case.at)
        status = self._run(fault, self._scenario, folder)
        seen, said = fault.seen(), self._log.read_text(errors="replace")
        found = []
        if seen.fired:
            found += list(self._faults_of_end(case, status, said, seen.what))
        found += [f"left over: {path}" for path in _left(folder)] if case.how in DISK_FULL else []
        found += self._faults_of_artifact(case, folder)
        again = self._run(None, self._scenario, folder)
        if again != 0:
            found.append(f"the next one ended with {again}: {self._log.read_text(errors='replace')[-2000:]}")
        else:
            found += self._run_checks(folder)
        found += [f"left over by the next one: {path}" for path in _left(folder)]
        return {**vars(case), "fired": seen.fired, "what": seen.what, "status": status, "faults": found}

    def _faults_of_end(self, case: Case, status: int, said: str, what: str) -> Iterator[str]:
        if "Traceback" in said or "Exception ignored" in said:
            yield f"a traceback: {said[-2000:]}"
        wanted = {-signal.SIGKILL} if case.how in KILLS and self._whose == "first" else PLANNED | {-signal.SIGKILL}
        if case.how in DISK_FULL:
            wanted = PLANNED
        if case.how in DISK_FULL and STORE in what:  # SQLite says no reason: the store that was named cannot be used
            wanted = PLANNED | {2}
        if status not in wanted:
            yield f"ended with {status}: {said[-2000:]}"

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
        found: list[str] = []
        answered = folder.parent / "answered"
        answered.unlink(missing_ok=True)
        if self._run(None, lambda place: _check(place, self._expected, answered), folder) != 0:
            found.append(self._log.read_text(errors="replace")[-2000:])
        elif not answered.exists():
            found.append("what was compiled was not run")
        return found

    def _made(self) -> bytes:
        folder = self._prepared(None)
        status = self._run(None, self._scenario, folder)
        assert status == 0, self._log.read_text(errors="replace")
        return (folder / OUT).read_bytes()

    def _prepared(self, case: Case | None) -> Path:
        folder = self._folder / "case"
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "tmp").mkdir(parents=True)
        (folder / MODEL).write_bytes(self._model)
        if case is not None and case.has_former:
            (folder / OUT).write_bytes(self._former)
        return folder

    def _fault(self, folder: Path, how: str, at: int) -> Fault:
        return Fault(folder=folder, state=self._folder / "state", how=how, at=at, whose=self._whose)

    def _run(self, fault: Fault | None, scenario: Callable[[Path], None], folder: Path) -> int:
        """Exit code of a scenario in a process of its own; that of a signal is negative."""
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            os._exit(self._as_child(fault, scenario, folder))
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    def _as_child(self, fault: Fault | None, scenario: Callable[[Path], None], folder: Path) -> int:
        log = os.open(self._log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(log, 1)
        os.dup2(log, 2)
        tempfile.tempdir = None
        os.environ |= {"TMPDIR": str(folder / "tmp"), "XDG_CACHE_HOME": str(folder / "cache")}
        code = 1
        try:
            if fault is not None:
                fault.begin()
            scenario(folder)
            code = 0
        except SystemExit as end:
            code = int(end.code or 0)
        except IntarsiaError as error:
            code = error.exit_code
            print(f"{type(error).__name__}: {error}", file=sys.stderr)  # noqa: T201 - the log of the case
        except BaseException:
            traceback.print_exc()
        finally:
            atexit._run_exitfuncs()
            sys.stdout.flush()
        return code


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


def _left(folder: Path) -> list[str]:
    return [str(path.relative_to(folder)) for path in folder.rglob("*") if LEFT.fullmatch(path.name)]


def main() -> None:
    """Draw cases, and tell of each; a SHARE as ``full:12`` is that one case."""
    scenario, folder, seed, share, *more = sys.argv[1:]
    walk = Walk(scenario, Path(folder), "all" if more else "first")
    counts = {"full": walk.count("full"), "before": walk.count("before")}
    drawn = random.Random(int(seed))
    cases = [
        Case(how=how, at=at, has_former=drawn.random() < 0.5)
        for how in (*DISK_FULL, *KILLS)
        for at in range(1, counts["full" if how in DISK_FULL else "before"] + 1)
    ]
    drawn.shuffle(cases)
    print(json.dumps(counts), flush=True)  # noqa: T201 - this is how it answers
    how, _, at = share.rpartition(":")
    if how:
        cases, share = [Case(how=how, at=int(at), has_former=False)], "1"
    for case in cases[: int(share) or None]:
        print(json.dumps(walk.judged(case)), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
