"""A saved graph for workers, a machine lock of the test's own, and two plug-in engines that misbehave."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from intarsia.backends import registry
from intarsia.cost.timing import clock_calibration
from intarsia.cost.worker import lock
from intarsia.graph import Graph, load_model, save_graph
from intarsia.target.kinds import catalogue
from tests.unit.graph.models import two_layers

FAULTY = Path(__file__).parents[2] / "faulty_engine"
MOODY = Path(__file__).parents[2] / "moody_engine"
NOISY = '''"""The reference engine as a library that prints, and that can get stuck while it compiles."""

import os
import tempfile
import time
from pathlib import Path

from intarsia.backends.reference import ReferenceBackend
from intarsia.target import engine_kind

KIND = engine_kind("noisy", "prints")


class NoisyBackend(ReferenceBackend):
    name = "noisy"

    def compile(self, model, target, settings):
        print("a banner from Python", flush=True)
        os.write(1, b'{"verb": "times", "ms": [1.0]}\\n')
        if "NOISY_STUCK" in os.environ:
            tempfile.mkdtemp(prefix="engine-")
            Path(os.environ["NOISY_STUCK"]).touch()
            time.sleep(3600)
        return super().compile(model, target, settings)
'''
ENTRY_POINTS = """[intarsia.backends]
noisy = intarsia_noisy:NoisyBackend

[intarsia.kinds]
noisy = intarsia_noisy:KIND
"""


@pytest.fixture(autouse=True)
def _own_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "lock_path", lambda: tmp_path / "machine.lock")
    monkeypatch.setattr(clock_calibration, "temporary_cache", lambda: tmp_path)


@pytest.fixture
def plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Installs ``faulty``, which fails on demand, ``noisy``, and ``moody``, which fails as the file ``mood`` says.

    Worker processes find them as well.
    """
    folder = tmp_path / "plug-ins"
    metadata = folder / "intarsia_noisy-0.1.dist-info"
    metadata.mkdir(parents=True)
    (folder / "intarsia_noisy.py").write_text(NOISY, encoding="utf-8")
    (metadata / "entry_points.txt").write_text(ENTRY_POINTS, encoding="utf-8")
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: intarsia-noisy\nVersion: 0.1\n", encoding="utf-8")
    with monkeypatch.context() as patch, catalogue.KINDS.scope():
        patch.syspath_prepend(FAULTY)
        patch.syspath_prepend(MOODY)
        patch.setenv("MOOD", str(tmp_path / "mood"))
        patch.syspath_prepend(folder)
        registry.refresh()
        catalogue._offered.cache_clear()
        yield
    registry.refresh()
    catalogue._offered.cache_clear()


@pytest.fixture(scope="session")
def graph() -> Graph:
    """Two equal blocks of a matrix product and a Relu."""
    return load_model(two_layers())


@pytest.fixture(scope="session")
def saved(graph: Graph, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder a worker is started on; no values are recorded there."""
    folder = tmp_path_factory.mktemp("saved")
    save_graph(graph, folder)
    return folder
