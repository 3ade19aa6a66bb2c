"""Manifests that lie: each number and name is held to the file, to the rest of the manifest, and to the graph."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import intarsia
from intarsia.config import RunSettings, Spin
from intarsia.errors import ArtifactError
from intarsia.graph import Graph, SizeRange, load_model
from intarsia.partitioning import Partition
from intarsia.runtime import Artifact, Bucket, CompiledModel, attach_report, build, plan_of, write_artifact
from intarsia.runtime.artifact.artifact import reading_report
from intarsia.runtime.artifact.container_writing import create
from intarsia.runtime.artifact.trust import Trust
from intarsia.runtime.artifact.writing import write_buckets
from intarsia.target import Target

SETTINGS = RunSettings(threads=1, spin=Spin.NEVER)
WIDTH = 64
Change = Callable[[dict[str, Any]], object]


def _graph(rows: int | str, **more: Any) -> Graph:
    rng = np.random.default_rng(0)
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["m"], "mul"),
        helper.make_node("Add", ["m", "b"], ["a"], "add"),
        helper.make_node("Relu", ["a"], ["y"], "relu"),
    ]
    weights = [
        numpy_helper.from_array(rng.standard_normal((WIDTH, WIDTH)).astype(np.float32), "w"),
        numpy_helper.from_array(rng.standard_normal((20, WIDTH)).astype(np.float32)[:1], "b"),
    ]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [rows, WIDTH]) for name in ("x", "y")]
    proto = helper.make_graph(nodes, "g", ends[:1], ends[1:], weights)
    return load_model(helper.make_model(proto, opset_imports=[helper.make_opsetid("", 21)]), *more.values())


@pytest.fixture(scope="module")
def artifact(tmp_path_factory: pytest.TempPathFactory) -> Path:
    graph, path = _graph(2), tmp_path_factory.mktemp("checks") / "m.intarsia"
    parts = [Partition(target=Target("reference"), nodes=nodes) for nodes in (("mul",), ("add",), ("relu",))]
    write_artifact(path, graph, build(graph, plan_of(graph, parts, SETTINGS)))
    attach_report(path, {})
    return path


@pytest.fixture(scope="module")
def bucketed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    graph, path = _graph("n", sizes={"n": "1..9"}), tmp_path_factory.mktemp("checks") / "n.intarsia"
    plan = plan_of(graph, [Partition(target=Target("reference"), nodes=("mul", "add", "relu"))], SETTINGS)
    ranges = (SizeRange(low=1, high=4), SizeRange(low=5, high=9))
    buckets = [Bucket(ranges={"n": each}, sizes={"n": each.middle}, plan=plan) for each in ranges]
    write_buckets(path, graph, [(each, build(graph, plan)) for each in buckets])
    attach_report(path, {})
    return path


def changed(source: Path, path: Path, change: Change, entry: str = "manifest.json") -> Path:
    """A copy with a changed entry, and the checksum of what it is now."""
    with zipfile.ZipFile(source) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    document = json.loads(entries[entry])
    change(document)
    entries[entry] = json.dumps(document).encode()
    with create(path) as out:
        for name, content in entries.items():
            out.add(name, content)
    return path


def _set(*place: int | str, to: Any) -> Change:
    def change(document: Any) -> None:
        for step in place[:-1]:
            document = document[step]
        document[place[-1]] = to

    return change


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_set("settings", "threads", to=1_000_000), r"\$\.settings\.threads: 1000000 is no number of threads"),
        (_set("settings", "threads", to=0), r"\$\.settings\.threads"),
        (_set("settings", "threads", to=-1), r"\$\.settings\.threads"),
        (_set("settings", "threads", to="2"), r"\$\.settings\.threads: .*integer"),
        (_set("settings", "instances", to=0), r"\$\.settings\.instances: 0 is no number of instances"),
        (_set("settings", "instances", to=10**6), r"\$\.settings\.instances"),
        (_set("settings", "threads", to=True), r"\$\.settings\.threads: .*integer"),
        (_set("settings", "spin", to="always"), r"\$\.settings\.spin"),
        (_set("settings", "max_error", to=float("nan")), r"\$\.settings\.max_error"),
        (_set("settings", "pipeline", to={"stages": [3], "threads": [1], "lanes": 10**6, "depth": 1}), "pipeline"),
        (_set("settings", "pipeline", to={"stages": [3], "threads": [1], "depth": 10**9}), r"pipeline\.depth"),
        (_set("settings", "pipeline", to={"stages": [-1, 4], "threads": [1, 1], "depth": 1}), r"pipeline"),
        (_set("settings", "pipeline", to={"stages": [2], "threads": [1], "depth": 1}), "the plan has 3"),
        (_set("weights", "w", "offset", to=-4096), r"\$\.weights\.w\.offset: .* not inside"),
        (_set("weights", "w", "offset", to=2**40), r"\$\.weights\.w\.offset: .* not inside"),
        (_set("weights", "w", "offset", to=4), r"\$\.weights\.w\.offset"),
        (_set("weights", "w", "offset", to=1.5), r"\$\.weights\.w\.offset: .*integer"),
        (_set("weights", "w", "nbytes", to=2**20), r"\$\.weights\.w\.nbytes"),
        (_set("weights", "w", "nbytes", to=-1), r"\$\.weights\.w\.nbytes"),
        (_set("weights", "w", "shape", to=[WIDTH, 16 * WIDTH]), r"\$\.weights\.w\.nbytes"),
        (_set("weights", "w", "shape", to=[-WIDTH, -WIDTH]), r"\$\.weights\.w\.shape\[0\]"),
        (_set("weights", "w", "shape", to=[2**62, 4]), r"\$\.weights\.w\.shape"),
        (_set("weights", "w", "dtype", to="object"), r"\$\.weights\.w\.dtype"),
        (_set("weights", "w", "dtype", to="string"), r"\$\.weights\.w\.dtype"),
        (_set("weights", "w", "dtype", to="V16"), r"\$\.weights\.w\.dtype"),
        (_set("weights", "w", to=None), r"\$\.weights\.w"),
        (
            _set("steps", 1, "inputs", 0, "shape", to=[4, WIDTH]),
            r"\$\.steps\[1\]\.inputs\[0\]: nothing before it makes",
        ),
        (_set("steps", 0, "outputs", 0, "shape", to=[32, WIDTH]), r"\$\.steps\[1\]\.inputs\[0\]"),
        (_set("steps", 0, "outputs", 0, "dtype", to="float64"), r"\$\.steps\[1\]\.inputs\[0\]"),
        (_set("steps", 0, "inputs", 0, "name", to="y"), r"\$\.steps\[0\]\.inputs\[0\]"),
        (_set("steps", 1, "outputs", 0, "name", to="m"), r"\$\.steps\[1\]\.outputs\[0\]: 'm' is there already"),
        (_set("steps", 0, "files", to=["../../etc/passwd"]), r"\$\.steps\[0\]\.files\[0\]"),
        (_set("steps", 0, "weights", to=["nothing"]), r"\$\.steps\[0\]\.weights\[0\]"),
        (_set("steps", 0, "nodes", to=[]), r"\$\.steps\[0\]\.nodes"),
        (_set("steps", 0, "target", to="no-such-engine"), r"\$\.steps\[0\]\.target"),
        (_set("steps", 0, "target", to="openvino"), r"\$\.engines: 'openvino'"),
        (_set("steps", 0, "precision", to={"schemes": 3}), r"\$\.steps\[0\]\.precision"),
        (_set("steps", to=[]), r"\$\.steps: there are none"),
        (_set("steps", to={}), r"\$\.steps"),
        (_set("steps", 0, to=None), r"\$\.steps\[0\]"),
        (_set("inputs", 0, "shape", to=[2**62, 2**62]), r"\$\.inputs\[0\]\.shape"),
        (_set("inputs", 0, "shape", to=[-2, WIDTH]), r"\$\.inputs\[0\]\.shape\[0\]: -2"),
        (_set("inputs", 0, "shape", to=[1] * 70), r"\$\.inputs\[0\]\.shape: a rank of 70"),
        (_set("outputs", 0, "name", to="other"), r"\$\.outputs\[0\]"),
        (_set("engines", to={}), r"\$\.engines: 'reference'"),
        (_set("engines", "openvino", to={"version": "1", "licence": "x"}), r"\$\.engines: 'openvino' is only here"),
        (_set("same", to={"steps/0/model.onnx": "/etc/passwd"}), r"\$\.same"),
        (_set("machine", "cores", to=-1), r"\$\.machine\.cores"),
        (_set("version", to=99), "artifact format 99, this Intarsia reads 2"),
        (_set("version", to=[]), r"\$\.version"),
        (_set("surplus", to=1), r"\$\.surplus"),
        (_set("buckets", to=[{}]), r"\$\.buckets\[0\]\.ranges"),
        (lambda document: document.clear(), r"\$\.version"),
    ],
)
def test_a_manifest_that_lies_is_refused_with_the_place(
    artifact: Path, tmp_path: Path, change: Change, words: str
) -> None:
    with pytest.raises(ArtifactError, match=words) as caught:
        Artifact(changed(artifact, tmp_path / "m.intarsia", change))
    assert str(tmp_path / "m.intarsia") in str(caught.value)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_set("buckets", 0, "steps", to=[-1]), r"\$\.buckets\[0\]\.steps: there is no step -1"),
        (_set("buckets", 0, "steps", to=[7]), r"\$\.buckets\[0\]\.steps: there is no step 7"),
        (_set("buckets", 0, "steps", to=[]), r"\$\.buckets\[0\]\.steps"),
        (_set("buckets", 0, "steps", to=[0, 0]), r"\$\.buckets\[0\]\.steps"),
        (_set("buckets", 0, "ranges", "n", to=[4, 1]), r"\$\.buckets\[0\]\.ranges\.n: 4\.\.1"),
        (_set("buckets", 0, "ranges", "n", to=[-4, 4]), r"\$\.buckets\[0\]\.ranges\.n"),
        (_set("buckets", 0, "ranges", to={}), r"\$\.buckets\[0\]\.ranges: the open dimensions are n"),
        (_set("buckets", 0, "sizes", "n", to=2**62), r"\$\.buckets\[0\]\.sizes\.n"),
        (_set("buckets", 1, "settings", "threads", to=10**6), r"\$\.buckets\[1\]\.settings\.threads"),
        (_set("dims", "x", to=["n", -1]), r"\$\.dims\.x\[1\]"),
        (_set("dims", "other", to=["n"]), r"\$\.dims\.other"),
    ],
)
def test_buckets_that_lie_are_refused(bucketed: Path, tmp_path: Path, change: Change, words: str) -> None:
    with pytest.raises(ArtifactError, match=words):
        Artifact(changed(bucketed, tmp_path / "m.intarsia", change))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_set("steps", 0, "meta", "inputs", to="x"), r"\$\.steps\[0\]\.meta\.inputs"),
        (_set("steps", 0, "meta", "inputs", 0, 2, 0, to=4), r"\$\.steps\[0\]\.meta\.inputs: these are not the inputs"),
        (_set("steps", 0, "meta", "inputs", 0, 2, 0, to="4"), r"\$\.steps\[0\]\.meta\.inputs\[0\]"),
        (_set("steps", 0, "meta", "outputs", to=[]), r"\$\.steps\[0\]\.meta\.outputs: these are not the outputs"),
        (_set("steps", 0, "meta", to={}), r"\$\.steps\[0\]\.meta\.inputs"),
        (_set("steps", 0, "meta", "own_weights", to={"rows": 3}), r"\$\.steps\[0\]\.meta\.own_weights\.rows"),
    ],
)
def test_what_an_engine_kept_is_checked_before_it_is_handed_over(
    artifact: Path, tmp_path: Path, change: Change, words: str
) -> None:
    model = CompiledModel(Artifact(changed(artifact, tmp_path / "m.intarsia", change), Trust.of(trusted=True)))
    with model, pytest.raises(ArtifactError, match=words):
        model.load()


def _longer(document: dict[str, Any]) -> None:
    """Every border, alike: only the graph tells that it is not so."""
    rows = [row for step in document["steps"] for side in ("inputs", "outputs") for row in step["meta"][side]]
    borders = [*document["inputs"], *document["outputs"]]
    borders += [border for step in document["steps"] for side in ("inputs", "outputs") for border in step[side]]
    for border in borders:
        border["shape"][0] *= 16
    for row in rows:
        row[2][0] *= 16


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_longer, r"\$\.inputs: the graph has others there"),
        (_set("steps", 0, "nodes", to=["nothing"]), r"\$\.steps\[0\]\.nodes\[0\]: the graph has no node"),
        (_set("steps", 0, "nodes", to=["relu"]), r"\$\.steps: a node of the graph is in two"),
        (_set("weights", "w", "shape", to=[WIDTH * 2, WIDTH // 2]), r"\$\.weights\.w: the graph has no weight"),
    ],
)
def test_a_file_from_elsewhere_is_held_to_its_graph(artifact: Path, tmp_path: Path, change: Change, words: str) -> None:
    path = changed(artifact, tmp_path / "m.intarsia", change)
    with pytest.raises(ArtifactError, match=words):
        intarsia.load(path)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"version": ' * 50_000, "NaN", '"\\ud800"', "", "{", "[]", "3"])
def test_json_that_is_none_is_refused(artifact: Path, tmp_path: Path, text: str) -> None:
    for entry in ("manifest.json", "report.json"):
        with zipfile.ZipFile(artifact) as archive:
            entries = {name: archive.read(name) for name in archive.namelist()}
        with create(tmp_path / "m.intarsia") as out:
            for name, content in (entries | {entry: text.encode()}).items():
                out.add(name, content)
        with pytest.raises(ArtifactError, match="is not understood"):
            Artifact(tmp_path / "m.intarsia").report()


def test_a_report_without_its_fields_is_told(artifact: Path) -> None:
    report = Artifact(artifact).report()
    with (
        pytest.raises(ArtifactError, match="its report is not understood: KeyError: 'plans'"),
        reading_report(artifact),
    ):
        report["plans"]
