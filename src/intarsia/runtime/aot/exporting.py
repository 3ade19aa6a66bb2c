"""Writes the folder of a network that was compiled ahead of time: a project of C that needs nothing of Intarsia."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from intarsia.backends import registry
from intarsia.codegen.folder import write
from intarsia.codegen.project import Project
from intarsia.errors import BackendUnavailableError
from intarsia.files import disk_errors, make_folder, place_file, scratch
from intarsia.runtime.aot.recording import RECORDED, recorded_of

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
    files = artifact.build().artifacts[0].files
    project = Project.of_files(files)
    facts = dict(artifact.report()["program"])
    recorded = recorded_of(files[RECORDED]) if has_test else None
    with scratch() as draft:
        with disk_errors(draft):
            written = write(project, draft, facts, _licences(project), recorded)
        make_folder(folder)
        sizes = {path: path.stat().st_size for path in written}
        for path in sorted(written, key=sizes.__getitem__, reverse=True):  # what there may be no room for goes first
            place_file(path, folder / path.name)
    return tuple(folder / path.name for path in written)


def _licences(project: Project) -> dict[str, str]:
    found = {}
    for engine in project.engines:
        try:
            found[engine] = registry.get(engine).licence
        except BackendUnavailableError:
            found[engine] = "as its own package says"
    return found
