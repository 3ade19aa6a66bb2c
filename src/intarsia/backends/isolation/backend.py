"""An engine in another interpreter, as a backend. Its rules run here, everything else runs there."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from intarsia.backends.contract import (
    Arrays,
    Availability,
    Backend,
    BoundCall,
    EngineArtifact,
    Executable,
    Gap,
    KernelChoice,
    Places,
    as_port,
    guard,
)
from intarsia.backends.contract.shared_memory import SharedBlock, shared_block
from intarsia.backends.isolation.message import Message, bytes_as_arrays, paged, view
from intarsia.backends.isolation.process import EngineProcess, probed
from intarsia.errors import CompileError, LoadError
from intarsia.forks import Forkable
from intarsia.graph.store import structure, weight_index
from intarsia.partitioning.capability import Capability

if TYPE_CHECKING:
    from intarsia.config.emulated import InstructionSet
    from intarsia.config.settings import RunSettings
    from intarsia.graph import Graph, Node, SubModel
    from intarsia.json_types import JsonType
    from intarsia.target import Target

_STRING = "string"
_GAPS = (
    Gap.not_implemented(
        "strings, and values whose shape only running tells, in another interpreter",
        "memory that two processes share has a size, and holds no Python objects",
    ),
    Gap.not_implemented(
        "the engine's own profile, and the layout of a session that holds its parts, in another interpreter",
        "one call and one answer is all that goes over the wire",
    ),
)


def isolated(inner: Backend, name: str, python: str) -> Backend:
    """The engine ``inner`` as it is in the interpreter at a path; ``name`` says which engine and which interpreter."""
    suffix = name.removeprefix(inner.name)
    traits = replace(
        inner.traits,
        runs_elsewhere=True,
        follows_ports=False,
        any_shape=False,
        device_values=False,
        dtypes=inner.traits.dtypes - {_STRING},
    )
    facts: dict[str, Any] = {
        "name": name,
        "extra": inner.extra,
        "licence": inner.licence,
        "machine_code": inner.machine_code,
        "traits": traits,
        "gaps": (*inner.gaps, *_GAPS),
        "reads": inner.reads,
        "needs_features": inner.needs_features,
        "packs_12_bits": inner.packs_12_bits,
        "extends": inner.extends and inner.extends + suffix,
    }
    made: Backend = type("Isolated", (_IsolatedBackend,), facts)(inner, python)
    return made


class _IsolatedBackend(Backend, Forkable):
    """Starts one process for each set of environment variables, and keeps it as long as it lives itself."""

    def __init__(self, inner: Backend, python: str) -> None:
        self._inner = inner
        self._python = python
        self._processes: dict[frozenset[tuple[str, str | None]], EngineProcess] = {}
        self._lock = threading.Lock()

    def after_fork(self) -> None:
        """The processes are the parent's; others are started when they are needed."""
        self._lock = threading.Lock()
        self._processes = {}

    def probe(self) -> Availability:
        """As that interpreter finds it; asked once."""
        return self._probed

    @cached_property
    def _probed(self) -> Availability:
        return probed(self._inner.name, self._python)

    def refusal(self, node: Node, graph: Graph, target: Target) -> str | None:
        """What cannot be handed over, and what the engine's own rules refuse."""
        return _strings(node, graph) or self._inner.refusal(node, graph, target)

    def capability(self, graph: Graph, target: Target) -> Capability:
        """The engine's own, which may have rules for the graph as a whole, less what cannot be handed over."""
        own = {node.id: self._border_refusal(node, graph) or _strings(node, graph) for node in graph.nodes}
        refusals = {node: reason for node, reason in own.items() if reason is not None}
        return Capability(refusals={**self._inner.capability(graph, target).refusals, **refusals})

    def meta_type(self, meta: Mapping[str, Any]) -> JsonType | None:
        """As the engine's own."""
        return self._inner.meta_type(meta)

    def variants(self, target: Target) -> tuple[Target, ...]:
        """As the engine's own."""
        return self._inner.variants(target)

    def kernel_choices(self, graph: Graph, target: Target) -> Mapping[str, tuple[KernelChoice, ...]]:
        """As the engine's own."""
        return self._inner.kernel_choices(graph, target)

    def in_less(self, target: Target, graph: Graph) -> Target | None:
        """As the engine's own."""
        return self._inner.in_less(target, graph)

    def with_kernels(self, target: Target, kernels: Mapping[str, str]) -> Target:
        """As the engine's own."""
        return self._inner.with_kernels(target, kernels)

    def masking(self, most: InstructionSet) -> Mapping[str, str]:
        """As the engine's own: its process takes the variables over from this one."""
        return self._inner.masking(most)

    def compile(self, model: SubModel, target: Target, settings: RunSettings) -> EngineArtifact:
        """Hand the graph over, with the weights of this partition."""
        answer = self._asked("compile", model, target, settings, {})
        files = {name: array.tobytes() for name, array in answer.arrays.items()}
        return EngineArtifact(files=files, weights=tuple(answer.facts["weights"]), meta=answer.facts["meta"])

    def load(self, artifact: EngineArtifact, weights: Arrays, target: Target, settings: RunSettings) -> Executable:
        """Hand files and weights over; the meta holds the borders, since they are bound here."""
        process = self._process(settings, LoadError)
        files = {f"file {name}": array for name, array in bytes_as_arrays(artifact.files).items()}
        handed = {f"weight {name}": weights[name] for name in artifact.weights}
        facts = {
            "do": "load",
            "files": {name: f"file {name}" for name in artifact.files},
            "weights": {name: f"weight {name}" for name in artifact.weights},
            "meta": dict(artifact.meta),
            **_how(target, settings),
        }
        with guard(LoadError, self.name):
            answer = process.ask(Message(facts=facts, arrays=files | handed), LoadError)
        return _Proxy(process, answer.facts)

    def export(self, model: SubModel, target: Target, settings: RunSettings, folder: Path) -> tuple[Path, ...]:
        """As the engine's own, written there."""
        answer = self._asked("export", model, target, settings, {"folder": str(folder.resolve())})
        return tuple(map(Path, answer.facts["paths"]))

    def _asked(
        self, verb: str, model: SubModel, target: Target, settings: RunSettings, more: Mapping[str, Any]
    ) -> Message:
        process = self._process(settings, CompileError)
        facts = {"do": verb, "nodes": [node.id for node in model.nodes], **_how(target, settings), **more}
        with guard(CompileError, self.name):
            arrays = {"structure": np.frombuffer(structure(model.graph), np.uint8)}
            return process.ask(Message(facts=facts, arrays=arrays), CompileError, [_weights(model)])

    def _process(self, settings: RunSettings, error: type[CompileError | LoadError]) -> EngineProcess:
        wanted = self._inner.environment(settings)
        key = frozenset(wanted.items())
        with self._lock:
            if key not in self._processes or not self._processes[key].is_alive:
                with guard(error, self.name):
                    self._processes[key] = EngineProcess(self._inner.name, self.name, self._python, wanted)
            return self._processes[key]


class _Proxy(Executable):
    """Stands for an executable in the other process."""

    def __init__(self, process: EngineProcess, facts: Mapping[str, Any]) -> None:
        super().__init__(facts)
        self._number = facts["number"]
        self._process = process
        self._drop = weakref.finalize(self, process.drop, self._number)
        self._drop.atexit = False

    def bind(self, inputs: Places, outputs: Places) -> BoundCall:
        """Arrays in a shared block are bound where they are; others have a stand-in that is copied to or from."""
        given = {value.name: as_port(inputs[value.name]).array for value in self.inputs}
        wanted = {value.name: as_port(outputs[value.name]).array for value in self.outputs}
        blocks: list[SharedBlock] = []
        before, reads = _placed(given, blocks)
        after, writes = _placed(wanted, blocks)
        facts = {"do": "bind", "executable": self._number, "inputs": reads, "outputs": writes}
        process = self._process
        number = process.ask(Message(facts=facts), LoadError, blocks).facts["number"]

        def call(_owner: _Proxy = self) -> None:  # which is dropped there once nothing here can call it any more
            for own, shared in before:
                np.copyto(shared, own)
            process.run(number)
            for own, shared in after:
                np.copyto(own, shared)

        return call

    def close(self) -> None:
        """Have it closed there."""
        self._drop()
        self._process.clean_up()


_Copies = list[tuple[np.ndarray, np.ndarray]]
"""Arrays of ours, each with its stand-in."""


def _placed(arrays: Arrays, blocks: list[SharedBlock]) -> tuple[_Copies, dict[str, Any]]:
    """Stand-ins for the arrays that lie in no shared block, and where each array or its stand-in lies.

    Each block that is not among ``blocks`` yet is added; a place is the number of one, an offset, a dtype and a shape.
    """
    loose = {name: array for name, array in arrays.items() if shared_block(array) is None}
    nbytes, rows = paged(loose)
    fresh = SharedBlock.of_size(nbytes)
    stand_ins = {name: view(fresh, offset, dtype, shape) for name, offset, dtype, shape in rows}
    places = {}
    for name, array in {**arrays, **stand_ins}.items():
        block = shared_block(array)
        assert block is not None
        if block not in blocks:
            blocks.append(block)
        places[name] = (blocks.index(block), array.ctypes.data - block.address, array.dtype.name, array.shape)
    return [(loose[name], stand_in) for name, stand_in in stand_ins.items()], places


def _strings(node: Node, graph: Graph) -> str | None:
    """Why a node is not taken that reads strings, constant ones too, which no list of dtypes is asked about."""
    names = (name for name in node.reads if graph.values[name].dtype == _STRING)
    return next((f"{name} holds strings, which no other process can be handed" for name in names), None)


def _weights(model: SubModel) -> SharedBlock:
    """What the partition uses of ``weights.bin``, at the same offsets; the gaps take no memory."""
    index = [row for row in weight_index(model.graph) if row[0] in model.weights]
    block = SharedBlock.of_size(max((offset + nbytes for _, offset, nbytes in weight_index(model.graph)), default=0))
    for name, offset, nbytes in index:
        content = model.weights[name].array().reshape(-1).view(np.uint8)
        np.copyto(np.ndarray(nbytes, np.uint8, buffer=block, offset=offset), content)
    return block


def _how(target: Target, settings: RunSettings) -> dict[str, Any]:
    return {"target": str(target), "threads": settings.threads, "spin": settings.spin.value}
