"""PyTorch's compiler: the shared lowering is traced as calls of PyTorch, and compiled ahead of time to one library."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from intarsia.backends.contract import (
    Arrays,
    Availability,
    EngineArtifact,
    Executable,
    ForkFault,
    Gap,
    Signature,
    Traits,
    border_rows,
    guard,
    openmp,
    reading,
    signature_rows,
    signatures,
    thread_count,
)
from intarsia.backends.contract.node_facts import words
from intarsia.backends.contract.processor import torch_limit
from intarsia.backends.inductor import compiler
from intarsia.backends.lowering.backend import NOT_LOWERED, LoweredBackend
from intarsia.backends.lowering.interpreter import Interpreter
from intarsia.backends.lowering.lower import lower
from intarsia.backends.lowering.program import CONSTANT, WEIGHT, Instruction
from intarsia.backends.native import library
from intarsia.backends.package_probe import installed
from intarsia.backends.torch.backend import TensorCall, prepared
from intarsia.backends.torch.kernels import NATIVES, TYPES, lack
from intarsia.errors import CompileError, LoadError

if TYPE_CHECKING:
    from intarsia.config.emulated import InstructionSet
    from intarsia.config.settings import RunSettings
    from intarsia.graph import SubModel
    from intarsia.target import Target

_NAME = "inductor"
_LIBRARY = "model.so"
_PACKAGE = "model.pt2"
_UNSIGNED = words("uint16 uint32 uint64")
_ALL_TYPES = TYPES | _UNSIGNED
_GENERATED = words("add and cast eq ge gt int_div le lt max min mod mul not or shift_left shift_right sub xor")
"""What it writes loops for itself, of any integers; for most else it calls PyTorch's operators."""


class InductorBackend(LoweredBackend):
    """The artifact is a library with the weights in it, packed as its kernels read them: loading compiles nothing."""

    name = _NAME
    extra = _NAME
    natives = NATIVES
    licence = "BSD-3-Clause"
    machine_code = (_LIBRARY,)
    reads = reading({_NAME: "mode threads", "llvm": "mcpu mattr vector-width fast-math fast-math-contract"})
    traits = Traits(
        writes_in_place=False,
        compiles_slowly=True,
        first_part_s=11.0,  # importing PyTorch, and two convolutions of mobilenet_v2, on two cores
        follows_ports=True,
        spins=True,
        dtypes=_ALL_TYPES,
    )
    fork_fault: ClassVar[ForkFault | None] = ForkFault.of_threads("PyTorch", "OpenMP's")
    gaps: ClassVar[tuple[Gap, ...]] = (
        Gap.upstream(
            "uint16, uint32, uint64, but for arithmetic element by element",
            "as in the engine torch, whose operators it falls back to; of constants: Promotion for uint16, "
            "uint32, uint64 types is not supported, attempted to promote Bool and UInt16",
        ),
        Gap.upstream(
            "Mod of floats with the sign of the divisor",
            "onnx node tests mod_float_edge_cases_fmod_0_*: 0 instead of -0",
        ),
        Gap.upstream(
            "mode=reduce-overhead",
            "it means CUDA graphs, which a library compiled ahead of time does not record; it is as default",
        ),
        Gap.upstream(
            "artifacts for a machine with fewer instruction sets than this one, beyond those an artifact records",
            "it compiles with -march=native; only from PyTorch 2.13 on an option (cpp.march) changes that",
        ),
        NOT_LOWERED,
    )

    def probe(self) -> Availability:
        """Version and presence of the wheel, then a C++ compiler."""
        found = installed("torch", self.extra)
        if found.usable and library.find_compiler() is None:
            return Availability(
                usable=False, reason="there is no C++ compiler to build its kernels with", fix=library.INSTALL
            )
        return found

    def probe_loading(self) -> Availability:
        """Version and presence of the wheel: the artifact is a library."""
        return installed("torch", self.extra)

    def environment(self, settings: RunSettings) -> Mapping[str, str | None]:
        """How long the threads of GNU's OpenMP spin, and where the compiler keeps what it knows of the machine."""
        return {**openmp.ENVIRONMENT[settings.spin], **compiler.ENVIRONMENT}

    def masking(self, most: InstructionSet) -> Mapping[str, str]:
        """As PyTorch, whose variable its code generator reads too."""
        return torch_limit(most)

    def judge(self, each: Instruction, reads: tuple[Instruction, ...]) -> str | None:
        """As PyTorch's operators, but for what is generated."""
        if each.name == "mod" and "float" in each.dtype:
            return f"{self.name} loses the sign of a zero in a {each.name} of floats"
        if any(read.name in (WEIGHT, CONSTANT) and read.dtype in _UNSIGNED for read in reads):
            return f"{self.name} folds no constants of unsigned integers"
        return lack(self.name, each, reads, _ALL_TYPES if each.name in _GENERATED else TYPES)

    def compile(self, model: SubModel, target: Target, settings: RunSettings) -> EngineArtifact:
        """Trace and compile; some ten seconds even for a single operator."""
        with guard(CompileError, _NAME):
            content = compiler.library(*self._traced(model), compiler.options_of(target))
        return EngineArtifact(
            files={_LIBRARY: content},
            meta=border_rows(model),
        )

    def load(self, artifact: EngineArtifact, weights: Arrays, target: Target, settings: RunSettings) -> Executable:
        """Map the library."""
        with guard(LoadError, _NAME):
            import torch

            torch.set_num_threads(thread_count(target, settings))
            return TensorCall(_NAME, compiler.opened(artifact.files[_LIBRARY]), artifact.meta)

    def export(self, model: SubModel, target: Target, settings: RunSettings, folder: Path) -> tuple[Path, ...]:
        """``model.pt2``, for ``torch._inductor.aoti_load_package``: the library and its sources."""
        folder.mkdir(parents=True, exist_ok=True)
        with guard(CompileError, _NAME):
            compiler.package(*self._traced(model), compiler.options_of(target), folder / _PACKAGE)
        return (folder / _PACKAGE,)

    def _traced(self, model: SubModel) -> tuple[Interpreter, list[Signature]]:
        program = lower(model, self.natives)
        weights = {name: model.weights[name].array() for name in program.weights}
        inputs = signatures(signature_rows(model.inputs))
        return prepared(program, weights, [value.name for value in inputs]), list(inputs)
