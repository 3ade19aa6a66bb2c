"""What IREE compiled, loaded on a device and bound to arrays: the runtime's half of `iree`."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from intarsia.backends.contract import Arrays, BoundCall, Executable, Places, Signature, following, guard, guarded
from intarsia.backends.contract.shared_memory import writable
from intarsia.errors import LoadError

if TYPE_CHECKING:
    import numpy as np

ENTRY = "main"
"""The name of the compiled function."""
PARAMETERS = "weights"
"""The scope in which compiled code asks for the weights."""
_ALIGNMENT = 64
"""Bytes. Code for a CPU loads whole vectors from what it is given, without asking whether it may."""


class Loaded(Executable):
    """A compiled function on a device, with its weights, which it packs as it likes them."""

    let_go = ("_context", "_entry", "_held")

    def __init__(
        self, module: bytes, weights: Arrays, inputs: tuple[Signature, ...], outputs: tuple[Signature, ...], device: Any
    ) -> None:
        import iree.runtime as runtime

        self.inputs = inputs
        self.outputs = outputs
        self._allocator = device.allocator
        instance = _instance()
        index = runtime.ParameterIndex()
        for name, array in weights.items():
            index.add_buffer(name, _bytes_of(_lying_well(array)))
        code = runtime.VmModule.copy_buffer(instance, module)
        parameters = runtime.create_io_parameters_module(instance, index.create_provider(scope=PARAMETERS))
        hal = runtime.create_hal_module(instance, device)
        self._context = runtime.VmContext(instance, [hal, parameters, code])
        self._entry = code.lookup_function(ENTRY)
        self._held: tuple[Any, ...] = (index, weights)

    def bind(self, inputs: Places, outputs: Places) -> BoundCall:
        """Inputs are read where they lie, if they lie well; results are copied from memory that IREE owns."""
        from iree.runtime import HalBufferView, VmVariantList

        context, entry = self._context, self._entry
        given = [_Given(self._allocator) for _ in self.inputs]
        taken = [_Taken() for _ in self.outputs]

        def call() -> None:
            arguments, results = VmVariantList(len(given)), VmVariantList(len(taken))
            for each in given:
                arguments.push_ref(each.fresh().ref)
            context.invoke(entry, arguments, results)
            for position, place in enumerate(taken):
                place.fill(results.get_as_object(position, HalBufferView))

        with guard(LoadError, "iree"):
            places = [(each.point, inputs[value.name]) for each, value in zip(given, self.inputs, strict=True)]
            places += [(each.point, outputs[value.name]) for each, value in zip(taken, self.outputs, strict=True)]
            bound = following(places, call)
        return guarded(bound, "iree", (self._held,))


class _Given:
    """An input: the caller's own memory where compiled code may read it, else a copy that each call makes."""

    def __init__(self, allocator: Any) -> None:
        self._allocator = allocator
        self._copied: tuple[np.ndarray, np.ndarray] | None = None
        self._view: Any = None

    def point(self, array: np.ndarray) -> None:
        """Read this array from now on."""
        import iree.runtime as runtime

        memory = _lying_well(array)
        self._copied = None if memory.ctypes.data == array.ctypes.data else (memory, array)
        buffer = self._allocator.import_host_allocation(
            _bytes_of(memory),
            memory_type=int(runtime.MemoryType.DEVICE_LOCAL | runtime.MemoryType.HOST_VISIBLE),
            allowed_usage=int(runtime.BufferUsage.DEFAULT),
        )
        self._view = runtime.HalBufferView(buffer, array.shape, _element_type(array.dtype))

    def fresh(self) -> Any:
        """A view of its content of now."""
        if self._copied is not None:
            memory, source = self._copied
            memory[...] = source
        return self._view


class _Taken:
    """An output: one copy of what was computed."""

    _place: np.ndarray

    def point(self, array: np.ndarray) -> None:
        """Write to this array from now on."""
        self._place = _bytes_of(array)

    def fill(self, result: Any) -> None:
        """Copy what was computed."""
        self._place[...] = result.map().asarray(self._place.shape, self._place.dtype)


@cache
def device(threads: int) -> Any:
    """A CPU device with so many threads, which all that is loaded on it shares."""
    import iree.runtime as runtime
    from iree.runtime._binding import create_hal_driver

    # The flag is read when a driver is made; the package's own function keeps the first one, with the threads it has.
    runtime.flags.parse_flags(f"--task_topology_group_count={threads}")
    return create_hal_driver("local-task").create_default_device()


@cache
def _instance() -> Any:
    import iree.runtime as runtime

    return runtime.VmInstance()


def _element_type(dtype: np.dtype) -> Any:
    from iree.runtime.dtypes import map_dtype_to_hal_element_type

    return map_dtype_to_hal_element_type(dtype)


def _bytes_of(array: np.ndarray) -> np.ndarray:
    import numpy as np

    return array.reshape(-1).view(np.uint8)


def _lying_well(array: np.ndarray) -> np.ndarray:
    """The array's memory, or a copy where it does not start where vectors are loaded from."""
    import numpy as np

    if array.ctypes.data % _ALIGNMENT == 0:
        return writable(array)
    room = np.empty(array.nbytes + _ALIGNMENT, np.uint8)
    start = -room.ctypes.data % _ALIGNMENT
    copy = room[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy
