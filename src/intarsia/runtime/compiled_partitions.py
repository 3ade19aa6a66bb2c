"""What engines compiled, kept in a folder while one compile of a model lasts, so that nothing is compiled twice.

Measuring a partition, measuring it behind another, and building the artifact are done by different processes.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from pathlib import Path

from intarsia.backends.contract import Backend, EngineArtifact
from intarsia.config.settings import RunSettings
from intarsia.files import place_folder
from intarsia.runtime.plan import Step

_FACTS = "artifact.json"


class CompiledPartitions:
    """Engine artifacts by engine and nodes; options are part of the key for engines that compile by them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get(self, backend: Backend, step: Step, settings: RunSettings) -> tuple[EngineArtifact, float] | None:
        """What was compiled before, and the seconds that it took."""
        place = self._place(backend, step, settings)
        try:
            facts = json.loads((place / _FACTS).read_text(encoding="utf-8"))
            files = {name: (place / str(index)).read_bytes() for index, name in enumerate(facts["files"])}
        except FileNotFoundError:
            return None
        artifact = EngineArtifact(files=files, weights=tuple(facts["weights"]), meta=facts["meta"])
        return artifact, facts["seconds"]

    def put(
        self, backend: Backend, step: Step, settings: RunSettings, artifact: EngineArtifact, seconds: float
    ) -> None:
        """Keep it; the folder appears whole. Without room for it, it is compiled again when it is wanted."""
        place = self._place(backend, step, settings)
        facts = {"files": list(artifact.files), "weights": artifact.weights, "meta": artifact.meta, "seconds": seconds}
        contents = [*artifact.files.values(), json.dumps(facts).encode()]
        names = [*map(str, range(len(artifact.files))), _FACTS]
        with suppress(OSError):  # the disk is full, or another process was first, with the same content
            place.parent.mkdir(parents=True, exist_ok=True)
            place_folder(place, dict(zip(names, contents, strict=True)))

    def _place(self, backend: Backend, step: Step, settings: RunSettings) -> Path:
        key: list[object] = [backend.name, sorted(step.nodes)]
        if not backend.traits.compiles_once:
            key += [step.target.key, settings.threads, settings.spin.value]
        key += [[name, step.target[name]] for name in backend.traits.compiled_by if name in step.target.options]
        if step.precision is not None:
            key.append(step.precision.facts())
        return self._folder / hashlib.sha256(json.dumps(key).encode()).hexdigest()[:32]
