"""Writes the folder of a network that was compiled ahead of time: a project of C that needs nothing of Intarsia."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from intarsia.backends import registry
from intarsia.codegen.exported.folder import HOST, write
from intarsia.codegen.exported.makefile import Machine
from intarsia.codegen.project import Project
from intarsia.errors import BackendUnavailableError
from intarsia.files import disk_errors, place_tree, scratch
from intarsia.runtime.aot.place import place_of
from intarsia.runtime.aot.recording import RECORDED, recorded_of
from intarsia.target import Target

if TYPE_CHECKING:
    from intarsia.runtime.artifact.artifact import Artifact


def export_program(artifact: Artifact, folder: Path, *, has_test: bool = False) -> tuple[Path, ...]:
    """Write the project of an artifact into a folder; a file is there whole or not at all.

    Args:
        artifact: Of a network that was compiled ahead of time.
        folder: Where; it is made if it is not there.
        has_test: Whether a test with recorded inputs and outputs is written too.

    Raises:
        OutputError: The folder cannot be written into.
        DiskError: The disk is full.
    """
    stored = artifact.build().artifacts[0]
    files, place = stored.files, place_of(Target(stored.meta["host"]))
    project = Project.of_files(files)
    machine = HOST if place.is_host else Machine(triple=place.triple, flags=_processor(place.flags), board=place.board)
    facts = dict(artifact.report()["program"])
    recorded = recorded_of(files[RECORDED]) if has_test else None
    with scratch() as draft:
        with disk_errors(draft):
            written = write(project, draft, facts, _licences(project), recorded, machine)
        return place_tree(written, draft, folder)


def _processor(flags: Sequence[str]) -> tuple[str, ...]:
    """Those flags that name the processor."""
    return tuple(each for each in flags if each.startswith("-m"))


def _licences(project: Project) -> dict[str, str]:
    found = {}
    for engine in project.engines:
        try:
            found[engine] = registry.get(engine).licence
        except BackendUnavailableError:
            found[engine] = "as its own package says"
    return found
