"""XLA, by way of JAX: the shared lowering is traced once, and compiled as a whole for this machine."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from intarsia.backends.contract import (
    Arrays,
    Availability,
    BoundCall,
    EngineArtifact,
    Executable,
    ForkFault,
    Gap,
    Places,
    Traits,
    as_port,
    guard,
    guarded,
    reading,
    stated,
)
from intarsia.backends.contract.node_facts import words
from intarsia.backends.lowering.backend import NOT_LOWERED, LoweredBackend
from intarsia.backends.lowering.interpreter import Interpreter
from intarsia.backends.lowering.lower import lower
from intarsia.backends.lowering.program import Instruction, Program, strange_type
from intarsia.backends.package_probe import installed
from intarsia.backends.xla.kernels import kernel_of
from intarsia.config.emulated import InstructionSet
from intarsia.errors import CompileError, LoadError

if TYPE_CHECKING:
    from intarsia.config.settings import RunSettings
    from intarsia.graph import SubModel
    from intarsia.target import Target

_NAME = "xla"
_TYPES = words("float16 bfloat16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool")
_FLAGS = MappingProxyType(
    {
        "fast-math": "xla_cpu_enable_fast_math",
        "vector-width": "xla_cpu_prefer_vector_width",
        "opt-level": "xla_backend_optimization_level",
    }
)
"""Options of a processor, and what XLA calls them. It takes single liberties with numbers only by way of all."""
_NARROW = words(
    "float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float4_e2m1fn int4 uint4 int2 uint2"
)
"""Types that it stores; nothing is computed in them, but they are cast."""

_CALLED: Mapping[InstructionSet, str] = MappingProxyType(
    {
        InstructionSet.SSE41: "SSE4_2",
        InstructionSet.AVX: "AVX",
        InstructionSet.AVX2: "AVX2",
        InstructionSet.AVX512: "AVX512",
        InstructionSet.AVX512_VNNI: "AVX512_VNNI",
        InstructionSet.AVX512_BF16: "AVX512_BF16",
        InstructionSet.AVX512_FP16: "AVX512_BF16",
        InstructionSet.AMX: "AMX",
    }
)
"""What its flag calls the instruction sets; it has no name for that of FP16 without AMX."""


class XlaBackend(LoweredBackend):
    """Weights are arguments of the compiled function: as constants they would be folded, for minutes."""

    name = _NAME
    extra = _NAME
    natives = words("relu sigmoid")
    licence = "Apache-2.0"
    machine_code = ()
    reads = reading({"llvm": " ".join(_FLAGS)})
    traits = Traits(
        writes_in_place=False, compiles_slowly=True, compiles_once=True, follows_ports=True, dtypes=_TYPES | _NARROW
    )
    fork_fault: ClassVar[ForkFault | None] = ForkFault.of_threads("XLA", "XLA's")
    gaps: ClassVar[tuple[Gap, ...]] = (NOT_LOWERED,)

    def probe(self) -> Availability:
        """Version and presence of the wheel; the engine itself is not loaded."""
        return installed("jax", self.extra, module="jaxlib")

    def environment(self, settings: RunSettings) -> Mapping[str, str | None]:
        """Look for no other devices, and take as many threads as the plan has: XLA reads ``NPROC`` for that."""
        return {"JAX_PLATFORMS": "cpu", "NPROC": str(settings.threads)}

    def masking(self, most: InstructionSet) -> Mapping[str, str]:
        """A flag of its compiler, behind those that are set already."""
        return {"XLA_FLAGS": f"{os.environ.get('XLA_FLAGS', '')} --xla_cpu_max_isa={_CALLED[most]}".lstrip()}

    def judge(self, each: Instruction, reads: tuple[Instruction, ...]) -> str | None:
        """By element type."""
        if each.name == "cast" and reads[0].dtype in _NARROW:
            reads = ()
        strange = strange_type(each, reads, _TYPES)
        return f"xla has no {each.name} of {strange}" if strange else None

    def load(self, artifact: EngineArtifact, weights: Arrays, target: Target, settings: RunSettings) -> Executable:
        """Trace and compile."""
        with guard(LoadError, _NAME):
            return _Compiled(Program.of_files(artifact.files), weights, artifact.meta, compiler_options(target))

    def export(self, model: SubModel, target: Target, settings: RunSettings, folder: Path) -> tuple[Path, ...]:
        """``model.mlir``: StableHLO as text, with the weights as arguments; ``options.json`` for XLA's compiler."""
        with guard(CompileError, _NAME):
            program = lower(model, self.natives)
            text = _traced(program, [value.name for value in model.inputs]).as_text()
        folder.mkdir(parents=True, exist_ok=True)
        path, options = folder / "model.mlir", folder / "options.json"
        path.write_text(text, encoding="utf-8")
        options.write_text(json.dumps(compiler_options(target), indent=2) + "\n", encoding="utf-8")
        return (path, options)


def compiler_options(target: Target) -> dict[str, Any]:
    """What XLA's compiler is told for a target's processor, by its own names."""
    return {_FLAGS[name]: value for name, value in stated(target.base, _FLAGS).items()}


class _Compiled(Executable):
    """A compiled function, and the weights it is called with."""

    let_go = ("_run", "_weights")

    def __init__(self, program: Program, weights: Arrays, meta: Mapping[str, Any], options: Mapping[str, Any]) -> None:
        import jax

        super().__init__(meta)
        self._run = _traced(program, [value.name for value in self.inputs]).compile(dict(options))
        with jax.enable_x64(True):
            self._weights = [jax.device_put(weights[name]) for name in program.weights]

    def bind(self, inputs: Places, outputs: Places) -> BoundCall:
        """Every call hands over the inputs, and copies the results."""
        import jax
        import numpy as np

        run, weights = self._run, self._weights
        given = [as_port(inputs[value.name]) for value in self.inputs]
        wanted = [as_port(outputs[value.name]) for value in self.outputs]

        def call() -> None:
            with jax.enable_x64(True):
                results = run(*(port.array for port in given), *weights)
            for port, result in zip(wanted, results, strict=True):
                np.copyto(port.array, result)

        return guarded(call, _NAME)


def _traced(program: Program, inputs: list[str]) -> Any:
    """The program as a function of inputs and weights, lowered to what XLA compiles."""
    import jax

    from intarsia.graph.dtypes import numpy_dtype

    given = [*(program.inputs[name] for name in inputs), *program.weights.values()]

    def run(*tensors: Any) -> list[Any]:
        known = {place: jax.numpy.asarray(array) for place, array in program.known.items()}
        return Interpreter(program, kernel_of, given, known)(*tensors)

    leaves = [program.instructions[place] for place in given]
    with jax.enable_x64(True):
        shapes = [jax.ShapeDtypeStruct(each.shape, numpy_dtype(each.dtype)) for each in leaves]
        return jax.jit(run, keep_unused=True).lower(*shapes)
