"""Raises every error that Intarsia has, for ``docs/errors.md``: ``python -m tests.docs.raised`` prints them as JSON.

It runs in a process and a folder of its own, with the engine that fails on demand installed: some examples end workers.
"""

from __future__ import annotations

import json
import os
import re
import socket
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any
from unittest.mock import patch

import numpy as np
import onnx

import intarsia
import intarsia.onnxruntime
from intarsia.addresses import Address
from intarsia.config import RunSettings, Spin
from intarsia.cost import measure
from intarsia.cost.thresholds import PATIENCE
from intarsia.cost.worker.neighbours import Neighbours
from intarsia.errors import IntarsiaError, Interrupted
from intarsia.graph import load_model
from intarsia.partitioning import Partition
from intarsia.remote.actors.node_place import NodePlace
from intarsia.remote.client import Worker
from intarsia.remote.listening import Listener, Listening
from intarsia.remote.place import WorkerPlace
from intarsia.remote.verbs import load_on
from intarsia.runtime import attach_report, build, plan_of, write_artifact
from tests.fake_ray import FakeRay, RayActorError
from tests.unit.graph.models import model, two_layers

INSIST = 'intarsia.compile("model.onnx", target="faulty -mode={}")'
EXAMPLES: Mapping[str, str] = MappingProxyType(
    {
        "SpecError": 'intarsia.Target("llvm -mcpu=haswell -thread=2")',
        "ConfigError": 'intarsia.compile("model.onnx", partition="manual")',
        "ModelError": 'intarsia.compile("open.onnx")',
        "FeedError": 'model({"data": np.zeros((4, 32), np.float32)})',
        "PlanError": 'intarsia.compile("model.onnx", partition="manual", plan="plan.yaml")',
        "ArtifactError": 'intarsia.load("cut.intarsia")',
        "OutputError": 'model.save("folder")',
        "ClosedError": 'closed({"x": np.zeros((4, 32), np.float32)})',
        "UnsupportedError": "intarsia.onnxruntime.LoraAdapter",
        "BackendUnavailableError": 'intarsia.load("model.intarsia").load()',
        "MissingStageError": 'intarsia.compile("model.onnx", target="ncnn -python=/opt/none/bin/python")',
        "CompileError": INSIST.format("refused-compile"),
        "LoadError": INSIST.format("refused-load"),
        "ExecutionError": INSIST.format("raise"),
        "BackendTimeoutError": INSIST.format("hang"),
        "BackendCrashError": INSIST.format("segfault"),
        "MemoryLimitError": 'intarsia.compile("model.onnx", "reference", partition="greedy", max_memory="1kB")',
        "LatencyLimitError": (
            'intarsia.compile("model.onnx", "reference", partition="greedy", threads=1, objective="throughput", '
            "max_latency=1e-6)"
        ),
        "DiskError": 'model.save("/dev/full")',
        "NoCoverError": 'intarsia.compile("strings.onnx", target="ncnn")',
        "WorkerTokenError": 'intarsia.compile("model.onnx", on(a_worker, token="another"))',
        "WorkerVersionError": 'intarsia.compile("model.onnx", on(an_old_worker))',
        "WorkerUnreachableError": 'intarsia.compile("model.onnx", on(no_worker))',
        "WorkerDiedError": "a_killed_worker.devices()",
        "WorkerTimeoutError": 'intarsia.compile("model.onnx", on(a_silent_door))',
        "WorkerShutdownError": "an_ending_worker.devices()",
        "MachineDiedError": "a_model_on_a_node_that_dies(x=np.zeros((4, 32), np.float32))",
        "MismatchError": 'intarsia.compile("model.onnx", target="faulty -mode=wrong", strict=True)',
        "Interrupted": 'intarsia.compile("model.onnx", progress=press_ctrl_c)',
    }
)
"""A line that raises each class. ``faulty`` stands for any engine that fails so."""
ABSENT, SLOW = "BackendUnavailableError", "BackendTimeoutError"
PLAN = "version: 1\nthreads: 1\nspin: call\npartitions:\n- target: onnxruntime\n  nodes: [first, relu]\n"
SHORT = replace(PATIENCE, partition_s=2.0)


def raised() -> dict[str, dict[str, Any]]:
    """What each example ends with. The current folder is filled with the files that the examples name."""
    Path("model.onnx").write_bytes(two_layers().SerializeToString())
    Path("open.onnx").write_bytes(_relu(onnx.TensorProto.FLOAT, ("batch", 4)))
    Path("strings.onnx").write_bytes(_relu(onnx.TensorProto.STRING, (4,)))
    Path("plan.yaml").write_text(PLAN, encoding="utf-8")
    _build("onnxruntime", Path("model.intarsia"))
    Path("folder").mkdir()
    whole = Path("model.intarsia").read_bytes()
    Path("cut.intarsia").write_bytes(whole[: len(whole) // 2])
    with intarsia.load("model.intarsia") as compiled, _workers() as workers:
        closed = intarsia.load("model.intarsia")
        closed.close()
        names = {"intarsia": intarsia, "np": np, "model": compiled, "closed": closed, "press_ctrl_c": _press_ctrl_c}
        names |= workers | {"a_model_on_a_node_that_dies": _on_a_dying_node()}
        found = {name: _raised(line, names) for name, line in EXAMPLES.items() if name not in (ABSENT, SLOW)}
        with patch.object(measure, "PATIENCE", SHORT), patch.object(Neighbours, "were_busy", lambda _: False):
            found[SLOW] = _raised(EXAMPLES[SLOW], names)
        with patch("intarsia.backends.package_probe.util.find_spec", lambda _: None):
            found[ABSENT] = _raised(EXAMPLES[ABSENT], names)
    return {name: found[name] for name in EXAMPLES}


def _build(engine: str, path: Path) -> None:
    """Write the model on one engine, without measuring anything."""
    graph = load_model(two_layers())
    part = Partition(target=intarsia.Target(engine), nodes=tuple(graph.position))
    plan = plan_of(graph, [part], RunSettings(threads=1, spin=Spin.NEVER))
    write_artifact(path, graph, build(graph, plan))
    attach_report(path, {})


def _relu(dtype: int, shape: tuple[int | str, ...]) -> bytes:
    values = [onnx.helper.make_tensor_value_info(name, dtype, shape) for name in ("x", "y")]
    nodes = [onnx.helper.make_node("Identity", ["x"], ["y"], name="same")]
    return bytes(model(nodes, values[:1], values[1:]).SerializeToString())


@contextmanager
def _workers() -> Iterator[dict[str, Any]]:
    """Workers that fail in each way there is, and what names one in a configuration."""
    for word in ("right", "another"):
        Path(word).write_text(word, encoding="ascii")
    how = Listening(address=Address.parse("127.0.0.1:0"), token_file=Path("right"))
    with ExitStack() as stack:
        there, old = (stack.enter_context(Listener(replace(how, version=each))) for each in (how.version, "0.0.9"))
        ending, killed = (Listener(how) for _ in range(2))
        names = {"an_ending_worker": ending, "a_killed_worker": killed}
        found: dict[str, Any] = {
            name: stack.enter_context(Worker(WorkerPlace.of(str(each.address), "right", timeout=1.0)))
            for name, each in names.items()
        }
        found["an_ending_worker"].shutdown()
        stack.callback(ending.stop)
        killed.stop()
        door = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        found |= {"a_worker": there.address, "an_old_worker": old.address, "no_worker": killed.address}
        yield found | {"a_silent_door": f"127.0.0.1:{door.getsockname()[1]}", "on": _on}


def _on_a_dying_node() -> Any:
    """A model that was loaded on a node of a cluster, of which nothing but Ray itself is played."""
    ray = FakeRay("server")
    with patch.dict(sys.modules, {"ray": ray}):
        loaded = load_on(NodePlace(label=("machine", "server"), machine="server"), Path("model.intarsia"))
    ray.actors[-1].fails = [RayActorError("killed")]
    return loaded


def _on(address: object, token: str = "right") -> dict[str, Any]:
    return {"targets": ["llvm"], "runtime": f"rpc -address={address} -token-file={token} -timeout=1"}


def _press_ctrl_c(_: object) -> None:
    raise KeyboardInterrupt


def _raised(line: str, names: dict[str, Any]) -> dict[str, Any]:
    try:
        eval(line, names)
    except (IntarsiaError, Interrupted) as error:
        return {"class": type(error).__name__, "message": str(error), "exit_code": error.exit_code}
    return {"class": None}


def main() -> None:
    """Print what was raised. The folder of this run reads as the home folder, and what differs from run to run as …."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ["XDG_CACHE_HOME"] = f"{folder}/.cache"
        found = json.dumps(raised(), ensure_ascii=False).replace(folder, "~")
        found = re.sub(r"127\.0\.0\.1:\d+", "board:9090", found)
        figures = r"(?<=takes )[\d.]+(?= MB| ms)|(?<=-)[0-9a-f]{12}\b"
        nearest = r"(?<=comes nearest, ).*(?=, \d+ x \d+, takes)"
        print(re.sub(f"{figures}|{nearest}", "…", found))


if __name__ == "__main__":
    main()
