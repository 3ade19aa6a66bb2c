"""What stating an option changes of an engine, seen from outside: ``python -m tests.conformance.option_walk ENGINE``.

A small net is compiled and exported with and without each option. What is compared are the files of the artifact and of
the export, which holds the settings it runs by, the environment, what is taken, the variants that are tried, which
engine and device it is, and the threads that are handed to it when it is loaded. What differs between two compiles of
the same target is left out.
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType, ModuleType, SimpleNamespace
from typing import Any, cast
from unittest.mock import Mock, patch
from zipfile import ZipFile, is_zipfile

from onnx import TensorProto, helper

from intarsia.backends import registry
from intarsia.backends.contract import Availability, Backend
from intarsia.backends.contract.source import WritesSource
from intarsia.backends.ethos_u.backend import EthosUBackend
from intarsia.config import CompilationConfig, RunSettings
from intarsia.errors import IntarsiaError
from intarsia.graph import Graph, extract, load_model
from intarsia.planning.availability import missing_stages
from intarsia.planning.engine_set import absence
from intarsia.planning.remarks import is_compared, is_obeyed
from intarsia.runtime.environment import applied
from intarsia.target import KINDS, Target
from tests.conformance.boundary_cases import SMALL_NET
from tests.conformance.option_samples import sample
from tests.unit.graph.models import two_layers

SETTINGS = RunSettings(threads=2)
OTHER_TYPES = (TensorProto.FLOAT16, TensorProto.DOUBLE)
"""Element types that a device has or lacks, as its target says."""
Seen = Mapping[str, str]
COMPILING_TO_EXPORT = ("iree", "tvm", "inductor")
"""Engines whose export holds what they compiled, so that it need not be compiled once more."""


def kinds_of(engine: str) -> tuple[str, ...]:
    """The kinds whose options a target of an engine can state: its own, and those of its bases that it runs on."""
    kind = Target(engine).kind  # of a plug-in too
    return (engine, *(name for name in kind.serves if engine in KINDS[name].runs_here))


def stating(engine: str, kind: str, options: Mapping[str, object]) -> Target:
    """A target of the engine that states these options of a kind."""
    if kind == engine:
        return Target({"kind": engine, **options})
    return Target({"kind": engine, "base": {"kind": kind, **options}})


def walk(engine: str) -> Iterator[tuple[str, str, bool, bool]]:
    """Of each option its kind and name, whether it is said to be read, and whether stating it changes anything."""
    backend = registry.get(engine)
    for kind in kinds_of(engine):
        plain = stating(engine, kind, {})
        first = seen(backend, plain, loaded=True)
        again = seen(backend, plain)
        known = {name: digest for name, digest in first.items() if again.get(name, digest) == digest}

        def changes(options: Mapping[str, object], kind: str = kind, known: Seen = known, first: Seen = first) -> bool:
            try:
                found = seen(backend, stating(engine, kind, options), loaded="threads" in options)
            except IntarsiaError:
                return True  # it is refused, with the reason
            return not found.keys() <= first.keys() or any(
                found[name] != digest for name, digest in known.items() if name in found
            )

        options = {name: sample(KINDS[kind], option) for name, option in KINDS[kind].options.items()}
        if engine in PARTS:
            del options["base"]  # what it says is said by options of its own, which are walked by themselves
        # What planning compares with this machine is for tests/golden/test_machines.py, unless it is told too.
        said = {name: is_obeyed(plain, kind, name) for name in options}
        options = {name: value for name, value in options.items() if said[name] or not is_compared(kind, name)}
        unread = {name: value for name, value in options.items() if not said[name]}
        together = bool(unread) and changes(unread)
        for name, value in options.items():
            yield kind, name, said[name], (said[name] or together) and changes({name: value})


def _relu(type_: int) -> Graph:
    """A model of one node on elements of a type."""
    ends = [helper.make_tensor_value_info(name, type_, [4]) for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "relu", ends[:1], ends[1:])
    return load_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10))


def seen(backend: Backend, target: Target, *, loaded: bool = False) -> Seen:
    """A digest of each thing that can be observed of a target; ``loaded``: also of the artifact, and when it loads."""
    model = load_model(SMALL_NET.model() if backend.name == "winograd" else two_layers())
    found: dict[str, Any] = {
        "engine": registry.engine_of(target),
        "kind": target.kind.name,
        "device": target.device_type,
        "host": "" if target.host is None else str(CompilationConfig.of(target).host),
        "absence": absence(target),
        "missing": list(missing_stages(CompilationConfig.of(target))),
        "environment": sorted(backend.environment(SETTINGS).items(), key=str),
        "refusals": sorted(backend.capability(model, target).refusals.items()),
        "variants": len(backend.variants(target)),
        "types": [sorted(backend.capability(_relu(each), target).refusals.items()) for each in OTHER_TYPES],
    }
    if isinstance(backend, WritesSource):
        found["source"] = backend.source_lack(target)
    if backend.name in PARTS:
        return _digests({**found, **PARTS[backend.name](backend, target)})
    sub = extract(model, [node.id for node in model.nodes])
    with TemporaryDirectory() as folder:
        for path in backend.export(sub, target, SETTINGS, Path(folder)):
            found |= _contents(path, f"export/{path.relative_to(folder)}")
    if loaded or backend.name not in COMPILING_TO_EXPORT:
        artifact = backend.compile(sub, target, SETTINGS)
    if backend.name not in COMPILING_TO_EXPORT:
        found |= {f"artifact/{name}": bytes(content) for name, content in artifact.files.items()}
        found["artifact"] = [artifact.weights, artifact.meta]
    if loaded and absence(target) is None:
        weights = {name: weight.array() for name, weight in sub.weights.items()}
        with _recorded_threads(backend) as threads:
            backend.load(artifact, weights, target, SETTINGS)
        found["threads"] = list(threads)
    return _digests(found)


def _contents(path: Path, name: str) -> dict[str, bytes]:
    """A file by its name; of an archive, which has its own time in it, what it holds."""
    if not is_zipfile(path):
        return {name: path.read_bytes()}
    with ZipFile(path) as archive:
        return {f"{name}/{each}": archive.read(each) for each in archive.namelist()}


def _of_cmsis_nn(backend: Backend, target: Target) -> Mapping[str, Any]:
    """The processor that its kernels are asked for, beside code for a plain one; and where its sources are."""
    from intarsia.backends.c.processor import Processor
    from intarsia.backends.cmsis_nn import backend as engine
    from intarsia.backends.cmsis_nn import library

    engine._check_processor(Processor(), target)
    return {"sources": str(library.stated(target))}


def _of_ethos_u(backend: Backend, target: Target) -> Mapping[str, Any]:
    """What Vela is called with."""
    from intarsia.backends.ethos_u import backend as engine
    from intarsia.backends.ethos_u import vela

    asked = Mock(return_value=SimpleNamespace(inputs=(), outputs=()))
    region = SimpleNamespace(nodes=(), program=SimpleNamespace(inputs={}, outputs={}))
    no_fault = Mock(fault=Mock(return_value=None))
    with (
        patch.object(vela, "compiled", asked),
        patch.object(engine, "installed", lambda *_, **__: Availability(usable=True, version="")),
        patch.multiple(engine, check=no_fault, tflite=Mock(), translate=Mock()),
    ):
        cast(EthosUBackend, backend).compiled(cast(Any, region), target)
    return {"vela": asked.call_args.args[1:]}


PARTS: Mapping[str, Callable[[Backend, Target], Mapping[str, Any]]] = MappingProxyType(
    {"cmsis-nn": _of_cmsis_nn, "ethos-u": _of_ethos_u}
)
"""Engines that are a part of programs in C and compile nothing by themselves, with what there is to see instead."""


@contextlib.contextmanager
def _recorded_threads(backend: Backend) -> Iterator[list[int]]:
    """The numbers of threads that the engine's own modules ask for, to hand them to its library."""
    recorded: list[int] = []
    inner: dict[ModuleType, Any] = {
        module: module.thread_count
        for name, module in list(sys.modules.items())
        if name.startswith("intarsia.backends.") and ".contract" not in name and hasattr(module, "thread_count")
    }

    def recording(target: Target, settings: RunSettings) -> int:
        from intarsia.backends.contract import thread_count

        recorded.append(thread_count(target, settings))
        return recorded[-1]

    for module in inner:
        vars(module)["thread_count"] = recording
    try:
        yield recorded
    finally:
        for module, original in inner.items():
            vars(module)["thread_count"] = original


def _digests(found: Mapping[str, Any]) -> Seen:
    return {
        name: sha256(value if isinstance(value, bytes) else repr(value).encode()).hexdigest()
        for name, value in found.items()
    }


def _main(engine: str) -> None:
    with applied(registry.get(engine).environment(SETTINGS)):
        rows = list(walk(engine))
    json.dump(rows, sys.stdout)


if __name__ == "__main__":
    _main(sys.argv[1])
