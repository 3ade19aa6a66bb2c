"""MNN: its own converter, run in a child process, and its CPU sessions. Knows nothing of plans.

Facts in comments were measured with MNN 3.6.1. The wheel's console scripts and ``MNN.tools`` are never touched: they
install a logging package at run time. The converter itself is the extension module ``_tools``.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from importlib import util
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from intarsia.backends.contract import (
    Arrays,
    Availability,
    Backend,
    BoundCall,
    EngineArtifact,
    Executable,
    ForkFault,
    Gap,
    Places,
    Traits,
    as_port,
    border_rows,
    guard,
    reading,
    thread_count,
)
from intarsia.backends.mnn.silence import silence
from intarsia.backends.package_probe import version_of
from intarsia.errors import CompileError, ExecutionError, LoadError
from intarsia.files import scratch

if TYPE_CHECKING:
    from intarsia.config.settings import RunSettings
    from intarsia.graph import Graph, Node, SubModel
    from intarsia.target import Target

_NOT_FINITE = re.compile(r"(?<=[\[\s,:])[+-]?(?:inf|nan)(?=[\s,\]}])")
"""Numbers of MNN's JSON form that are none of JSON's."""

SHARED_BYTES = 1024
"""A weight smaller than this is not worth naming: it stays in the artifact's own files."""

SLOW_BYTES = 200_000_000
"""The converter takes 30 s for each gigabyte of weights: 14 s on bert_base (AMD EPYC, 2 cores, MNN 3.6)."""

# Denormals stay as they are (by default the converter writes -0.0 as 0.0 too, and then no weight is found again),
# and Gelu is computed with erf (the default approximation is wrong by 5e-4).
CONVERTER_OPTIONS = ("--bizCode", "intarsia", "--alignDenormalizedValue", "0", "--useGeluApproximation", "0")

WINOGRAD_MEMORY_LEVEL = 3
"""Number of the session hint, as in MNN's ``Interpreter::HintMode``."""
WINOGRAD_LEVELS = {"low": 0, "normal": 1, "high": 3}
"""Level by the option ``memory``. MNN's own default is 3: up to 1.2 times faster than 1 on vgg19 and slower on some
layers, but a 3x3 layer has an error of 1e-3 of its largest value; 1 is as exact as no Winograd (3e-7) and faster."""

DTYPES = frozenset({"float32", "int32", "int64", "bool"})
"""Element types at borders. MNN holds the last two in 32 bits; others it would read as float32 or int32 and answer in
those, so that what is computed in between neither rounds nor wraps as it should."""

Layout = list[tuple[str | None, int]]
"""What a weight file is made of, in order: a weight's name, or ``None`` for bytes of the rest, and a byte count."""


class MnnBackend(Backend):
    """MNN on the CPU.

    Its threads sleep between calls (no processor time in an idle second) and it uses no OpenMP, so it needs no
    environment. The option ``memory`` also chooses the Winograd units, which is what decides its speed and accuracy.
    """

    name = "mnn"
    extra = "mnn"
    licence = "BSD-3-Clause"
    machine_code = ()
    reads = reading({"mnn": "precision memory power threads"})
    native_lack = "its wheel holds a Python module alone, and no library that C++ could load"
    meta_name = "MNN"
    # The converter reads no opset or IR number: the ONNX node tests up to opset 26 convert as they are.
    traits = Traits(
        writes_in_place=False,
        compiles_slowly_from=SLOW_BYTES,
        compiles_once=True,
        follows_ports=True,
        dtypes=DTYPES,
    )
    fork_fault: ClassVar[ForkFault | None] = ForkFault(
        library="MNN", evidence="a run there waits for ever for MNN's pool of threads, which does not come along"
    )
    gaps: ClassVar[tuple[Gap, ...]] = (
        Gap.upstream(
            "RNN, GRU, LSTM",
            "Y_h has an axis too many; reverse and bidirectional fail or are wrong; LSTM with weights crashes",
        ),
        Gap.upstream("quantised operators", "QuantizeLinear crashes; int8 tensors cannot be read from Python"),
        Gap.upstream(
            "float16, float64, and integers of other widths",
            "a session's tensors are float32 or int32 for them: a float64 output comes back as float32",
        ),
        Gap.upstream(
            "comparisons and arithmetic of large integers",
            "int64 has 32 bits, sums too; int32 are compared by their difference, which is wrong beyond 2**31",
        ),
        Gap.upstream("control flow", "If and Loop: runSession returns 3; Scan crashes"),
    )

    def probe(self) -> Availability:
        """Look for the packages; importing them would print."""
        found = util.find_spec("MNN")
        if found is None or util.find_spec("_tools") is None:
            return Availability(
                usable=False, reason="the Python package MNN is not installed", fix="pip install 'intarsia[mnn]'"
            )
        return Availability(usable=True, version=version_of("MNN", found.origin), devices=("cpu",))

    def refusal(self, node: Node, graph: Graph, target: Target) -> str | None:
        """The reason from the table of what MNN computes rightly."""
        from intarsia.backends.mnn.rules import refusal

        return refusal(node, graph)

    def compile(self, model: SubModel, target: Target, settings: RunSettings) -> EngineArtifact:
        """Convert, and replace each weight that MNN keeps as it is by its name."""
        with guard(CompileError, self.name), scratch() as folder:
            structure, weights = _convert(model, folder, external=True)
            is_empty = not weights.exists() or not weights.stat().st_size
            data = np.empty(0, np.uint8) if is_empty else np.memmap(weights, np.uint8, "r")
            large = {name: weight.array() for name, weight in model.weights.items() if weight.nbytes >= SHARED_BYTES}
            layout, rest = cut(data, _spans(structure), large)
            files = {"model.mnn": structure.read_bytes(), "rest": rest}
        return EngineArtifact(
            files=files,
            weights=tuple(dict.fromkeys(name for name, _ in layout if name is not None)),
            meta={"layout": layout, **border_rows(model)},
        )

    def load(self, artifact: EngineArtifact, weights: Arrays, target: Target, settings: RunSettings) -> Executable:
        """Put the weight file together again and open a session on it."""
        # MNN opens files only by path, and has read them by the end of createSession.
        with guard(LoadError, self.name), scratch() as folder:
            model = folder / "model.mnn"
            model.write_bytes(artifact.files["model.mnn"])
            with (folder / "weights").open("wb") as file:
                for partition in restore(artifact.meta["layout"], artifact.files["rest"], weights):
                    file.write(partition)
            with silence():
                import MNN

                interpreter = MNN.Interpreter(str(model))
                interpreter.setExternalFile(file.name)
                interpreter.setSessionHint(WINOGRAD_MEMORY_LEVEL, WINOGRAD_LEVELS[target["memory"]])
                session = interpreter.createSession(_options(target, settings))
            return MnnExecutable(interpreter, session, artifact.meta)

    def variants(self, target: Target) -> tuple[Target, ...]:
        """Both sizes of Winograd unit; no other option changed a time by 5 %."""
        if "memory" in target.options:
            return (target,)
        return (target, target.with_options({"memory": "high"}))

    def at_defaults(self, target: Target, isa: Collection[str]) -> Target:
        """With the larger Winograd units, and the precision that MNN calls normal."""
        own = {"memory": "high", "precision": "normal"}
        return target.with_options({name: value for name, value in own.items() if name not in target.options})

    def export(self, model: SubModel, target: Target, settings: RunSettings, folder: Path) -> tuple[Path, ...]:
        """Write ``model.mnn`` (above 1 GB its weights beside it) and ``options.json``: by the call that takes them."""
        with guard(CompileError, self.name):
            native, weights = _convert(model, folder, external=sum(w.nbytes for w in model.weights.values()) > 2**30)
            options = folder / "options.json"
            calls = {
                "createSession": _options(target, settings),
                "setSessionHint": [WINOGRAD_MEMORY_LEVEL, WINOGRAD_LEVELS[target["memory"]]],
            }
            options.write_text(json.dumps(calls, indent=2) + "\n", encoding="utf-8")
        return tuple(path for path in (native, weights, options) if path.exists())


class MnnExecutable(Executable):
    """A session whose input and output memory belongs to MNN: both are copied, 1 µs and the memory's speed.

    A run reuses the memory of its inputs, so each call must copy them in anew. ``runSession`` releases the interpreter
    lock, and sessions share no memory: several may run at once.
    """

    let_go = ("_views", "_interpreter", "_session")

    def __init__(self, interpreter: Any, session: Any, meta: Mapping[str, Any]) -> None:
        super().__init__(meta)
        self._interpreter, self._session = interpreter, session
        for value in (*self.inputs, *self.outputs):
            if value.dtype not in DTYPES:
                raise LoadError("mnn", f"{value.name} is {value.dtype}, for which MNN has no tensors in Python")
        tensors = {**interpreter.getSessionInputAll(session), **interpreter.getSessionOutputAll(session)}
        # An input that nothing reads is left out by the converter.
        self._views = {
            value.name: tensors[value.name].getNumpyData()
            for value in (*self.inputs, *self.outputs)
            if value.name in tensors
        }
        for value in (*self.inputs, *self.outputs):
            view = self._views.get(value.name)
            if view is None and value in self.outputs:
                raise LoadError("mnn", f"the converter lost the output {value.name}")
            if view is not None and view.shape != value.shape:
                raise LoadError("mnn", f"{value.name} has the shape {view.shape} in MNN, {value.shape} in ONNX")

    def bind(self, inputs: Places, outputs: Places) -> BoundCall:
        """Copy in, run, copy out."""
        views = self._views
        given = [(views[name], as_port(place)) for name, place in inputs.items() if name in views]
        wide = [pair for pair in given if pair[1].array.dtype == np.int64]
        taken = [(as_port(place), views[name]) for name, place in outputs.items()]
        run, session, copy = self._interpreter.runSession, self._session, np.copyto

        def call() -> None:
            for view, port in given:
                copy(view, port.array, casting="unsafe")
            for view, port in wide:
                if not np.array_equal(view, port.array):
                    raise ExecutionError("mnn", "an int64 input holds a value that 32 bits cannot hold")
            status = run(session)
            if status != 0:
                raise ExecutionError("mnn", f"runSession returned {status}")
            for port, view in taken:
                copy(port.array, view, casting="unsafe")

        return call


def cut(data: np.ndarray, spans: Iterable[tuple[int, int]], weights: Arrays) -> tuple[Layout, bytes]:
    """Replace each span (offset, byte count) of ``data`` that equals a weight, byte by byte, by the weight's name.

    Weights that the converter changed (a batch normalisation folded into a convolution) stay in the rest.
    """
    candidates: dict[tuple[int, bytes], list[tuple[str, np.ndarray]]] = {}
    for name, array in weights.items():
        raw = _raw(array)
        candidates.setdefault((raw.nbytes, raw[:64].tobytes()), []).append((name, raw))
    layout: Layout = []
    rest: list[bytes] = []
    position = 0
    for offset, size in sorted(spans):
        found = data[offset : offset + size]
        alike = candidates.get((size, found[:64].tobytes()), ())
        name = next((name for name, raw in alike if np.array_equal(found, raw)), "")
        if not name or offset < position:
            continue
        if offset > position:
            layout.append((None, offset - position))
            rest.append(data[position:offset].tobytes())
        layout.append((name, size))
        position = offset + size
    if position < data.nbytes:
        layout.append((None, data.nbytes - position))
        rest.append(data[position:].tobytes())
    return layout, b"".join(rest)


def restore(layout: Iterable[tuple[str | None, int]], rest: bytes, weights: Arrays) -> Iterator[memoryview]:
    """The partitions of what `cut` was given, in order."""
    position = 0
    for name, size in layout:
        if name is None:
            yield memoryview(rest)[position : position + size]
            position += size
        else:
            raw = _raw(weights[name])
            if raw.nbytes != size:
                raise LoadError("mnn", f"the weight {name} has {raw.nbytes} bytes, the artifact expects {size}")
            yield raw.data


def _raw(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def _options(target: Target, settings: RunSettings) -> dict[str, Any]:
    return {
        "backend": "CPU",
        "numThread": thread_count(target, settings),
        "precision": target["precision"],
        "memory": target["memory"],
        "power": target["power"],
    }


def _convert(model: SubModel, folder: Path, *, external: bool) -> tuple[Path, Path]:
    """Write ``model.mnn``, and its weights beside it where ``external``; the second path exists only if there are any.

    Flatbuffers end at 2 GB, so a larger model needs its weights outside.
    """
    source, native = folder / "model.onnx", folder / "model.mnn"
    from intarsia.backends.mnn.legalise import legalised

    model.save(source, legalised=legalised(model.nodes, model.graph))
    log = _converter(
        folder, "-f", "ONNX", "--modelFile", source.name, "--MNNModel", native.name, *CONVERTER_OPTIONS,
        *(["--saveExternalData"] if external else []),
    )  # fmt: skip
    for written in folder.glob("model.onnx*"):
        written.unlink()
    # The return value is True in any case.
    if "Converted Success" not in log or not native.exists():
        raise CompileError("mnn", log[-1000:])
    return native, folder / "model.mnn.weight"


def _spans(native: Path) -> list[tuple[int, int]]:
    """Where the tensors are in the weight file of ``native``: offsets and byte counts, as its JSON form tells."""
    dump = native.with_suffix(".json")
    _converter(native.parent, "-f", "MNN", "--modelFile", native.name, "--JsonFile", dump.name)
    spans: list[tuple[int, int]] = []

    def collect(fields: dict[str, Any]) -> dict[str, Any]:
        offset, *sizes = fields.get("external") or (0,)
        for size in sizes:
            spans.append((offset, size))
            offset += size
        return fields

    text = _NOT_FINITE.sub("0", dump.read_text(encoding="utf-8"))
    json.loads(text, object_hook=collect)
    return spans


def _converter(folder: Path, *arguments: str) -> str:
    """Run the converter in a process of its own and return what it printed.

    It prints to stdout, keeps a scratch file in the working directory, and a model that it cannot take may end the
    process.
    """
    done = subprocess.run(
        [sys.executable, "-c", "import sys, _tools; _tools.mnnconvert(sys.argv)", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    log = done.stdout.decode("utf-8", "replace")
    if done.returncode != 0:
        raise CompileError("mnn", f"the converter ended with status {done.returncode}: {log[-1000:]}")
    return log
