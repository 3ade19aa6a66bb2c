"""Apache TVM: the shared lowering as its tensor expressions, compiled for the machine's own processor.

Its graph executor is left out: with shapes known, what is left of it is a list of calls, and so kernels read and write
the plan's buffers themselves (`tvm_calls`).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from intarsia.backends.contract import (
    Arrays,
    Availability,
    EngineArtifact,
    Executable,
    Gap,
    Traits,
    border_rows,
    compiler_flags,
    guard,
    processor_of,
    reading,
    stated,
    thread_count,
)
from intarsia.backends.contract.node_facts import words
from intarsia.backends.contract.source import WritesPrograms
from intarsia.backends.lowering.backend import NOT_LOWERED, LoweredBackend
from intarsia.backends.lowering.lower import lower
from intarsia.backends.lowering.program import CONSTANT, WEIGHT, Instruction, Program, strange_type
from intarsia.backends.package_probe import installed
from intarsia.backends.tvm.compiler import Plan, module_of
from intarsia.backends.tvm.elementwise import NARROW_FLOATS
from intarsia.backends.tvm.executable import Compiled
from intarsia.codegen import machines
from intarsia.config.settings import Spin
from intarsia.errors import CompileError, LoadError
from intarsia.files import scratch
from intarsia.target import Target

if TYPE_CHECKING:
    from intarsia.codegen.module import SourceModule
    from intarsia.config.settings import RunSettings
    from intarsia.graph import Graph, Node, SubModel

_NAME = "tvm"
_FLOATS = words("float16 bfloat16 float32 float64")
_TYPES = _FLOATS | words("int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool")
_MOST_PARTS = 32
"""Tensors of one concat: it becomes a choice within a choice, and one of 400 does not compile in two minutes."""
_C_OPTIONS = ("-O3", "-Dinff=__builtin_inff()", "-Dinf=__builtin_inf()")
"""For the system's compiler. TVM 0.27 writes infinity as ``inff`` or ``inf``, which C does not know."""
_LLVM = (
    *("mfloat-abi", "mabi", "opt-level", "cl-opt", "jit", "vector-width", "fast-math"),
    *(f"fast-math-{what}" for what in ("nnan", "ninf", "nsz", "arcp", "contract", "reassoc")),
)
"""Options of a processor that TVM's code generator takes by these names, beside those that name it."""
_ROUNDS = {Spin.FREE: None, Spin.CALL: "2000", Spin.NEVER: "0"}
"""How often a thread looks for work before it sleeps."""


class TvmBackend(LoweredBackend, WritesPrograms):
    """Compiles to a library in ``compile``; where nothing links one, to LLVM's text, which ``load`` compiles."""

    name = _NAME
    extra = _NAME
    natives = words("relu sigmoid")
    licence = "Apache-2.0"
    machine_code = ("kernels.so", "kernels.ll")
    reads = reading(
        {
            _NAME: "opt-level tuning-records threads",  # with records it refuses
            "llvm": " ".join(("mcpu", "mattr", "mtriple", *_LLVM)),
            "c": "mcpu mattr march",
        }
    )
    traits = Traits(writes_in_place=True, compiles_slowly=True, follows_ports=True, spins=True, dtypes=_TYPES)
    gaps: ClassVar[tuple[Gap, ...]] = (
        NOT_LOWERED,
        Gap.not_implemented(
            "other devices than llvm and c",
            "the wheel brings CUDA; the kernels' loops are ordered for processors alone (tvm_schedules.py)",
        ),
        Gap.not_implemented(
            "tuning-records", "TVM's tuner needs xgboost, which apache-tvm does not bring; it was not tried"
        ),
        Gap.upstream(
            "float8, float4, int4",
            "InternalError: Check failed: dtype.bits % 8 == 0; and no cast of float8 on processors",
        ),
    )

    def probe(self) -> Availability:
        """Version and presence of the wheel; the engine itself is not loaded."""
        return installed("apache-tvm", self.extra, module="tvm")

    def environment(self, settings: RunSettings) -> Mapping[str, str | None]:
        """Threads, which are not to be tied to processors, and how long they spin.

        Without the last one, it compiles an extension for PyTorch into the user's cache when it is first imported.
        """
        return {
            "TVM_NUM_THREADS": str(settings.threads),
            "TVM_THREAD_POOL_SPIN_COUNT": _ROUNDS[settings.spin],
            "TVM_BIND_THREADS": "0",
            "TVM_FFI_DISABLE_TORCH_C_DLPACK": "1",
        }

    def refusal(self, node: Node, graph: Graph, target: Target) -> str | None:
        """By what the node is lowered to."""
        if target["tuning-records"] is not None:
            return "tvm's tuning records are not read"
        types = {graph.values[name].dtype for name in filter(None, (*node.reads, *node.outputs))}
        narrow = sorted(NARROW_FLOATS.intersection(types))
        if _base(target) == "c" and narrow:
            return f"C has no {narrow[0]}"
        return super().refusal(node, graph, target)

    def judge(self, each: Instruction, reads: tuple[Instruction, ...]) -> str | None:
        """By element type."""
        if strange := strange_type(each, reads, _TYPES):
            return f"tvm has no {each.name} of {strange}"
        if each.name == "concat" and len(reads) > _MOST_PARTS:
            return f"tvm is not asked for a concat of {len(reads)} tensors"
        if each.name != "concat" and 0 not in each.shape and any(0 in read.shape for read in reads):
            return f"tvm is not asked for a {each.name} of nothing"
        return None

    def compile(self, model: SubModel, target: Target, settings: RunSettings) -> EngineArtifact:
        """Lower, fuse, schedule, compile."""
        with guard(CompileError, self.name):
            built = _Built.of(lower(model, self.natives), target)
            library = built.linked(target)
        return EngineArtifact(
            files={**built.program.files(), "plan.json": built.plan.to_bytes(), **library},
            weights=tuple(built.program.weights),
            meta=border_rows(model),
        )

    def program(self, model: SubModel, target: Target, host: Target) -> SourceModule:
        """Kernels as LLVM's assembly for the target's base, else for the host."""
        from intarsia.backends.tvm.program import program_of

        with guard(CompileError, self.name):
            _engine()
            device = _cross_device(target.base or host)
            return program_of(model, self.natives, device, int(target["opt-level"]))

    def load(self, artifact: EngineArtifact, weights: Arrays, target: Target, settings: RunSettings) -> Executable:
        """Map the library, and compute what depends on weights alone."""
        with guard(LoadError, self.name):
            constants = Program.of_files(artifact.files).constants
            known = {f"{WEIGHT}/{name}": weights[name] for name in artifact.weights}
            known |= {f"{CONSTANT}/{name}": array for name, array in constants.items()}
            return Compiled(
                name=self.name,
                kernels=_loaded(artifact.files),
                plan=Plan.of_bytes(artifact.files["plan.json"]),
                known=known,
                threads=thread_count(target, settings),
                meta=artifact.meta,
            )

    def export(self, model: SubModel, target: Target, settings: RunSettings, folder: Path) -> tuple[Path, ...]:
        """Kernels as C or as LLVM's text, the calls of them with what they were compiled for, and ``model.onnx``."""
        with guard(CompileError, self.name):
            built = _Built.of(lower(model, self.natives), target)
            source = f"kernels.{'c' if _base(target) == 'c' else 'll'}"
            texts = {
                source: built.library.inspect_source(),
                "plan.json": built.plan.to_bytes().decode(),
                "target.json": str(built.device),
            }
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")
        model.save(folder / "model.onnx")
        return (*(folder / name for name in texts), folder / "model.onnx")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Built:
    """A program as TVM compiled it: which kernels are called, TVM's module of them, and TVM's target."""

    program: Program
    plan: Plan
    library: Any
    device: Any

    @classmethod
    def of(cls, program: Program, target: Target) -> Self:
        """Compile it for the target's base."""
        engine = _engine()
        device = _device(target)
        module = module_of(program, device, int(target["opt-level"]))
        library = engine.tirx.build(module.kernels, target=device)
        return cls(program=program, plan=module.plan, library=library, device=device)

    def linked(self, target: Target) -> dict[str, bytes]:
        """A library to be mapped, where there is what links it; else LLVM's text, which is compiled when it is loaded.

        Raises:
            CompileError: C source needs a compiler, and there is none.
        """
        from tvm.support import cc

        is_c = _base(target) == "c"
        with scratch() as folder:
            if cc.get_cc():
                file = folder / "kernels.so"
                options = [*compiler_flags(target.base), *_C_OPTIONS] if is_c else []
                self.library.export_library(str(file), workspace_dir=folder, options=options)
            elif is_c:
                raise CompileError(_NAME, "there is no C compiler; install one, or name it in CC")
            else:
                file = folder / "kernels.ll"
                self.library.write_to_file(str(file), "ll")
            return {file.name: file.read_bytes()}


def _engine() -> Any:
    # It imports PyTorch where that is installed, which takes seconds, and does without.
    is_here = "torch" in sys.modules
    sys.modules.setdefault("torch", None)  # type: ignore[arg-type]
    try:
        import tvm
    finally:
        if not is_here:
            del sys.modules["torch"]
    return tvm


def _base(target: Target) -> str:
    return target.base.kind.name if target.base else "llvm"


def _device(target: Target) -> Any:
    """What TVM generates code for: the target's base, else this machine's processor."""
    from tvm.target import Target as Device

    base = processor_of(target)
    if base.kind.name == "c":
        return Device({"kind": "c", **stated(base, ("mcpu", "march"))})
    facts = {"mtriple": base["mtriple"], "mcpu": base.mcpu, "mattr": list(base.mattr)}
    effort = {"opt-level": target.options["opt-level"]} if "opt-level" in target.options else {}
    told_more = effort | dict(stated(base, _LLVM))
    known = {name: list(value) if isinstance(value, tuple) else value for name, value in told_more.items()}
    return Device({"kind": base.kind.name} | {name: value for name, value in facts.items() if value} | known)


def _cross_device(processor: Target) -> Any:
    """A processor as LLVM is told of it; this machine's where nothing is said of it."""
    from tvm.target import Target as Device

    processor = processor if processor.features.architecture else Target.detect()
    abi = processor.options.get("mabi", "lp64d") if processor.features.architecture == "riscv" else None
    facts = {
        "mtriple": machines.triple_of(processor),
        "mcpu": processor.mcpu,
        "mattr": list(machines.features_of(processor)),
        "mabi": abi,
        "mfloat-abi": "hard" if machines.triple_of(processor).endswith("hf") else None,
    }
    return Device({"kind": "llvm"} | {name: value for name, value in facts.items() if value})


def _loaded(files: Mapping[str, bytes]) -> Any:
    """TVM's module of the kernels. A mapped file may be removed."""
    _engine()
    from tvm import runtime

    with scratch() as folder:
        for name in ("kernels.so", "kernels.ll"):
            if name in files:
                path = folder / name
                path.write_bytes(files[name])
                return runtime.load_module(str(path))
    raise LoadError(_NAME, "the artifact holds no kernels")
