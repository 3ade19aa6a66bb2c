"""Every case of the onnx package's generator on an engine: what it accepts, and whether its answers are right.

What an engine refuses is run nevertheless: a right answer there is one that its rules give away.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

import numpy as np

from intarsia.backends import registry
from intarsia.planning.engine_set import absence
from intarsia.target import Target
from tests.conformance.arrays import load_arrays, save_arrays
from tests.conformance.node_cases import NodeCase
from tests.conformance.process import SECONDS, EngineProcess
from tests.conformance.together import batches, merged, passed

_ON = "-on-"
FOLDER = Path(__file__).parent / "data" / "engines"
TOGETHER = {"inductor": 32}
"""Engines that take seconds to compile anything: so many accepted cases go into one model. Only what is right there
counts; any other case is run alone, as all cases are on other engines."""


class Outcome(StrEnum):
    """What came of a case."""

    PASSED = "passed"
    """Accepted, and right."""
    FAILED = "failed"
    """Accepted, and then an error or wrong."""
    MISSED = "missed"
    """Refused, though the engine answers rightly."""
    REFUSED = "refused"
    """Refused, and the engine fails or answers wrongly; or what goes in or out is no tensor."""
    NEWER = "newer"
    """Refused, and of an operator set that the engine does not know and that cannot be lowered."""
    UNREAD = "unread"
    """The model is refused before any engine is asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What came of the cases on one engine.

    Attributes:
        engine: Its name; on a device beside the CPU with that behind it, as ``ncnn-on-vulkan``.
        version: Its version.
        outcomes: By the case's name.
        why: Of each failed case, what went wrong.
        given_away: Of each missed case, the refusals. Not on file: they help while rules are written.
    """

    engine: str
    version: str
    outcomes: Mapping[str, Outcome]
    why: Mapping[str, str]
    given_away: Mapping[str, Collection[str]] = field(default_factory=dict)

    @classmethod
    def load(cls, file: Path) -> Self:
        """From the file that `store` wrote."""
        data = json.loads(file.read_text(encoding="utf-8"))
        outcomes = {name: Outcome(outcome) for outcome, names in data["cases"].items() for name in names}
        return cls(engine=file.stem, version=data["version"], outcomes=outcomes, why=data["why"])

    def store(self, folder: Path) -> None:
        """Write a file."""
        cases = {
            outcome.value: [name for name, each in self.outcomes.items() if each is outcome] for outcome in Outcome
        }
        data = {"version": self.version, "cases": cases, "why": dict(self.why)}
        (folder / f"{self.engine}.json").write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


def outcome_of(process: EngineProcess, case: NodeCase, folder: Path) -> tuple[Outcome, str]:
    """What comes of a case on an engine; why it fails, or why it was refused although it does not, a line for each."""
    model, feeds, results = folder / "model.onnx", folder / "feeds.npz", folder / "results.npz"
    model.write_bytes(case.model)
    asked = process.ask({"do": "ask", "model": str(model)})
    if "unread" in asked:
        return Outcome.UNREAD, asked["unread"]
    if "error" in asked:
        return Outcome.FAILED, asked["error"]
    is_refused = bool(asked["refused"])
    refused = Outcome.NEWER if asked["newer"] else Outcome.REFUSED
    if case.inputs is None or case.outputs is None:
        return (refused, "") if is_refused else (Outcome.FAILED, "accepts what is no tensor")
    save_arrays(feeds, case.inputs)
    request = {"do": "run", "anyway": True, "model": str(model), "feeds": [str(feeds)], "results": str(results)}
    answer = process.ask(request)
    why = _fault(answer, case, results)
    if is_refused:
        return (refused, "") if why else (Outcome.MISSED, "\n".join(sorted(set(asked["refused"].values()))))
    return (Outcome.FAILED, why) if why else (Outcome.PASSED, "")


def passed_together(process: EngineProcess, cases: Iterable[NodeCase], folder: Path, size: int) -> set[str]:
    """The accepted cases that are right when they are run in one model with others."""
    model, feeds, results = folder / "model.onnx", folder / "feeds.npz", folder / "results.npz"

    def is_accepted(case: NodeCase) -> bool:
        model.write_bytes(case.model)
        return process.ask({"do": "ask", "model": str(model)}).get("refused") == {}

    found: set[str] = set()
    for batch in batches(filter(is_accepted, cases), size):
        whole = merged(batch)
        model.write_bytes(whole.model)
        save_arrays(feeds, whole.inputs or {})
        request = {"do": "run", "model": str(model), "feeds": [str(feeds)], "results": str(results)}
        if "turns" in process.ask(request, SECONDS * len(batch)):
            found |= passed(batch, _first(results))
    return found


def _first(results: Path) -> dict[str, np.ndarray]:
    """Outputs of the first turn."""
    return {name.removeprefix("0/"): array for name, array in load_arrays(results).items() if name.startswith("0/")}


def _fault(answer: Mapping[str, Any], case: NodeCase, results: Path) -> str:
    if "error" in answer:
        return str(answer["error"])
    return "; ".join(case.faults(_first(results)))


def run(engine: str, cases: Sequence[NodeCase]) -> Record:
    """All cases on one engine, called as records call it."""
    outcomes, why, given_away = {}, {}, {}
    target = target_of(engine)
    with TemporaryDirectory() as folder, EngineProcess(str(target)) as process:
        size = TOGETHER.get(target.kind.name)
        known = passed_together(process, cases, Path(folder), size) if size else set()
        for case in cases:
            is_known = case.name in known
            outcome, reason = (Outcome.PASSED, "") if is_known else outcome_of(process, case, Path(folder))
            outcomes[case.name] = outcome
            if outcome is Outcome.FAILED:
                why[case.name] = reason[:300]
            elif outcome is Outcome.MISSED:
                given_away[case.name] = reason.splitlines()
    version = registry.probe(target.kind.name).version or ""
    return Record(engine=engine, version=version, outcomes=outcomes, why=why, given_away=given_away)


def target_of(engine: str) -> Target:
    """The target that a record is of."""
    name, _, device = engine.partition(_ON)
    return Target({"kind": name, "base": device} if device else name)


def everywhere() -> tuple[str, ...]:
    """What records there may be of: each engine on the CPU, and on each other type of device it was built for."""
    places = ((name, device) for name in registry.names() for device in registry.probe(name).devices or ("cpu",))
    return tuple(name if device == "cpu" else f"{name}{_ON}{device}" for name, device in places)


def usable() -> tuple[str, ...]:
    """Those that can be had here."""
    return tuple(engine for engine in everywhere() if absence(target_of(engine)) is None)


def records(folder: Path = FOLDER) -> tuple[Record, ...]:
    """What is on file, in the order of the registry, an engine's own file first."""
    order = registry.names()
    files = sorted(folder.glob("*.json"), key=lambda file: file.stem)
    known = [file for file in files if file.stem.partition(_ON)[0] in order]
    return tuple(map(Record.load, sorted(known, key=lambda file: order.index(file.stem.partition(_ON)[0]))))
