"""PyTorch, operator by operator. What it runs is the shared lowering; each primitive is a call or two of its own.

On a GPU of NVIDIA's those are calls of cuDNN and cuBLAS, and values stay there from one step to the next.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import util
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from intarsia.backends.contract import (
    Arrays,
    Availability,
    BoundCall,
    DeviceValue,
    EngineArtifact,
    Executable,
    ForkFault,
    Gap,
    Places,
    Signature,
    Traits,
    following,
    guard,
    guarded,
    openmp,
    reading,
    thread_count,
)
from intarsia.backends.contract.processor import torch_limit
from intarsia.backends.lowering.backend import NOT_LOWERED, LoweredBackend
from intarsia.backends.lowering.interpreter import Interpreter, Tensor
from intarsia.backends.lowering.lower import refusal
from intarsia.backends.lowering.program import Instruction, Program
from intarsia.backends.package_probe import installed
from intarsia.backends.torch.device_memory import TensorMemory
from intarsia.backends.torch.kernels import NATIVES, TYPES, kernel_of, lack, lack_on_cuda, tensor_over
from intarsia.errors import LoadError
from intarsia.target import KINDS

if TYPE_CHECKING:
    import numpy as np

    from intarsia.config.emulated import InstructionSet
    from intarsia.config.settings import RunSettings
    from intarsia.graph import Graph, Node
    from intarsia.target import Target

_NAME = "torch"


class TorchBackend(LoweredBackend):
    """Runs a program from Python, one call of PyTorch after the other."""

    name = _NAME
    extra = _NAME
    natives = NATIVES
    licence = "BSD-3-Clause"
    machine_code = ()
    reads = reading({_NAME: "threads"})
    traits = Traits(
        writes_in_place=False,
        compiles_slowly=True,
        compiles_once=True,
        follows_ports=True,
        device_values=True,
        spins=True,
        dtypes=TYPES,
    )
    fork_fault: ClassVar[ForkFault | None] = ForkFault.of_threads("PyTorch", "OpenMP's")
    gaps: ClassVar[tuple[Gap, ...]] = (
        Gap.upstream(
            "uint16, uint32, uint64",
            "NotImplementedError: \"add_stub\" not implemented for 'UInt32' and the like for most operators",
        ),
        NOT_LOWERED,
    )

    def probe(self) -> Availability:
        """Version and presence of the wheel, and what it was built for; the engine itself is not loaded."""
        return installed("torch", self.extra, devices=KINDS[self.name].runs_on if _is_built_for_cuda() else ("cpu",))

    def refusal(self, node: Node, graph: Graph, target: Target) -> str | None:
        """By what the node is lowered to, and by what of it the device can do."""
        judge = lack_on_cuda if _device(target) == "cuda" else lack
        return refusal(node, graph, self.natives, partial(judge, self.name))

    def environment(self, settings: RunSettings) -> Mapping[str, str | None]:
        """How long the threads of GNU's OpenMP spin."""
        return openmp.ENVIRONMENT[settings.spin]

    def masking(self, most: InstructionSet) -> Mapping[str, str]:
        """The limits of its own kernels and of oneDNN's."""
        return torch_limit(most)

    def judge(self, each: Instruction, reads: tuple[Instruction, ...]) -> str | None:
        """By element type, and by number of dimensions where layers are written for some."""
        return lack(self.name, each, reads)

    def load(self, artifact: EngineArtifact, weights: Arrays, target: Target, settings: RunSettings) -> Executable:
        """Lay the weights under tensors, and compute what depends on nothing else."""
        with guard(LoadError, self.name):
            import torch

            device = _device(target)
            torch.set_num_threads(thread_count(target, settings))
            if device == "cuda":
                torch.backends.cudnn.allow_tf32 = False  # products of ten bits, which are its default for convolutions
            program = Program.of_files(artifact.files)
            run = prepared(program, weights, [name for name, *_ in artifact.meta["inputs"]], device)
            if device == "cpu":
                return TensorCall(self.name, run, artifact.meta, owner=weights)
            return TensorCall(self.name, _sent(run, device), artifact.meta, weights, TensorMemory(self.name, device))


def _device(target: Target) -> str:
    return "cuda" if target.device_type == "cuda" else "cpu"


def _is_built_for_cuda() -> bool:
    """By the file in which the wheel says so, since importing it takes seconds."""
    found = util.find_spec("torch")
    folders = found.submodule_search_locations if found else None
    text = (Path(folders[0]) / "version.py").read_text(encoding="utf-8") if folders else ""
    return re.search(r"^cuda\b[^=]*= *['\"]", text, re.MULTILINE) is not None


def _sent(run: Interpreter, device: str) -> Callable[..., Sequence[Tensor]]:
    """With those inputs brought to the device that are not there; who copies a result to the host waits for it."""
    return lambda *tensors: run(*(tensor.to(device, non_blocking=True) for tensor in tensors))


def prepared(program: Program, weights: Arrays, inputs: Sequence[str], device: str = "cpu") -> Interpreter:
    """A program over these weights, to be called with tensors for the inputs that lie on the device."""
    import torch

    arrays = program.known | {place: weights[name] for name, place in program.weights.items()}
    with torch.no_grad():
        known = {place: tensor_over(array).to(device) for place, array in arrays.items()}
        return Interpreter(program, kernel_of, [program.inputs[name] for name in inputs], known)


class TensorCall(Executable):
    """What takes tensors and gives tensors, between buffers."""

    let_go = ("_run", "_owner")

    def __init__(
        self,
        engine: str,
        run: Callable[..., Sequence[Tensor]],
        meta: Mapping[str, Any],
        owner: object = None,
        memory: TensorMemory | None = None,
    ) -> None:
        """Prepare. ``run`` takes a tensor for each input, in order; it may know memory of ``owner`` by pointer only.

        ``memory`` is that of the device that it computes on, if that is not the CPU.
        """
        super().__init__(meta)
        self._engine = engine
        self._run: Callable[..., Sequence[Tensor]] | None = run
        self._owner = owner
        self.memory = memory

    def bind(self, inputs: Places, outputs: Places) -> BoundCall:
        """Tensors over the buffers; results are copied to theirs, or left on the device for a `DeviceValue`."""
        import torch

        given: list[Tensor] = [None] * len(self.inputs)
        wanted: list[Tensor] = [None] * len(self.outputs)
        taken = _device_values(self.inputs, inputs)
        left = dict(_device_values(self.outputs, outputs))
        run = self._run
        assert run is not None, "bound before it is closed"

        @torch.inference_mode()  # type: ignore[untyped-decorator]
        def call() -> None:
            for number, device_value in taken:
                given[number] = device_value.handle
            for number, (place, result) in enumerate(zip(wanted, run(*given), strict=True)):
                if number in left:
                    left[number].handle = result
                else:
                    place.copy_(result)

        with guard(LoadError, self._engine):
            places = [
                (partial(_put, side, number), buffers[value.name])
                for values, buffers, side in ((self.inputs, inputs, given), (self.outputs, outputs, wanted))
                for number, value in enumerate(values)
                if not isinstance(buffers[value.name], DeviceValue)
            ]
            bound = following(places, call)
        return guarded(bound, self._engine, (self._owner,))


def _device_values(values: Sequence[Signature], places: Mapping[str, Any]) -> list[tuple[int, DeviceValue]]:
    """Those of a step's values that stay on the device, by number."""
    named = ((number, places[value.name]) for number, value in enumerate(values))
    return [(number, place) for number, place in named if isinstance(place, DeviceValue)]


def _put(side: list[Tensor], number: int, array: np.ndarray) -> None:
    side[number] = tensor_over(array)
