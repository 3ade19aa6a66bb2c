"""Writes a network as one engine's own files, so that the engine can be called directly.

``python -m benchmarks.engine_files ARTIFACT TARGET THREADS SPIN FOLDER`` takes the normalised graph out of any artifact
of the network. In a process of its own: a converter that crashes ends nothing else.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from intarsia.backends import registry
from intarsia.config import RunSettings, Spin
from intarsia.graph import extract
from intarsia.runtime import Artifact
from intarsia.target import Target

PATIENCE_S = 120.0


def write(artifact: Path, target: str, settings: RunSettings, folder: Path) -> bool:
    """Write the files of ``target`` in a process of its own, and say whether that went well."""
    told = (str(settings.threads), settings.spin.value, str(folder))
    command = [sys.executable, "-m", "benchmarks.engine_files", str(artifact), target, *told]
    try:
        return subprocess.run(command, capture_output=True, timeout=PATIENCE_S, check=False).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def main() -> None:
    """Write the engine's files, and the names of the outputs in the model's order."""
    artifact, text, threads, spin, place = sys.argv[1:]
    target, folder = Target(text), Path(place)
    graph = Artifact(Path(artifact)).graph()
    model = extract(graph, (node.id for node in graph.nodes))
    folder.mkdir(parents=True, exist_ok=True)
    registry.get(target.kind.name).export(model, target, RunSettings(threads=int(threads), spin=Spin(spin)), folder)
    (folder / "outputs.json").write_text(json.dumps(list(graph.outputs)), encoding="utf-8")


if __name__ == "__main__":
    main()
