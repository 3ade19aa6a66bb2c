"""C99 with kernels of our own, by the shared lowering: compiled here by the machine's C compiler, or exported.

What is compiled is specialised to the shapes and to the processor. Weights are packed as kernels read them, and lie in
the artifact beside the library; loading takes no compiler.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from intarsia.backends.c import NATIVES, machine
from intarsia.backends.contract import (
    Availability,
    EngineArtifact,
    Executable,
    Gap,
    NativeRequest,
    NativeStep,
    Traits,
    border_rows,
    guard,
    reading,
)
from intarsia.backends.contract.node_facts import words
from intarsia.backends.contract.source import WritesSource
from intarsia.backends.lowering.backend import NOT_LOWERED, LoweredBackend
from intarsia.errors import CompileError, LoadError
from intarsia.version import __version__

if TYPE_CHECKING:
    import numpy as np

    from intarsia.backends.c.site import Site
    from intarsia.backends.c.source import Source
    from intarsia.backends.lowering.program import Instruction, Program
    from intarsia.codegen.module import Kernel, SourceModule
    from intarsia.config.settings import RunSettings
    from intarsia.graph import SubModel
    from intarsia.json_types import JsonType
    from intarsia.target import Target

_NAME = "c"
_LIBRARY = "model.so"
_TEXT = "model.c"
_CONSTANTS = "constants.bin"
_TYPES = words("float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool")


class CBackend(LoweredBackend, WritesSource):
    """One function, which one thread runs; the text is in the artifact, for who wants to read what runs."""

    name = _NAME
    extra = ""
    natives = NATIVES
    licence = "Apache-2.0"
    machine_code = (_LIBRARY,)
    reads = reading({_NAME: "mcpu mattr mtriple march board ram flash stack"})
    native_lack = None
    traits = Traits(writes_in_place=True, compiles_slowly=True, follows_ports=True, dtypes=_TYPES)
    gaps: ClassVar[tuple[Gap, ...]] = (
        NOT_LOWERED,
        Gap.not_implemented("float16, bfloat16, float8, int4", "C99 has no such types"),
        Gap.not_implemented("more than one thread", "a call runs on the thread that makes it"),
    )

    def probe(self) -> Availability:
        """Whether there is a C compiler; the version is that of our kernels."""
        from intarsia.backends.c import compiler

        lack = compiler.lack()
        if lack is not None:
            reason, _, fix = lack.partition("; ")
            return Availability(usable=False, reason=reason, fix=fix or None)
        return self.probe_loading()

    def probe_loading(self) -> Availability:
        """Always: the artifact is a library."""
        return Availability(usable=True, version=_version(), devices=("cpu",))

    def judge(self, each: Instruction, reads: tuple[Instruction, ...]) -> str | None:
        """By the kernels that there are."""
        from intarsia.backends.c import choose

        return choose.lack(each, reads)

    def compile(self, model: SubModel, target: Target, settings: RunSettings) -> EngineArtifact:
        """Lower, rewrite, write, and have it compiled."""
        from intarsia.backends.c import compiler

        with guard(CompileError, self.name):
            source = self._source(model, target)
            library = compiler.library(source.text, target)
        return EngineArtifact(
            files={_LIBRARY: library, _TEXT: source.text.encode(), _CONSTANTS: source.constants},
            meta={
                **border_rows(model),
                "workspace": source.workspace,
                "constants": list(source.offsets),
                "library": machine.facts(compiler.instruction_sets(target)),
            },
        )

    def meta_type(self, meta: Mapping[str, Any]) -> JsonType:
        """Its borders, the memory it takes, and what the library serves."""
        from intarsia.backends.contract.metadata import COMPILED_C

        return COMPILED_C

    def load(
        self, artifact: EngineArtifact, weights: Mapping[str, np.ndarray], target: Target, settings: RunSettings
    ) -> Executable:
        """Map the library."""
        with guard(LoadError, self.name):
            from intarsia.backends.c.executable import Compiled

            fault = machine.unserved(artifact.meta["library"])
            if fault:
                raise LoadError(self.name, f"the artifact's library cannot run here: {fault}; compile it here")
            return Compiled(artifact.files[_LIBRARY], artifact.files[_CONSTANTS], artifact.meta)

    def export(self, model: SubModel, target: Target, settings: RunSettings, folder: Path) -> tuple[Path, ...]:
        """``model.c`` and the constants that are handed to it, as they are compiled here, and ``model.onnx``."""
        with guard(CompileError, self.name):
            source = self._source(model, target)
        folder.mkdir(parents=True, exist_ok=True)
        text, constants, network = folder / _TEXT, folder / _CONSTANTS, folder / "model.onnx"
        text.write_text(source.text, encoding="utf-8")
        constants.write_bytes(source.constants)
        model.save(network)
        return tuple(path for path in (text, constants, network) if path.stat().st_size)

    def native(self, request: NativeRequest) -> NativeStep:
        """What its machine code takes to be there, which is compared with what is."""
        meta, files = request.artifact.meta, request.artifact.files
        facts = {name: meta[name] for name in ("inputs", "outputs", "workspace", "constants")}
        return {"loader": self.name, "threads": 1, "bytes": len(files[_CONSTANTS]), **facts}

    def module(self, model: SubModel, target: Target) -> SourceModule:
        """The module of a sub-graph, written for a target's processor; in integers where there are kernels for them."""
        from intarsia.backends.c.site import NoKernelError
        from intarsia.backends.lowering.integer.lower import lower_integers
        from intarsia.backends.lowering.lower import lower

        try:
            return _module(model, lower_integers(model, self.natives), target)
        except NoKernelError:
            return _module(model, lower(model, self.natives), target)

    def kernels(self, site: Site, target: Target) -> Sequence[Kernel]:
        """Every way to compute an instruction, best guess first.

        Raises:
            NoKernelError: There is none.
        """
        from intarsia.backends.c import choose

        return choose.kernels_for(site)

    def _source(self, model: SubModel, target: Target) -> Source:
        from intarsia.backends.c.source import source_of

        return source_of(self.module(model, target))


def _module(model: SubModel, program: Program, target: Target) -> SourceModule:
    from intarsia.backends.c.network import known_of, network, prepared
    from intarsia.backends.c.processor import Processor

    weights = {name: model.weights[name].array() for name in program.weights}
    return network(*prepared(program, known_of(program, weights)), Processor.of(target))


@cache
def _version() -> str:
    """Ours, and a digest of what the C is made by: what was measured of other kernels says nothing of these."""
    digest = sha256()
    folder = Path(__file__).parent
    for path in sorted(folder.rglob("*")):
        if path.suffix in {".py", ".c", ".h"}:
            digest.update(f"{path.relative_to(folder)}\0".encode() + path.read_bytes())
    return f"{__version__}+{digest.hexdigest()[:8]}"
