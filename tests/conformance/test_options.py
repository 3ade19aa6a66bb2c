"""No option is ignored in silence: each changes something that can be seen, or a compile remarks that it does not.

What each option of each kind is said to do is on ``docs/options.md``. Here it is stated, and what it does is looked at.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import intarsia
from intarsia.backends import registry
from intarsia.config import CompilationConfig, SearchSettings
from intarsia.config.deployment import Deployment
from intarsia.config.drives import EXECUTORS, RUNTIMES, Executor, Runtime
from intarsia.config.levels import LEVELS
from intarsia.deploy.machines import machines_of
from intarsia.deploy.report import link_remarks
from intarsia.devices import Constraint
from intarsia.errors import IntarsiaError
from intarsia.graph import load_model
from intarsia.planning.effects import NOBODY, NOT_HERE, REFUSED, effects, level_effects
from intarsia.planning.request import Compilation, Request, plan_compilation
from intarsia.remote.actors.node_place import NodePlace
from intarsia.remote.place import WorkerPlace
from intarsia.runtime.aot.place import place_of
from intarsia.runtime.aot.writing import Written, write_project
from intarsia.runtime.cpp.preparing import is_linked
from intarsia.search.streams import pipelines
from intarsia.target import KINDS, Target
from tests.conformance.option_samples import sample
from tests.unit.graph.models import two_layers

ROOT = Path(__file__).parents[2]
ENGINES = [pytest.param(name, marks=pytest.mark.large) if name == "inductor" else name for name in registry.names()]
"""Inductor takes some ten seconds for each of its options."""
SECONDS = 1500
FAR = (("mnn", 10**12),)
"""More than a model has."""
PROGRAM = {"targets": ["c"], "executor": "aot", "runtime": "crt"}
WORKER = {"targets": ["llvm"], "runtime": {"kind": "rpc", "address": "127.0.0.1:1"}}
IN_C = frozenset({"c", "cmsis-nn", "ethos-u"})
"""Kinds that take part in programs in C."""
MADE_HERE = frozenset({"cmsis-nn", "ethos-u"})
"""Engines that compile nothing by themselves: what matters is looked at before their packages are asked."""


@pytest.mark.timeout(SECONDS + 60)
@pytest.mark.parametrize("engine", ENGINES)
def test_an_engine_reads_what_it_says_and_no_more(engine: str) -> None:
    found = registry.probe(engine)
    if not found.usable and engine not in MADE_HERE:
        pytest.skip(found.reason or "it is not here")
    if found.usable and registry.get(engine).reads is None:
        pytest.skip(f"{engine} does not say which options it reads, so a compile remarks on none")
    command = [sys.executable, "-W", "ignore", "-m", "tests.conformance.option_walk", engine]
    paths = (str(ROOT / "src"), str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")]))  # plug-ins lie on their own
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stderr[-3000:]
    rows = json.loads(done.stdout)
    assert {(kind, option) for kind, option, _, _ in rows}
    ignored = [f"{kind} -{option}" for kind, option, is_said, is_seen in rows if is_said and not is_seen]
    assert not ignored, f"{engine} says that it reads these, and nothing changes: {', '.join(ignored)}"
    unsaid = [f"{kind} -{option}" for kind, option, is_said, is_seen in rows if is_seen and not is_said]
    assert not unsaid, f"{engine} reads these, and a compile remarks that it does not: {', '.join(unsaid)}"


@pytest.mark.parametrize("kind", [name for name, kind in KINDS.items() if kind.level != "syntax"])
def test_what_no_engine_reads_is_remarked_and_what_none_serves_is_said(kind: str) -> None:
    """Every option of a kind that nothing reads is in a remark; a kind that nothing serves is missing as a whole."""
    told = effects(KINDS[kind])
    options = {
        name: sample(KINDS[kind], KINDS[kind].options[name]) for name, what in told.items() if what.startswith(NOBODY)
    }
    if all(what.startswith(NOT_HERE) for what in told.values()):
        base = {"base": KINDS[kind].serves[0]} if KINDS[kind].serves else {}
        job = planned({"targets": [{"kind": kind, **base}, "reference"]})
        assert any(kind in absent for absent in job.absent) or job.missing
    elif options:
        stated = {"kind": kind, **options}
        machine: dict[str, object] = {"targets": [stated, "reference"]}
        if kind in IN_C:
            machine = {**PROGRAM, "targets": [stated] if kind == "c" else [stated, "c"]}
        job = planned(machine)
        said = " ".join((*job.remarks, *job.missing))
        assert all(name in said for name in options) or any(kind in absent for absent in job.absent), said


@pytest.mark.parametrize(("level", "kind"), [(level, kind) for level, kinds in LEVELS.items() for kind in kinds])
def test_every_option_of_the_other_levels_changes_something_or_is_refused(level: str, kind: str) -> None:
    told = level_effects(level, LEVELS[level][kind])
    for option in told:
        changed = WALKS[level](kind, option)
        assert changed == ("refused" if told[option] == REFUSED else "changed"), f"{level} {kind} -{option}"


def planned(form: object, **more: Any) -> Compilation:
    """The plan of a small net for a machine of this form."""
    return plan_compilation(Request(model=two_layers(), target=form, **more))


def _of_executor(kind: str, option: str) -> str:
    value = sample(EXECUTORS[kind], EXECUTORS[kind].options[option])
    stated: Mapping[str, object] = {"kind": kind, option: value}
    if kind == "aot":
        usual = {"kind": "aot", **({"unpacked-api": True} if option == "interface-api" else {})}
        return _compared(_files(usual), _files({**usual, **stated}))
    if kind == "pipeline":
        depths = [[each.depth for each in pipelines([1.0, 2.0], 4, Executor(form)["depth"])] for form in (kind, stated)]
        return _compared(*depths)
    return _refused({"targets": ["reference"], "executor": stated})


def _of_runtime(kind: str, option: str) -> str:
    stated = {"kind": kind, option: sample(RUNTIMES[kind], RUNTIMES[kind].options[option])}
    if kind == "crt":
        return _compared(_files({"kind": "aot"}), _files({"kind": "aot"}, Runtime(stated)))
    if kind == "rpc":
        return _of_worker(option)
    if kind == "ray":
        return _of_node(option)
    if kind == "cpp":
        return _compared(_is_in_program(kind), _is_in_program(stated))
    return _refused({"targets": ["reference"], "runtime": stated})


def _is_in_program(runtime: object) -> bool:
    """Whether the artifact of a compile for C++ asks to be linked into the program."""
    target = {"targets": ["onnxruntime"], "runtime": runtime}
    with (
        tempfile.TemporaryDirectory() as folder,
        intarsia.compile(two_layers(), target, budget=1, store=str(Path(folder, "store"))) as compiled,
    ):
        return is_linked(compiled.save(Path(folder, "m.intarsia")))


def _of_worker(option: str) -> str:
    """With each option of a worker another place that is called, or another way of calling it."""
    with tempfile.TemporaryDirectory() as folder:
        files = {word: Path(folder, word) for word in ("one", "other")}
        for word, path in files.items():
            path.write_text(f"-----BEGIN {word}", encoding="ascii")
        usual = {"kind": "rpc", "address": "board:1", "token-file": str(files["one"])}
        others = {"address": "board:2", "token-file": str(files["other"]), "tls-ca": str(files["one"]), "timeout": 7.0}
        stated = {**usual, option: others[option]}
        return _compared(*(WorkerPlace.of_runtime(Runtime(form)) for form in (usual, stated)))


def _of_node(option: str) -> str:
    """With each option of a node of a cluster another one that is looked for, or another way of looking."""
    usual = {"kind": "ray", **({"resource": "one"} if option == "resource" else {"label": "machine=one"})}
    others = {"address": "head:2", "label": "machine=other", "resource": "other", "timeout": 7.0}
    stated = {**usual, option: others[option]}
    return _compared(*(NodePlace.of_runtime(Runtime(form)) for form in (usual, stated)))


def _of_config(kind: str, option: str) -> str:
    """With each option of a configuration another plan, other files, or another remark."""
    usual, stated, more = CONFIGS[option]
    one, other = (planned(form, **more) for form in (usual, stated))
    assert option not in REMARKED or any(option in remark for remark in planned(REMARKED[option]).remarks)
    return _compared(_seen(one), _seen(other))


def _of_deployment(kind: str, option: str) -> str:
    """With other machines these are compiled for; a link, whatever it states, is in a remark."""
    if option == "machines":
        return _compared(*(machines_of(Deployment({"machines": {"here": name}})) for name in ("llvm", "mnn")))
    usual = {"between": ["board", "here"], "bandwidth": 1e9, "latency": 1e-3}
    others = {"between": ["desk", "here"], "bandwidth": 1e6, "latency": 1.0}
    other = others if option == "links" else {**usual, option: others[option]}
    figures = dict.fromkeys(("here", "board", "desk"))
    machines = {"here": "llvm", "board": WORKER, "desk": WORKER}
    stated = [Deployment({"machines": machines, "links": [link]}) for link in (usual, other)]
    return _compared(*(link_remarks(each, figures) for each in stated))


WALKS = {
    "executor": _of_executor,
    "runtime": _of_runtime,
    "config": _of_config,
    "deployment": _of_deployment,
    "link": _of_deployment,
}
_PLACED = {"constraints": (Constraint.node(load_model(two_layers()).nodes[0].id, "here"),)}
CONFIGS: Mapping[str, tuple[Any, Any, Mapping[str, Any]]] = {
    "targets": ({"targets": ["reference"]}, {"targets": ["reference -keys=cpu,other"]}, {}),
    "devices": (
        {"targets": ["reference", "ncnn -base=vulkan"], "devices": {"here": "cpu"}},
        {"targets": ["reference", "ncnn -base=vulkan"], "devices": {"here": "vulkan"}},
        _PLACED,
    ),
    "default_device": (
        {"targets": ["reference", "ncnn -base=vulkan"]},
        {"targets": ["reference", "ncnn -base=vulkan"], "default_device": "vulkan"},
        {},
    ),
    "host": (
        {"targets": ["onnxruntime"]},
        {"targets": ["onnxruntime"], "host": "llvm -fast-math=true"},
        {},
    ),
    "executor": ({"targets": ["reference"]}, {"targets": ["reference"], "executor": "pipeline"}, {}),
    "runtime": ({"targets": ["reference"]}, {"targets": ["reference"], "runtime": "rpc"}, {}),
    "libraries": ({"targets": ["llvm"]}, {"targets": ["llvm"], "libraries": ["tensorrt", "mnn"]}, {}),
}
"""Of each option two configurations that differ in it, and what else is asked for."""
REMARKED: Mapping[str, Any] = {
    "host": {"targets": ["llvm"], "host": "llvm -jit=mcjit"},
    "devices": {"targets": ["reference"], "devices": {"here": "cpu"}},
    "libraries": {"targets": ["llvm"], "libraries": ["tensorrt", "onnxruntime"]},
}
"""Where these say what nothing comes of."""


def _files(executor: Mapping[str, object], runtime: object = "crt") -> Mapping[str, bytes]:
    config = CompilationConfig.of({**PROGRAM, "executor": executor, "runtime": runtime})
    job = planned(config)
    place = place_of(config.host, [Target("c")])
    written = Written(graph=job.graph, partitioning=job.given, config=config, place=place, name="net")
    return write_project(written)[0].files()


def _compared(one: object, other: object) -> str:
    return "changed" if one != other else "nothing"


def _refused(form: object) -> str:
    try:
        return "refused" if planned(form).missing else "nothing"
    except IntarsiaError:
        return "refused"


def _seen(job: Compilation) -> tuple[object, ...]:
    """What is to be seen of a plan, whatever the configuration's own text."""
    executor = job.engine_set.config.executor.kind.name
    targets = tuple(map(str, job.problem.targets))
    return job.plan_text, job.missing, job.devices is None, targets, executor, tuple(job.absent)


@pytest.mark.parametrize("name", ["min_nodes", "min_flops"])
def test_the_least_region_of_a_target_changes_the_plan_or_is_remarked(name: str) -> None:
    """A target that is to have more than the model has gets nothing of it."""
    form = {"targets": ["mnn", "reference"]}
    usual = SearchSettings(partition="greedy")
    least = replace(usual, min_nodes=FAR) if name == "min_nodes" else replace(usual, min_flops=FAR)
    plans = [planned(form, search=search).given for search in (usual, least)]
    kinds = [{part.target.kind.name for part in plan.partitions} for plan in plans]
    if registry.probe("mnn").usable:
        assert "mnn" in kinds[0]
    assert kinds[1] == {"reference"}
    single = planned(form, search=replace(least, partition="single"))
    assert any(remark.startswith(name) for remark in single.remarks)
