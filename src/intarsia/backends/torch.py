"""PyTorch, operator by operator. What it runs is the shared lowering; each primitive is a call or two of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from intarsia.backends import openmp
from intarsia.backends.base import (
    Availability,
    BoundCall,
    EngineArtifact,
    Executable,
    Gap,
    GapReason,
    Slot,
    Traits,
    following,
    guard,
    guarded,
    signatures,
    thread_count,
)
from intarsia.backends.lowering.backend import NOT_LOWERED, LoweredBackend
from intarsia.backends.lowering.interpreter import Interpreter, Tensor
from intarsia.backends.lowering.lower import lower
from intarsia.backends.lowering.program import Instruction, Program
from intarsia.backends.torch_kernels import NATIVES, TYPES, kernel_of, lack, tensor_over
from intarsia.backends.wheel import installed
from intarsia.errors import LoadError

if TYPE_CHECKING:
    import numpy as np

    from intarsia.config.settings import RunSettings
    from intarsia.graph import SubModel
    from intarsia.target import Target

_NAME = "torch"


class TorchBackend(LoweredBackend):
    """Runs a program from Python, one call of PyTorch after the other."""

    name = _NAME
    extra = _NAME
    natives = NATIVES
    licence = "BSD-3-Clause"
    traits = Traits(
        writes_in_place=False,
        compiles_slowly=True,
        compiles_once=True,
        follows_ports=True,
        spins=True,
        dtypes=TYPES,
    )
    gaps: ClassVar[tuple[Gap, ...]] = (
        Gap(
            what="uint16, uint32, uint64",
            why=GapReason.UPSTREAM,
            evidence="NotImplementedError: \"add_stub\" not implemented for 'UInt32' and the like for most operators",
        ),
        NOT_LOWERED,
    )

    def probe(self) -> Availability:
        """Version and presence of the wheel; the engine itself is not loaded."""
        return installed("torch", self.extra)

    def environment(self, settings: RunSettings) -> Mapping[str, str | None]:
        """How long the threads of GNU's OpenMP spin."""
        return openmp.ENVIRONMENT[settings.spin]

    def judge(self, each: Instruction, reads: tuple[Instruction, ...]) -> str | None:
        """By element type, and by number of dimensions where layers are written for some."""
        return lack(self.name, each, reads)

    def load(
        self,
        artifact: EngineArtifact,
        weights: Mapping[str, np.ndarray],
        target: Target,
        settings: RunSettings,
    ) -> Executable:
        """Lay the weights under tensors, and compute what depends on nothing else."""
        with guard(LoadError, self.name):
            import torch

            torch.set_num_threads(thread_count(target, settings))
            program = Program.of_files(artifact.files)
            run = prepared(program, weights, [name for name, *_ in artifact.meta["inputs"]])
            return TensorCall(self.name, run, artifact.meta, owner=weights)

    def export(self, model: SubModel, target: Target, settings: RunSettings, folder: Path) -> tuple[Path, ...]:
        """The program as text, and ``model.onnx``: PyTorch has no file that holds a graph without running it."""
        folder.mkdir(parents=True, exist_ok=True)
        program, path = folder / "program.txt", folder / "model.onnx"
        program.write_text(f"{lower(model, self.natives)}\n", encoding="utf-8")
        model.save(path)
        return (program, path)


def prepared(program: Program, weights: Mapping[str, np.ndarray], inputs: Sequence[str]) -> Interpreter:
    """A program over these weights, to be called with tensors for the inputs."""
    import torch

    arrays = program.known | {place: weights[name] for name, place in program.weights.items()}
    with torch.no_grad():
        known = {place: tensor_over(array) for place, array in arrays.items()}
        return Interpreter(program, kernel_of, [program.inputs[name] for name in inputs], known)


class TensorCall(Executable):
    """What takes tensors and gives tensors, between buffers."""

    def __init__(
        self, engine: str, run: Callable[..., Sequence[Tensor]], meta: Mapping[str, Any], owner: object = None
    ) -> None:
        """Prepare.

        Args:
            engine: Its name.
            run: Takes a tensor for each input, in order.
            meta: Of the artifact.
            owner: Of memory that ``run`` knows only by pointer.
        """
        self.inputs = signatures(meta["inputs"])
        self.outputs = signatures(meta["outputs"])
        self._engine = engine
        self._run: Callable[..., Sequence[Tensor]] | None = run
        self._owner = owner

    def bind(self, inputs: Mapping[str, np.ndarray | Slot], outputs: Mapping[str, np.ndarray | Slot]) -> BoundCall:
        """Tensors over the buffers; results are copied to theirs."""
        import torch

        given: list[Tensor] = [None] * len(self.inputs)
        wanted: list[Tensor] = [None] * len(self.outputs)
        run = self._run
        assert run is not None, "bound before it is closed"

        @torch.inference_mode()  # type: ignore[untyped-decorator]
        def call() -> None:
            for place, result in zip(wanted, run(*given), strict=True):
                place.copy_(result)

        with guard(LoadError, self._engine):
            places = [
                (partial(_put, side, number), buffers[value.name])
                for values, buffers, side in ((self.inputs, inputs, given), (self.outputs, outputs, wanted))
                for number, value in enumerate(values)
            ]
            bound = following(places, call)
        return guarded(bound, self._engine, (self._owner,))

    def close(self) -> None:
        """Drop it; calls bound to it keep it alive until they are dropped too."""
        self._run = None
        self._owner = None


def _put(side: list[Tensor], number: int, array: np.ndarray) -> None:
    side[number] = tensor_over(array)
