"""The process in which one engine runs: requests as JSON lines on stdin, one answer each on stdout, arrays in files.

Run as ``python -m tests.conformance.worker TARGET``. An engine that crashes takes only this process with it.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from intarsia.backends import registry
from intarsia.backends.contract import BoundCall, EngineArtifact, Executable, Port, Slot
from intarsia.config.settings import RunSettings
from intarsia.errors import ExecutionError, IntarsiaError
from intarsia.graph import Graph, SubModel, extract, load_model
from intarsia.graph.dtypes import numpy_dtype
from intarsia.partitioning import Partitioning
from intarsia.runtime import Executor, build, load_build, plan_of
from intarsia.runtime.artifact.trust import holds_code
from intarsia.runtime.environment import applied, load_environment
from intarsia.runtime.executors.embedded import EmbeddedExecutor
from intarsia.target import Target
from tests.conformance.arrays import load_arrays, save_arrays
from tests.conformance.boundary_cases import EMBEDDED_OUTPUTS

SETTINGS = RunSettings(threads=2)
Arrays = dict[str, np.ndarray]
_ELF = b"\x7fELF"
"""How machine code begins on Linux."""


def run(target: Target, model: SubModel, request: Mapping[str, Any]) -> dict[str, Any]:
    """Bind once, then run on the inputs of each turn, going back to the first at the end."""
    executable, _ = _loaded(target, model)
    inputs, outputs, call = _bound(executable, model)
    results: Arrays = {}
    mutated = []
    turns = [*request["feeds"], request["feeds"][0]]
    for number, turn in enumerate(turns):
        feeds = load_arrays(turn)
        _fill(inputs, feeds)
        _spoil(outputs)
        call()
        mutated += [name for name, array in inputs.items() if not _is_same(array, feeds[name])]
        results |= {f"{number}/{name}": np.array(_array(value)) for name, value in outputs.items()}
    executable.close()
    save_arrays(request["results"], results)
    return {"turns": len(turns), "mutated": sorted(set(mutated))}


def contract(target: Target, model: SubModel, request: Mapping[str, Any]) -> dict[str, Any]:
    """Facts about the stages that no result shows."""
    backend = registry.of(target)
    first, artifact = _loaded(target, model)
    second, again = _loaded(target, model)
    facts: dict[str, Any] = {
        "same_weights": artifact.weights == again.weights,
        "same_meta": json.dumps(artifact.meta) == json.dumps(again.meta),
        "weights_known": set(artifact.weights) <= model.weights.keys(),
        "inputs": [[v.name, v.dtype, list(v.shape or ())] for v in first.inputs],
        "outputs": [[v.name, v.dtype, list(v.shape or ())] for v in first.outputs],
        "undeclared_code": _undeclared(target, artifact),
        "same_capability": backend.capability(model.graph, target) == backend.capability(model.graph, target),
        "variants_are_of_this_kind": all(v.kind is target.kind for v in backend.variants(target)),
    }
    facts["alternately"] = _alternately(first, second, model, request)
    facts["follows"] = not backend.traits.follows_ports or _follows(first, second, model, request)
    for executable in (first, second):
        executable.close()
        executable.close()
    written = backend.export(model, target, SETTINGS, Path(request["folder"]))
    facts["exported"] = [path.is_file() and path.stat().st_size > 0 for path in written]
    return facts


def embed(target: Target, model: SubModel, request: Mapping[str, Any]) -> dict[str, Any]:
    """Pieces on this engine inside the session of ONNX Runtime; then once more, with a piece that fails."""
    graph = model.graph
    partitions = [
        tuple(graph.nodes[graph.values[name].producer or 0].id for name in names) for names in EMBEDDED_OUTPUTS
    ]
    inside = {id_ for partition in partitions for id_ in partition}
    first = registry.of(target).variants(target)[0]
    rest = [node.id for node in graph.nodes if node.id not in inside]
    # Three parts of the main engine's own, so that it takes part most often even where the pieces are its as well.
    parts: list[tuple[Target, Sequence[str]]] = [
        (Target("onnxruntime"), rest[:2]),
        (Target("onnxruntime"), rest[2:4]),
        (Target("onnxruntime"), rest[4:]),
    ]
    parts += [(first, partition) for partition in partitions]
    ordered = Partitioning.of(graph, [(target, frozenset(nodes)) for target, nodes in parts])
    settings = replace(SETTINGS, embed=True)
    built = build(graph, plan_of(graph, ordered.partitions, settings))
    executor = load_build(graph, built)
    borders = [sides for artifact in built.artifacts for sides in artifact.meta.get("borders", {}).values()]
    blocked = any(reads or writes for reads, writes in borders)
    steps = zip(built.plan.steps, built.artifacts, strict=True)
    undeclared = [file for step, artifact in steps for file in _undeclared(step.target, artifact)]
    results: Arrays = {}
    turns = [*request["feeds"], request["feeds"][0]]
    for number, turn in enumerate(turns):
        results |= {f"{number}/{name}": array for name, array in executor.run(load_arrays(turn)).items()}
    failure = _failure_of(executor, load_arrays(turns[0]))
    executor.close()
    save_arrays(request["results"], results)
    return {"turns": len(turns), "mutated": [], "failure": failure, "blocked": blocked, "undeclared_code": undeclared}


def _undeclared(target: Target, artifact: EngineArtifact) -> list[str]:
    """Files of an artifact with machine code or a pickle in them, of which the engine does not say so."""
    found = [name for name, content in artifact.files.items() if _ELF in content or _is_pickle(content)]
    return [name for name in found if not holds_code(target.kind.name, name)]


def _is_pickle(content: bytes) -> bool:
    """By how one of a protocol that is still written begins and ends."""
    return content[:1] == b"\x80" and content[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05") and content[-1:] == b"."


class _Fails(dict[str, np.ndarray]):
    """What a visit is watched with, if watching fails."""

    def update(self, *args: object, **kwargs: object) -> None:
        raise ExecutionError("test", "on purpose")


def _failure_of(executor: Executor, feeds: Arrays) -> str:
    assert isinstance(executor, EmbeddedExecutor)
    executor._visits.watch = _Fails()
    try:
        executor.run(feeds)
    except IntarsiaError as error:
        return f"{type(error).__name__}: {error}"
    return "none"


def _alternately(first: Executable, second: Executable, model: SubModel, request: Mapping[str, Any]) -> bool:
    """Whether two executables of one model, called in turn on other inputs, keep out of each other's way."""
    sides = [
        (*_bound(executable, model), load_arrays(feed))
        for executable, feed in zip((first, second), request["feeds"], strict=True)
    ]
    alone = []
    for inputs, outputs, call, feeds in sides:
        _fill(inputs, feeds)
        call()
        alone.append({name: np.array(_array(value)) for name, value in outputs.items()})
    for inputs, _, call, feeds in (*sides, *sides):
        _fill(inputs, feeds)
        call()
    return all(
        np.allclose(alone[side][name], _array(value), rtol=1e-5, atol=1e-6)
        for side, (_, outputs, _, _) in enumerate(sides)
        for name, value in outputs.items()
    )


def _follows(first: Executable, second: Executable, model: SubModel, request: Mapping[str, Any]) -> bool:
    """Whether arrays swapped through feeds give what the same arrays give through a fixed buffer."""
    inputs, outputs, call = _bound(first, model)
    turns = [load_arrays(feed) for feed in (*request["feeds"], request["feeds"][0])]
    cells = {name: Port(np.zeros_like(array)) for name, array in inputs.items()}
    places = {v.name: np.zeros(v.shape or (), numpy_dtype(v.dtype or "")) for v in model.outputs}
    followed = second.bind(cells, places)
    same = []
    for turn in turns:
        _fill(inputs, turn)
        call()
        for name, cell in cells.items():
            cell.array = turn[name]
        followed()
        same += [np.array_equal(_array(outputs[name]), place) for name, place in places.items()]
    return all(same)


def _loaded(target: Target, model: SubModel) -> tuple[Executable, EngineArtifact]:
    backend = registry.of(target)
    artifact = backend.compile(model, target, SETTINGS)
    weights = {name: model.weights[name].array() for name in artifact.weights}
    return backend.load(artifact, weights, target, SETTINGS), artifact


def _bound(executable: Executable, model: SubModel) -> tuple[Arrays, dict[str, np.ndarray | Slot], BoundCall]:
    inputs = {v.name: np.zeros(v.shape or (), numpy_dtype(v.dtype or "")) for v in model.inputs}
    outputs: dict[str, np.ndarray | Slot] = {
        v.name: Slot() if v.shape is None else np.zeros(v.shape, numpy_dtype(v.dtype or "")) for v in model.outputs
    }
    return inputs, outputs, executable.bind(inputs, outputs)


def _fill(places: Arrays, feeds: Arrays) -> None:
    for name, place in places.items():
        place[...] = feeds[name]


def _is_same(one: np.ndarray, other: np.ndarray) -> bool:
    return one.tobytes() == other.tobytes() if one.dtype != object else one.tolist() == other.tolist()


def _spoil(outputs: Mapping[str, np.ndarray | Slot]) -> None:
    """What a call does not write shows."""
    for value in outputs.values():
        if isinstance(value, Slot):
            value.array = None
        elif value.dtype == object:
            value[...] = None
        else:
            value.reshape(-1).view(np.uint8)[...] = 0x5A if value.dtype.kind != "b" else 0


def _array(value: np.ndarray | Slot) -> np.ndarray:
    array = value.array if isinstance(value, Slot) else value
    if array is None:
        raise ValueError("a slot was left empty")
    return array


def answer(target: Target, request: Mapping[str, Any]) -> dict[str, Any]:
    """One answer: ``refused`` with reasons, ``error``, or what the stage found.

    What is refused is run nevertheless if the request says ``anyway``.
    """
    try:
        graph: Graph = load_model(request["model"])
    except IntarsiaError as error:
        return {"unread": str(error)}
    backend = registry.of(target)
    capability = backend.capability(graph, target)
    if request["do"] == "ask" or (capability.refusals and not request.get("anyway")):
        newer = any(backend.version_refusal(node, graph) for node in graph.nodes)
        return {"refused": dict(capability.refusals), "newer": newer}
    model = extract(graph, (node.id for node in graph.nodes))
    stage = {"run": run, "contract": contract, "embed": embed}[request["do"]]
    try:
        return stage(target, model, request)
    except IntarsiaError as error:
        return {"error": f"{type(error).__name__}: {error}"}
    except Exception as error:  # a foreign exception that got through is a fault of the backend, to be reported
        return {"error": f"not translated: {type(error).__name__}: {error}"}


def main() -> None:
    """Answer until stdin ends. Engines that print must not spoil the answers, so those get a stream of their own."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    target = Target(sys.argv[1])
    with applied(load_environment([registry.engine_of(target)], SETTINGS)):
        for line in sys.stdin:
            print(json.dumps(answer(target, json.loads(line))), file=answers, flush=True)


if __name__ == "__main__":
    main()
