"""Kernels that were captured once, on a device of tinygrad's, and the copies to where they read and write."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from intarsia.backends.contract import Arrays, BoundCall, Executable, Places, as_port, guarded
from intarsia.backends.lowering.interpreter import Interpreter, Tensor
from intarsia.backends.lowering.program import Program
from intarsia.backends.tinygrad.kernels import kernel_of, package

if TYPE_CHECKING:
    import numpy as np

LOCK = threading.RLock()
"""What is captured is kept in variables of the module, and one queue takes what all threads submit."""


class Captured(Executable):
    """Compiled kernels in order, between tensors that stay where they are."""

    let_go = ("_run", "_given", "_wanted")

    def __init__(self, program: Program, weights: Arrays, meta: Mapping[str, Any], device: str) -> None:
        """Trace and compile for a device, as tinygrad calls it: ``CPU``, ``CL`` or ``CL:1``."""
        super().__init__(meta)
        arrays = program.known | {place: weights[name] for name, place in program.weights.items()}
        known = {place: _tensor(array, device) for place, array in arrays.items()}
        places = {value.name: _empty(value.dtype, value.shape or (), device) for value in self.inputs}
        self._given = {name: tensor for name, tensor in places.items() if tensor.numel()}
        known |= {program.inputs[name]: tensor for name, tensor in places.items() if name not in self._given}
        run = Interpreter(program, kernel_of, [program.inputs[name] for name in self._given], known)
        # Copies, since an output may be an input, or a tensor that is there already: of those nothing is captured.
        # What depends on weights alone is computed once, and pruned.
        self._run = package().TinyJit(lambda *tensors: [each.clone() for each in run(*tensors)], prune=True)
        for _ in range(2):  # the first compiles, the second captures
            self._wanted = self._run(*self._given.values())

    def bind(self, inputs: Places, outputs: Places) -> BoundCall:
        """Every call copies the inputs to where the kernels read them, and the results from where they write them."""
        run, tensors = self._run, tuple(self._given.values())
        given = [(as_port(inputs[name]), tensor.uop.buffer) for name, tensor in self._given.items()]
        results = zip(self.outputs, self._wanted, strict=True)
        wanted = [(as_port(outputs[value.name]), tensor.uop.buffer) for value, tensor in results if tensor.numel()]

        def call() -> None:
            with LOCK:
                for port, buffer in given:
                    _put(buffer, port.array)
                run(*tensors)
                for port, buffer in wanted:
                    _get(buffer, port.array)

        return guarded(call, "tinygrad")


def _empty(dtype: str, shape: Sequence[int], device: str) -> Tensor:
    """A tensor that has its memory, filled with zeros; without elements it has none."""
    import numpy as np

    if 0 in shape:
        return package().Tensor.zeros(*shape, dtype=dtype, device=device)
    made = package().Tensor.empty(*shape, dtype=dtype, device=device)
    made.uop.buffer.ensure_allocated()
    _put(made.uop.buffer, np.zeros(shape, dtype))
    return made


def _tensor(array: np.ndarray, device: str) -> Tensor:
    made = _empty(array.dtype.name, array.shape, device)
    if array.size:
        _put(made.uop.buffer, array)
    return made


def _put(buffer: Any, array: np.ndarray) -> None:
    """Copy an array into a buffer: where it lies in the host's memory, else by the device's queue, which keeps it."""
    import numpy as np

    source = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    if _is_on_host(buffer):
        np.copyto(_seen(buffer), source)
    else:
        # It takes no memory that cannot be written to, such as a mapped file.
        lent = source if source.flags.writeable else source.copy()
        buffer.allocator._copyin(buffer._buf, lent.data)


def _get(buffer: Any, array: np.ndarray) -> None:
    """Copy a buffer into an array, once all is done that was submitted."""
    import numpy as np

    place = array.reshape(-1).view(np.uint8)
    if _is_on_host(buffer):
        np.copyto(place, _seen(buffer))
    else:
        buffer.allocator._copyout(place.data, buffer._buf)


def _is_on_host(buffer: Any) -> bool:
    return hasattr(buffer.allocator, "_as_buffer")


def _seen(buffer: Any) -> np.ndarray:
    """The bytes of a buffer where they lie, once all is done that was submitted."""
    import numpy as np

    return np.frombuffer(buffer.as_memoryview(force_zero_copy=True), np.uint8)
