"""Plan files: written, read back, and refused with the line."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from intarsia.config.precision import Precision, Scheme
from intarsia.config.settings import Pipeline, RunSettings, Spin
from intarsia.errors import PlanError
from intarsia.graph.quantise import means_text
from intarsia.partitioning.partitioning import Partition, Partitioning
from intarsia.partitioning.plan_file import PlanFile, dump_plan, parse_plan
from intarsia.target import Target

TARGETS = (Target("onnxruntime -threads=2"), Target("openvino"), Target("ncnn"))
PLAN = """\
version: 1
threads: 2
partitions:
- target: onnxruntime
  nodes:
  - conv_1
  - "relu 2"
- target: openvino
  nodes: [1e3, on, 12]
"""

texts = st.text(min_size=1).filter(lambda text: text.isprintable())
names = texts | st.sampled_from(["null", "~", "no", "1:30", "0x1", "# a", "- b", "a: b", "&a", "é"])
ranges = st.tuples(st.floats(-1e30, 0.0), st.floats(0.0, 1e30))
partitions = st.builds(
    lambda target, nodes: Partition(target=target, nodes=tuple(nodes)),
    st.sampled_from(TARGETS),
    st.lists(names, min_size=1),
)


@st.composite
def reduced_partitions(draw: st.DrawFn) -> Partition:
    """A partition with some of its nodes in less than fp32."""
    part = draw(partitions)
    chosen = draw(st.lists(st.sampled_from(part.nodes), min_size=1, unique=True))
    schemes = {node: draw(st.sampled_from(Scheme)) for node in chosen}
    encoded = st.lists(st.floats(-9.0, 9.0, width=16), max_size=3).map(np.array).map(means_text)
    spans = draw(st.dictionaries(names, ranges, max_size=3))
    means = draw(st.dictionaries(names, encoded, max_size=3))
    return replace(part, precision=Precision.of(schemes, spans, means))


@st.composite
def settings(draw: st.DrawFn, steps: int) -> RunSettings:
    """Settings that a plan of so many steps can have."""
    run = RunSettings(
        threads=draw(st.integers(1, 512)), spin=draw(st.sampled_from(Spin)), instances=draw(st.integers(1, 64))
    )
    match draw(st.sampled_from(["plain", "embed", "parallel", "pipeline"])):
        case "embed":
            return replace(run, embed=True)
        case "parallel":
            return replace(run, parallel=True)
        case "pipeline":
            cut = draw(st.integers(1, steps))
            stages = (cut, steps - cut) if cut < steps else (steps,)
            lanes = draw(st.integers(1, max(1, run.threads // len(stages))))
            indices = st.tuples(*(st.integers(0, 9) for _ in stages)) if lanes == 1 else st.just(())
            pipeline = Pipeline(
                stages=stages,
                threads=(1,) * len(stages),
                lanes=lanes,
                depth=draw(st.integers(1, 99)),
                processors=draw(st.just(()) | indices),
            )
            return replace(run, threads=max(run.threads, pipeline.busy), pipeline=pipeline)
    return run


@given(st.lists(partitions, min_size=1), st.data(), st.none() | texts)
def test_what_is_written_is_read_back(parts: list[Partition], data: st.DataObject, model: str | None) -> None:
    run = data.draw(settings(len(parts)))
    text = dump_plan(Partitioning(partitions=tuple(parts)), run, model=model)
    # A plan that runs piece by piece does not say so: whether another one gains by embedding is measured again.
    assert parse_plan(text) == PlanFile(
        partitions=tuple(parts),
        threads=run.threads,
        spin=run.spin,
        embed=run.embed or None,
        parallel=run.parallel or None,
        pipeline=run.pipeline,
        instances=run.instances if run.instances > 1 else None,
        model=model,
    )


@given(st.lists(partitions | reduced_partitions(), min_size=1), st.floats(1e-6, 0.99))
def test_precisions_are_read_back(parts: list[Partition], max_error: float) -> None:
    text = dump_plan(Partitioning(partitions=tuple(parts)), RunSettings(threads=1, max_error=max_error))
    plan = parse_plan(text)
    assert plan.partitions == tuple(parts)
    assert plan.max_error == max_error


REDUCED = """\
version: 1
max_error: 0.01
partitions:
- target: onnxruntime
  nodes: [conv_1, gemm]
  precision:
    int8-static: [conv_1]
    int8-dynamic: [gemm]
    ranges:
      picture: [-1, 2.5]
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("max_error: 0.01\n", "", "line 3: a plan with 'precision' needs 'max_error'"),
        ("max_error: 0.01", "max_error: 2", "line 2: 'max_error' must be between 0 and 1, not 2"),
        ("max_error: 0.01", "max_error: much", "line 2: 'max_error' must be a number, not 'much'"),
        ("int8-static", "int8-statc", "line 7: a precision has no key 'int8-statc'; did you mean 'int8-static'"),
        ("[conv_1]\n", "[conv_2]\n", "line 7: 'conv_2' is not a node of this partition"),
        ("[gemm]\n", "[conv_1]\n", "is stated twice in this precision"),
        ("[-1, 2.5]", "[3, 2.5]", r"line 10: a range must be \[low, high\]"),
        ("[-1, 2.5]", "[nan, 2.5]", "line 10: an end of a range must be a number, not 'nan'"),
    ],
)
def test_a_precision_that_is_wrong_is_refused_with_its_line(old: str, new: str, message: str) -> None:
    assert parse_plan(REDUCED).partitions[0].precision is not None
    with pytest.raises(PlanError, match=message):
        parse_plan(REDUCED.replace(old, new))


def test_the_written_form_is_plain() -> None:
    plan = Partitioning(partitions=(Partition(target=TARGETS[1], nodes=("conv_1", "12")),))
    lines = dump_plan(plan, RunSettings(threads=2), model="f00d").splitlines()
    assert [line for line in lines if not line.startswith("#")] == [
        "version: 1",
        "model: f00d",
        "threads: 2",
        "spin: call",
        "partitions:",
        "- target: openvino",
        "  nodes:",
        "  - conv_1",
        "  - '12'",
    ]


def test_a_plan_written_by_hand_needs_little() -> None:
    plan = parse_plan(PLAN)
    assert [(str(partition.target), partition.nodes) for partition in plan.partitions] == [
        ("onnxruntime", ("conv_1", "relu 2")),
        ("openvino", ("1e3", "on", "12")),
    ]
    assert (plan.threads, plan.spin, plan.model) == (2, None, None)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("partitions:", "partitions: [", "this is not YAML"),
        (
            "version: 1",
            "version: 2",
            "plan.yaml, line 1: version 2 of the plan format is not supported; write version 1",
        ),
        ("version: 1", "version: one", "line 1: 'version' must be a whole number above zero, not 'one'"),
        ("version: 1\n", "", "line 1: a plan needs 'version'"),
        ("threads: 2", "threads: 0", "line 2: 'threads' must be a whole number above zero, not '0'"),
        ("threads: 2", "threads: " + "9" * 5000, "line 2: 'threads' must be a whole number above zero"),
        ("threads: 2", "threads: [2]", "line 2: 'threads' must be text; this is a list"),
        ("threads: 2", "thread: 2", "line 2: a plan has no key 'thread'; did you mean 'threads'?"),
        ("threads: 2", "spin: nver", "line 2: 'spin' cannot be 'nver'; did you mean 'never'?"),
        ("threads: 2", "embed: yes", "line 2: 'embed' must be true or false, not 'yes'"),
        ("threads: 2", "threads: 2\nthreads: 3", "line 3: 'threads' appears more than once"),
        ("threads: 2", "parallel: 2", "line 2: 'parallel' must be true or false, not '2'"),
        (
            "threads: 2",
            "parallel: true\nembed: true",
            "line 2: 'embed' and 'pa",
        ),
        ("threads: 2", "instances: 0", "line 2: 'instances' must be a whole number above zero, not '0'"),
        ("threads: 2", "instances: 1025", "line 2: 1025 instances: give a number from 1 to 1024"),
        (
            "threads: 2",
            "pipeline: fast",
            "line 2: a pipeline must be a mapping with the keys stages, threads, depth, lanes, processors;",
        ),
        ("threads: 2", "pipeline: {stages: [2], threads: [1]}", "line 2: a pipeline needs 'depth'"),
        (
            "threads: 2",
            "pipeline: {stages: [2], threads: [0], depth: 1}",
            "line 2: each of 'threads' must be a whole number",
        ),
        (
            "threads: 2",
            "pipeline: {stages: [1, 2], threads: [1, 1], depth: 2}",
            "line 2: this pipeline does not fit the plan: its stages have 3 partitions together, but the plan has 2",
        ),
        (
            "threads: 2",
            "pipeline: {stages: [1, 1], threads: [1], depth: 2}",
            "line 2: this pipeline does not fit the plan: it has 2 stages and 1 number of threads",
        ),
        (
            "threads: 2",
            "threads: 2\npipeline: {stages: [2], threads: [1], lanes: 3, depth: 2}",
            "line 3: this pipeline does not fit the plan: its stages have 3 threads together, but the plan has 2",
        ),
        (
            "threads: 2",
            "embed: true\npipeline: {stages: [2], threads: [1], depth: 2}",
            "line 3: 'embed' and 'pipeline'",
        ),
        ("threads: 2", "colour: red", "line 2: a plan has no key 'colour'; it has version, partitions, model"),
        (
            "target: onnxruntime",
            "targets: onnxruntime",
            "line 4: a partition has no key 'targets'; did you mean 'target'?",
        ),
        ("- target: onnxruntime\n ", "-", "line 4: a partition needs 'target'"),
        ("target: openvino", "target: openvin", "plan.yaml, line 8: "),
        ("target: openvino", "target:", "line 8: 'target' must be text; this is nothing"),
        ("[1e3, on, 12]", "[]", "line 9: 'nodes' is empty"),
        ("[1e3, on, 12]", "conv_1", "line 9: 'nodes' must be a list; this is 'conv_1'"),
        ("[1e3, on, 12]", "[{a: b}]", "line 9: a node id must be text; this is a mapping"),
        ("[1e3, on, 12]", "&all [*all]", "line 9: *all repeats the value that it is a part of"),
        (
            "[1e3, on, 12]",
            "[1e3]\n  nodes: [on]",
            "line 10: 'nodes' appears more than once\n    nodes: [on]\n    ^^^^^",
        ),
        ("version: 1", "\x07", "this is not YAML"),
    ],
)
def test_a_wrong_file_is_refused_by_line(old: str, new: str, message: str) -> None:
    assert old in PLAN
    with pytest.raises(PlanError) as caught:
        parse_plan(PLAN.replace(old, new, 1), "plan.yaml")
    assert str(caught.value).startswith("plan.yaml")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "text", ["", "just words", "- a list", "[" * 5000, "a: 1\n---\nb: 2", "!!python/object:os.x {}"]
)
def test_what_is_no_plan_at_all_is_refused(text: str) -> None:
    with pytest.raises(PlanError, match=r"^plan"):
        parse_plan(text)


@given(st.text())
def test_any_text_is_a_plan_or_an_error_of_ours(text: str) -> None:
    with pytest.raises(PlanError):
        parse_plan(text)


def test_the_device_of_a_partition_holds_for_its_nodes() -> None:
    run = RunSettings(threads=2)
    made = Partitioning(
        partitions=(Partition(target=TARGETS[1], nodes=("a", "b")), Partition(target=TARGETS[1], nodes=("c",)))
    )
    devices = {"a": "gpu2", "b": "gpu2", "c": "cuda:0 -target='cuda -arch=sm_80'"}
    text = dump_plan(made, run, devices=devices)
    assert "device: gpu2" in text
    read = parse_plan(text)
    assert (read.partitions, dict(read.devices)) == (made.partitions, devices)
    assert dict(parse_plan(dump_plan(made, run)).devices) == {}
