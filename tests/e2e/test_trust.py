"""Hostile artifacts, whole and with a right checksum, through every door: nothing that they name runs.

Canaries stand for the code: a program and a library that leave a file where they are run.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

import pytest

import intarsia
from intarsia.errors import ArtifactError, ConfigError, InputError
from intarsia.evaluation.recheck import retime
from intarsia.runtime import Artifact, CompiledModel
from intarsia.runtime.artifact.signature import make_keys
from intarsia.runtime.artifact.trust import POLICY
from tests.artifacts import (
    REPORT,
    Manifest,
    canary_library,
    canary_program,
    changed,
    members,
    repacked,
    retarget,
    written,
)
from tests.cli_fakes import REPORT as WHOLE_REPORT
from tests.cli_fakes import invoke
from tests.unit.graph.models import two_layers

pytestmark = [pytest.mark.e2e]


class Change(Protocol):
    """Puts what the canaries are called into a manifest."""

    def __call__(self, manifest: Manifest, names: Mapping[str, str]) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Canaries:
    """Two partitions of code, and what they leave."""

    program: Path
    library: Path
    sung: tuple[Path, ...]

    @property
    def names(self) -> Mapping[str, str]:
        return {"program": str(self.program), "library": str(self.library), "relative": self.library.name}

    def ran(self) -> list[str]:
        """Those that ran."""
        return [path.name for path in self.sung if path.exists()]


@pytest.fixture
def canaries(tmp_path: Path) -> Canaries:
    program, first = canary_program(tmp_path)
    library, second = canary_library(tmp_path)
    return Canaries(program=program, library=library, sung=(first, second))


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two parts, with all that a report shows."""
    parts = zip(WHOLE_REPORT["partitions"], (["first", "relu"], ["MatMul_2", "Relu_3"]), strict=True)
    report = {**WHOLE_REPORT, "partitions": [{**part, "nodes": nodes} for part, nodes in parts]}
    return written(tmp_path_factory.mktemp("plain") / "m.intarsia", report=report)


def step(target: str, place: int = 1) -> Change:
    def change(manifest: Manifest, names: Mapping[str, str]) -> None:
        retarget(manifest, {place: target.format(**names)})

    return change


def all_steps(target: str) -> Change:
    def change(manifest: Manifest, names: Mapping[str, str]) -> None:
        retarget(manifest, dict.fromkeys(range(len(manifest["steps"])), target.format(**names)))

    return change


def engine(name: str) -> Change:
    def change(manifest: Manifest, names: Mapping[str, str]) -> None:
        manifest["engines"][name.format(**names)] = manifest["engines"]["reference"]

    return change


def bucketed(manifest: Manifest, names: Mapping[str, str]) -> None:
    step("onnxruntime -custom-ops={library}")(manifest, names)
    settings = manifest["settings"]
    manifest["dims"] = {"x": ["n", 32]}
    manifest["buckets"] = [
        {"ranges": {"n": [low, low + 3]}, "sizes": {"n": low}, "settings": settings, "steps": [0, 1]} for low in (1, 5)
    ]


def embedded(manifest: Manifest, names: Mapping[str, str]) -> None:
    step("onnxruntime", 0)(manifest, names)
    step("reference -python={program}")(manifest, names)
    manifest["settings"]["embed"] = True


PLACES: Mapping[str, Change] = {
    "a library of a step": step("onnxruntime -custom-ops={library}"),
    "a library of every step": all_steps("onnxruntime -custom-ops={library}"),
    "a second library of a step": step("onnxruntime -custom-ops={library},{program}"),
    "a relative library": step("onnxruntime -custom-ops={relative}"),
    "an interpreter of a step": step("reference -python={program}"),
    "an interpreter of another engine": step("onnxruntime -python={program}"),
    "an interpreter as JSON": step('{{"kind": "reference", "python": "{program}"}}'),
    "a relative interpreter": step("reference -python=./python"),
    "an interpreter of a host": step("reference -host='reference -python={program}'"),
    "an interpreter of a base": step("onnxruntime -base='llvm -host=\\'reference -python={program}\\''"),
    "an interpreter in the list of engines": engine("onnxruntime@{program}"),
    "a relative interpreter in the list of engines": engine("onnxruntime@./python"),
    "the plan of a bucket": bucketed,
    "a partition inside a session": embedded,
}


def load(path: Path) -> None:
    intarsia.load(path).close()


def session(path: Path) -> None:
    intarsia.InferenceSession(path)


def model(path: Path) -> None:
    with CompiledModel(Artifact(path)) as opened:
        opened.load()


def verb(*line: object) -> Callable[[Path], None]:
    def run(path: Path) -> None:
        done = invoke(*(str(path) if word is ... else str(word) for word in line))
        if done.exit_code:
            assert done.exit_code == 2, done.output
            raise ArtifactError(done.stderr)

    return run


DOORS: Mapping[str, Callable[[Path], None]] = {
    "run": verb("run", ..., "--random"),
    "verify": verb("verify", ...),
    "bench": verb("bench", ..., "--budget", 1),
    "export": verb("export", ..., "out"),
    "report --run": verb("report", ..., "--run", "-o", "page.html"),
    "intarsia.load": load,
    "CompiledModel": model,
    "InferenceSession": session,
}
"""Ways to load an artifact."""
WINDOWS: Mapping[str, Callable[[Path], None]] = {
    "explain": verb("explain", ...),
    "explain --json": verb("explain", ..., "--json"),
    "explain --plan": verb("explain", ..., "--plan"),
    "report": verb("report", ..., "-o", "page.html"),
}
"""Ways to look at one."""


@pytest.mark.parametrize("place", PLACES)
def test_nothing_that_an_artifact_names_runs(
    place: str, canaries: Canaries, plain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = changed(plain, tmp_path / "hostile.intarsia", partial(PLACES[place], names=canaries.names))
    for name, input_spec in DOORS.items():
        with pytest.raises(InputError):
            input_spec(path)
        assert canaries.ran() == [], name
    for name, window in WINDOWS.items():
        with suppress(ArtifactError):  # what is no manifest is not shown either
            window(path)
        assert canaries.ran() == [], name


def test_the_engine_that_a_report_names_is_asked_for(canaries: Canaries, plain: Path, tmp_path: Path) -> None:
    single = {"target": "x", "tuned": f"reference -python={canaries.program}", "latency_ms": 1.0}
    report = {**REPORT, "latency_ms": {"median": 1.0}, "best_single": "x", "singles": [single]}
    hostile = {**members(plain), "report.json": json.dumps(report).encode()}
    opened = Artifact(repacked(tmp_path / "hostile.intarsia", hostile))
    with pytest.raises(ArtifactError, match="its report"):
        retime(opened, 0)
    assert canaries.ran() == []


def test_what_is_allowed_runs(canaries: Canaries, plain: Path, tmp_path: Path) -> None:
    """So the canaries sing: a test in which they do not shows something."""
    for place, path in (("a library of a step", canaries.library), ("an interpreter of a step", canaries.program)):
        hostile = changed(plain, tmp_path / "m.intarsia", partial(PLACES[place], names=canaries.names))
        done = invoke("run", hostile, "--random", "--allow", path)
        assert done.exit_code in (3, 4), done.output
    assert canaries.ran() == ["program-ran", "library-ran"]


def test_one_consent_is_none_for_another(canaries: Canaries, plain: Path, tmp_path: Path) -> None:
    change = partial(PLACES["a second library of a step"], names=canaries.names)
    hostile = changed(plain, tmp_path / "m.intarsia", change)
    done = invoke("run", hostile, "--random", "--allow", canaries.library)
    assert done.exit_code == 2
    assert f"--allow {canaries.program}" in done.stderr
    assert canaries.ran() == []


def test_under_the_policy_a_compile_works_and_its_result_runs_once_it_is_signed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers have the policy too: what the compile made itself is not asked for, and all else is."""
    make_keys(tmp_path / "mine.key", tmp_path / "mine.pub")
    monkeypatch.setenv(POLICY, str(tmp_path / "mine.pub"))
    path, store = tmp_path / "m.intarsia", tmp_path / "r.sqlite"
    model_path = tmp_path / "model.onnx"
    model_path.write_bytes(two_layers().SerializeToString())
    line = ("compile", model_path, "--target", "reference", "--budget", "1", "--store", store, "-o", path)
    assert invoke(*line).exit_code == 0
    for verb_line in (("run", path, "--random"), ("verify", path, "--store", store), ("bench", path, "--budget", "1")):
        done = invoke(*verb_line)
        assert (done.exit_code, "it is not signed" in done.stderr) == (2, True), done.output
    assert invoke("sign", path, "--key", tmp_path / "mine.key").exit_code == 0
    for verb_line in (("run", path, "--random"), ("verify", path, "--store", store), ("bench", path, "--budget", "1")):
        assert invoke(*verb_line).exit_code == 0


def test_under_the_policy_what_was_kept_is_compiled_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def opened() -> None:
        intarsia.InferenceSession(
            two_layers().SerializeToString(), target="reference", partition="single", budget=1, cache=tmp_path / "kept"
        )

    opened()
    make_keys(tmp_path / "mine.key", tmp_path / "mine.pub")
    monkeypatch.setenv(POLICY, str(tmp_path / "mine.pub"))
    opened()
    assert "it is not signed" in caplog.text
    assert "compiled anew" in caplog.text


def test_what_may_be_said_of_an_artifact_is_refused_of_a_model() -> None:
    model = two_layers().SerializeToString()
    for more in ({"allow": "/a/b"}, {"machine_code": False}, {"signed_by": "k.pub"}):
        with pytest.raises(ConfigError, match="and this is a model"):
            intarsia.InferenceSession(model, **more)
