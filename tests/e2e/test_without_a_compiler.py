"""An artifact with kernels of our own, where there is no compiler and the cache is empty or cannot be written."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from intarsia.backends import registry
from intarsia.backends.native import bundled_library, library, recipe
from intarsia.config import RunSettings
from intarsia.graph import Graph, load_model
from intarsia.partitioning import Partitioning
from intarsia.runtime import Artifact, build, load_build, plan_of, write_artifact
from intarsia.target import Target
from tests.conformance.boundary_cases import EMBEDDED_OUTPUTS, EMBEDDING_NET
from tests.e2e.conftest import ROOT

pytestmark = [pytest.mark.e2e, pytest.mark.engine]

RUN = """
import sys
import numpy as np
import intarsia
from intarsia.backends.native import library
assert library.find_compiler() is None
assert not library.lack() is None
with intarsia.load(sys.argv[1]) as model:
    np.savez(sys.argv[3], **model(dict(np.load(sys.argv[2]))))
"""
SETTINGS = RunSettings(threads=1)


@pytest.fixture(scope="module")
def graph() -> Graph:
    for name in ("winograd", "ncnn"):
        found = registry.probe(name)
        if not found.usable:
            pytest.skip(f"{name}: {found.reason}")
    return load_model(EMBEDDING_NET.model())


def partitioning(graph: Graph, kind: str) -> tuple[Partitioning, RunSettings]:
    """The whole on our kernels; two of its parts on them; or they hold the parts of another engine in their session."""
    if kind == "alone":
        return Partitioning.of(graph, [(Target("winograd"), frozenset(node.id for node in graph.nodes))]), SETTINGS
    partitions = [[graph.nodes[graph.values[name].producer or 0].id for name in names] for names in EMBEDDED_OUTPUTS]
    rest = [node.id for node in graph.nodes if node.id not in {id_ for partition in partitions for id_ in partition}]
    parts = [
        *((Target("winograd"), frozenset(part)) for part in (rest[:2], rest[2:4], rest[4:])),
        *((Target("ncnn"), frozenset(partition)) for partition in partitions),
    ]
    return Partitioning.of(graph, parts), replace(SETTINGS, embed=kind == "embedded")


def answered(artifact: Path, feeds: Path, cache: Path, folder: Path) -> dict[str, np.ndarray]:
    """What a process answers that has this cache, and nothing on its path."""
    for name in ("bin", "tmp"):
        (folder / name).mkdir()
    environment = {name: value for name, value in os.environ.items() if name not in ("CXX", "HOME")} | {
        "PATH": str(folder / "bin"),
        "TMPDIR": str(folder / "tmp"),
        "XDG_CACHE_HOME": str(cache),
        "PYTHONPATH": str(ROOT / "src"),
    }
    line = [sys.executable, "-c", RUN, str(artifact), str(feeds), str(folder / "y.npz")]
    done = subprocess.run(line, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return dict(np.load(folder / "y.npz"))


@pytest.mark.parametrize("kind", ["alone", "parts", "embedded"])
@pytest.mark.parametrize("cache", ["new", "unwritable"])
def test_it_answers_as_it_did_where_it_was_made(graph: Graph, kind: str, cache: str, tmp_path: Path) -> None:
    ordered, settings = partitioning(graph, kind)
    built = build(graph, plan_of(graph, ordered.partitions, settings))
    artifact, feeds = tmp_path / "m.intarsia", EMBEDDING_NET.feeds("a")
    write_artifact(artifact, graph, built)
    executor = load_build(graph, built)
    want = executor.run(feeds)
    executor.close()
    np.savez(tmp_path / "x.npz", x=feeds["x"])
    home = tmp_path / "cache"
    if cache == "unwritable":
        home.write_text("a file, so that not even root can make folders below it")
    found = answered(artifact, tmp_path / "x.npz", home, tmp_path)
    assert found.keys() == want.keys()
    assert all(np.array_equal(found[name], want[name]) for name in want)
    known = home / "intarsia" / "known-artifacts"  # which files did well
    left = [path.name for path in home.rglob("*") if path.is_file() and path.parent != known]
    assert [name[:8] for name in left] == ([] if cache == "unwritable" else ["carried-"])


def test_the_manifest_says_what_the_library_serves_and_it_is_stored_once(graph: Graph, tmp_path: Path) -> None:
    ordered, settings = partitioning(graph, "parts")
    write_artifact(tmp_path / "m.intarsia", graph, build(graph, plan_of(graph, ordered.partitions, settings)))
    manifest = Artifact(tmp_path / "m.intarsia").manifest
    steps = [number for number, step in enumerate(manifest.steps) if bundled_library.FILE in step.files]
    facts = [manifest.steps[number].meta[bundled_library.FACTS] for number in steps]
    assert len(steps) == 3
    assert all(each == facts[0] for each in facts)
    assert facts[0]["instruction_sets"] == list(library.instruction_sets())
    assert facts[0]["sources"] == recipe.fingerprint()
    entries = [f"steps/{number}/{bundled_library.FILE}" for number in steps]
    assert [manifest.same.get(entry) for entry in entries] == [None, entries[0], entries[0]]
