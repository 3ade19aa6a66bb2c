"""LiteRT, once TensorFlow Lite, with XNNPACK on the CPU: the shared lowering is written as a ``.tflite`` file."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from intarsia.backends.contract import (
    Arrays,
    Availability,
    BoundCall,
    EngineArtifact,
    Executable,
    Gap,
    Places,
    Traits,
    as_port,
    border_rows,
    guard,
    guarded,
    reading,
    thread_count,
)
from intarsia.backends.contract.node_facts import words
from intarsia.backends.litert.builder import NoKernelError
from intarsia.backends.litert.flatbuffer import Structure, assembled, structure_of
from intarsia.backends.litert.network import networks, operators_of
from intarsia.backends.litert.rules import missing_kernel
from intarsia.backends.lowering.backend import NOT_LOWERED, LoweredBackend
from intarsia.backends.lowering.lower import lower
from intarsia.backends.lowering.program import Instruction
from intarsia.backends.package_probe import installed
from intarsia.errors import CompileError, LoadError

if TYPE_CHECKING:
    import numpy as np

    from intarsia.config.settings import RunSettings
    from intarsia.graph import SubModel
    from intarsia.target import Target

_NAME = "litert"
_PREPARED, _MAIN = "prepare.tflite", "model.tflite"


class LitertBackend(LoweredBackend):
    """Writes two networks: what depends on weights alone is computed once, when they are loaded."""

    name = _NAME
    extra = _NAME
    natives = words("conv_bias gelu hard_swish leaky_relu log_softmax prelu relu resize_linear sigmoid softmax")
    licence = "Apache-2.0"
    machine_code = ()
    reads = reading({_NAME: "threads"})
    meta_name = "LITERT"
    traits = Traits(
        writes_in_place=False,
        compiles_once=True,
        follows_ports=True,
        dtypes=words("float16 bfloat16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool"),
    )
    gaps: ClassVar[tuple[Gap, ...]] = (
        Gap.upstream(
            "float64, uint64, and most computing in bfloat16",
            "Type FLOAT64 is unsupported by op Abs; Mul only supports FLOAT32, ...; and the like",
        ),
        Gap.upstream("pools with dilations", "Pool2DOptions in the schema has no field for them"),
        Gap.not_implemented(
            "kernels for quantised numbers: QLinearConv, ConvInteger, MatMulInteger",
            "the lowering spells them out in float64 and int32, which LiteRT does not convolve or multiply",
        ),
        NOT_LOWERED,
    )

    def probe(self) -> Availability:
        """Version and presence of the wheel; the engine itself is not loaded."""
        return installed("ai-edge-litert", self.extra, module="ai_edge_litert")

    def judge(self, each: Instruction, reads: tuple[Instruction, ...]) -> str | None:
        """By the operators that it is written as."""
        try:
            draft = operators_of(each, reads)
        except NoKernelError as error:
            return f"litert has no {error}"
        return missing_kernel(draft)

    def compile(self, model: SubModel, target: Target, settings: RunSettings) -> EngineArtifact:
        """Write the structure of both networks; the weights are handed over again at ``load``."""
        with guard(CompileError, self.name):
            program = lower(model, self.natives)
            numbers = {name: weight.array() for name, weight in model.weights.items() if prod(weight.shape) == 1}
            inputs, outputs = ([value.name for value in side] for side in (model.inputs, model.outputs))
            once, always = networks(program, inputs, outputs, numbers)
            files = {_PREPARED: structure_of(once), _MAIN: structure_of(always)}
        behind = {name for structure in files.values() for name, _ in structure.weights}
        return EngineArtifact(
            files={name: structure.content for name, structure in files.items()},
            weights=tuple(name for name in program.weights if name in behind),
            meta={
                **border_rows(model),
                "given": always.inputs,
                "wanted": always.outputs,
                "prepared": once.outputs,
                "weights": {name: structure.weights for name, structure in files.items()},
            },
        )

    def load(self, artifact: EngineArtifact, weights: Arrays, target: Target, settings: RunSettings) -> Executable:
        """Compute what depends on weights alone, and lay all of them behind the structure."""
        with guard(LoadError, self.name):
            content = _content(artifact, weights, thread_count(target, settings))
            return _Interpreted(content, artifact.meta, thread_count(target, settings))

    def export(self, model: SubModel, target: Target, settings: RunSettings, folder: Path) -> tuple[Path, ...]:
        """``model.tflite`` with its weights."""
        artifact = self.compile(model, target, settings)
        weights = {name: model.weights[name].array() for name in artifact.weights}
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / _MAIN
        with guard(CompileError, self.name):
            path.write_bytes(_content(artifact, weights, thread_count(target, settings)))
        return (path,)


def _content(artifact: EngineArtifact, weights: Arrays, threads: int) -> bytes:
    """The file that is run with each call."""
    known: dict[str | int, np.ndarray] = dict(weights.items())
    if artifact.meta["prepared"]:
        first = _interpreter(_assembled(artifact, _PREPARED, known), threads)
        first.invoke()
        known |= {number: first.get_tensor(tensor) for number, tensor in enumerate(artifact.meta["prepared"])}
    return _assembled(artifact, _MAIN, known)


def _assembled(artifact: EngineArtifact, name: str, known: Mapping[str | int, np.ndarray]) -> bytes:
    rows = tuple((weight, size) for weight, size in artifact.meta["weights"][name])
    return assembled(Structure(content=artifact.files[name], weights=rows), known)


def _interpreter(content: bytes, threads: int) -> Any:
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(model_content=content, num_threads=threads)
    interpreter.allocate_tensors()
    return interpreter


class _Interpreted(Executable):
    """A network in LiteRT's interpreter."""

    let_go = ("_interpreter",)

    def __init__(self, content: bytes, meta: Mapping[str, Any], threads: int) -> None:
        super().__init__(meta)
        self._given = meta["given"]
        self._wanted = meta["wanted"]
        self._interpreter: Any = _interpreter(content, threads)

    def bind(self, inputs: Places, outputs: Places) -> BoundCall:
        """The interpreter's tensors are its own: inputs are copied there, and results from there."""
        import numpy as np

        interpreter = self._interpreter
        given = [(number, as_port(inputs[value.name])) for number, value in zip(self._given, self.inputs, strict=True)]
        wanted = [
            (interpreter.tensor(number), as_port(outputs[value.name]))
            for number, value in zip(self._wanted, self.outputs, strict=True)
        ]
        run, put = interpreter.invoke, interpreter.set_tensor

        def call() -> None:
            for number, port in given:
                put(number, port.array)
            run()
            for view, port in wanted:
                if port.array.size:  # there is no view of nothing
                    np.copyto(port.array, view())

        return guarded(call, _NAME)
