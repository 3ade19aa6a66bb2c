"""Programs for emulated boards, compared by the instructions that one call executes in QEMU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from intarsia.cost.worker.progress import Progress, Watcher, unwatched
from intarsia.errors import ConfigError
from intarsia.runtime import Artifact
from intarsia.runtime.aot.loading import instructions_of, place_of_program
from intarsia.runtime.executors.drawn_feeds import graph_feeds


def is_emulated(report: Mapping[str, Any]) -> bool:
    """Whether a report is of a program that runs in an emulator here."""
    return bool(report.get("program", {}).get("is_emulated"))


def runs_emulated(artifact: Artifact) -> bool:
    """Whether an artifact runs in an emulator here. Only a program of C may, so no other one's report is read."""
    return artifact.is_source and is_emulated(artifact.report())


def are_emulated(artifacts: Sequence[Artifact]) -> bool:
    """Whether all run in an emulator, so that they are compared by instructions and not by time.

    Raises:
        ConfigError: Some do, and some do not.
    """
    there = [artifact for artifact in artifacts if runs_emulated(artifact)]
    here = [artifact for artifact in artifacts if artifact not in there]
    if there and here:
        raise ConfigError(
            f"{there[0].path} runs in an emulator, which counts instructions, and {here[0].path} on this machine, "
            "where time is measured: compare what runs at one place"
        )
    return bool(there)


def count(artifacts: Sequence[Artifact], seed: int, watch: Watcher = unwatched) -> list[Mapping[str, Any]]:
    """For each artifact where it runs, and how many instructions one call executes on inputs of this seed.

    Raises:
        BackendUnavailableError: A compiler or the emulator is not installed.
        ExecutionError: A program ended badly.
        BackendTimeoutError: One did not end in time.
    """
    rows: list[Mapping[str, Any]] = []
    for number, artifact in enumerate(artifacts):
        watch(Progress(stage="measure", done=number, total=len(artifacts), note=artifact.path.name))
        stored, plan = artifact.build().artifacts[0], artifact.plan
        executed = instructions_of(plan, stored, graph_feeds(artifact.graph(), seed))
        rows.append(
            {
                "name": artifact.path.name,
                "targets": " + ".join(dict.fromkeys(str(step.target) for step in plan.steps)),
                "place": place_of_program(plan, stored).name,
                "instructions": executed,
            }
        )
    return rows
