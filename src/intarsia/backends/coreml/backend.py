"""Core ML: the shared lowering is written as an ML program: a package that can be built anywhere, and runs on a Mac."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from intarsia.backends.contract import (
    Arrays,
    Availability,
    EngineArtifact,
    Executable,
    Gap,
    Traits,
    border_rows,
    guard,
    reading,
)
from intarsia.backends.contract.node_facts import words
from intarsia.backends.coreml import kernels
from intarsia.backends.lowering.backend import NOT_LOWERED, LoweredBackend
from intarsia.backends.lowering.lower import lower
from intarsia.backends.lowering.program import Instruction
from intarsia.backends.package_probe import installed
from intarsia.errors import CompileError, LoadError
from intarsia.files import scratch

if TYPE_CHECKING:
    from intarsia.config.settings import RunSettings
    from intarsia.graph import SubModel
    from intarsia.target import Target

_NAME = "coreml"
_PACKAGE = "model.mlpackage"
_NOT_RUN = "only built here: nothing of ours hands a package to Core ML, which runs on machines of Apple's"


class CoremlBackend(LoweredBackend):
    """Compiles and exports; what it says it takes is what can be written, as no answer of Core ML's was ever seen."""

    name = _NAME
    extra = _NAME
    runs_elsewhere = _NOT_RUN
    natives = words("relu sigmoid softmax gelu leaky_relu layer_norm conv_bias")
    licence = "BSD-3-Clause"
    machine_code = ()
    reads = reading({_NAME: "compute-precision"})
    traits = Traits(writes_in_place=False, dtypes=words("float32 int32"))
    gaps: ClassVar[tuple[Gap, ...]] = (
        Gap.not_implemented("running a package", _NOT_RUN),
        Gap.upstream(
            "more than 5 dimensions, and none",
            "coremltools: Core ML only supports tensors with rank <= 5; inputs have one dimension at least",
        ),
        Gap.not_implemented(
            "recurrent layers and what is addressed by computed indices",
            "docs/decisions/0010: meant are networks of convolutions, and transformers of fixed shape",
        ),
        NOT_LOWERED,
    )

    def probe(self) -> Availability:
        """Never usable: the version of coremltools where packages can be built, and that they do not run."""
        return Availability(usable=False, version=installed("coremltools", self.extra).version, reason=_NOT_RUN)

    def environment(self, settings: RunSettings) -> Mapping[str, str | None]:
        """No progress bars."""
        return {"TQDM_DISABLE": "1"}

    def judge(self, each: Instruction, reads: tuple[Instruction, ...]) -> str | None:
        """By operation, element type and number of dimensions."""
        reason = kernels.lack(each, reads)
        return None if reason is None else f"{self.name} has no {reason}"

    def compile(self, model: SubModel, target: Target, settings: RunSettings) -> EngineArtifact:
        """The package's files, weights among them."""
        with guard(CompileError, _NAME), scratch() as folder:
            package = self._written(model, target, folder)
            files = {
                path.relative_to(package).as_posix(): path.read_bytes()
                for path in sorted(package.rglob("*"))
                if path.is_file()
            }
        return EngineArtifact(files=files, meta=border_rows(model))

    def load(self, artifact: EngineArtifact, weights: Arrays, target: Target, settings: RunSettings) -> Executable:
        """Not here.

        Raises:
            LoadError: Always.
        """
        raise LoadError(_NAME, _NOT_RUN)

    def export(self, model: SubModel, target: Target, settings: RunSettings, folder: Path) -> tuple[Path, ...]:
        """``model.mlpackage``, for Core ML's own interfaces; inputs are ``x0, x1, …`` and outputs ``y0, y1, …``."""
        folder.mkdir(parents=True, exist_ok=True)
        with guard(CompileError, _NAME):
            package = self._written(model, target, folder)
        return tuple(path for path in sorted(package.rglob("*")) if path.is_file())

    def _written(self, model: SubModel, target: Target, folder: Path) -> Path:
        program = lower(model, self.natives)
        weights = {name: model.weights[name].array() for name in program.weights}
        inputs = [value.name for value in model.inputs]
        path = folder / _PACKAGE
        kernels.write(program, weights, inputs, str(target["compute-precision"]), path)
        return path
