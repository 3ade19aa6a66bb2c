"""The artifact of a deployed model: the artifacts of its stages in one file, what they are, and the report.

It is a container as any artifact is. Where workers listen is not in it: whoever opens a file from elsewhere would
otherwise connect to where the file says.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from intarsia.deploy.stage_rows import Description, read_description
from intarsia.errors import ArtifactError
from intarsia.files import replacing
from intarsia.runtime.artifact.artifact import report_in
from intarsia.runtime.artifact.container import DEPLOYMENT, Reader
from intarsia.runtime.artifact.container_writing import create

_REPORT: Final = "report.json"
_CHUNK: Final = 1 << 22


def write_deployed(path: Path, description: Description, artifacts: Sequence[Path], report: Mapping[str, Any]) -> None:
    """Write one file of the artifacts of all stages, in their order. It appears whole or not at all."""
    with create(path) as out:
        for stage, artifact in zip(description.stages, artifacts, strict=True):
            with artifact.open("rb") as source, out.open(stage.file) as stream:
                while content := source.read(_CHUNK):
                    stream.write(content)
        out.add(_REPORT, json.dumps(report))
        out.add(DEPLOYMENT, description.json())


class DeployedArtifact:
    """Such a file, read and checked; nothing is loaded.

    Raises:
        ArtifactError: It is damaged, or no artifact of a deployed model.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._reader = Reader(path)
        if DEPLOYMENT not in self._reader.sizes:
            raise ArtifactError(f"{path}: an artifact of one machine; leave out the deployment")
        self.description = read_description(self._reader.read(DEPLOYMENT), path, self._reader.sizes)

    def report(self) -> dict[str, Any]:
        """What the compile that made it reported."""
        return report_in(self._reader)

    def extract(self, folder: Path) -> list[Path]:
        """Write the artifact of each stage into a folder; their paths in the order of the stages."""
        found = []
        for number, stage in enumerate(self.description.stages):
            path = folder / f"stage-{number}.intarsia"
            start, size = self._reader.locate(stage.file)
            with replacing(path, lasts=False) as draft, memoryview(self._reader.buffer) as view:
                draft.write_bytes(view[start : start + size])
            found.append(path)
        return found
