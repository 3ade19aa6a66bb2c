"""What IREE compiled, loaded on a device and bound to arrays: the runtime's half of `iree`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from intarsia.backends.base import (
    BoundCall,
    Executable,
    Signature,
    Slot,
    following,
    guard,
    guarded,
)
from intarsia.backends.memory import writable
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

    def __init__(
        self,
        module: bytes,
        weights: Mapping[str, np.ndarray],
        inputs: tuple[Signature, ...],
        outputs: tuple[Signature, ...],
        device: Device,
    ) -> None:
        import iree.runtime as runtime

        self.inputs = inputs
        self.outputs = outputs
        self._device = device
        instance = _instance()
        index = runtime.ParameterIndex()
        for name, array in weights.items():
            index.add_buffer(name, _bytes_of(_lying_well(array)))
        code = runtime.VmModule.copy_buffer(instance, module)
        parameters = runtime.create_io_parameters_module(instance, index.create_provider(scope=PARAMETERS))
        hal = runtime.create_hal_module(instance, device.handle)
        self._context = runtime.VmContext(instance, [hal, parameters, code])
        self._entry = code.lookup_function(ENTRY)
        self._held: tuple[Any, ...] = (index, weights)

    def bind(self, inputs: Mapping[str, np.ndarray | Slot], outputs: Mapping[str, np.ndarray | Slot]) -> BoundCall:
        """Inputs are handed over as the device can have them; results are copied from memory that it owns."""
        from iree.runtime import HalBufferView, VmVariantList

        context, entry = self._context, self._entry
        given = [self._device.given() for _ in self.inputs]
        taken = [self._device.taken() for _ in self.outputs]

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

    def close(self) -> None:
        """Drop the code; calls bound to it keep it alive until they are dropped too."""
        self._context = self._entry = None
        self._held = ()


class Given(ABC):
    """An input."""

    @abstractmethod
    def point(self, array: np.ndarray) -> None:
        """Read this array from now on."""

    @abstractmethod
    def fresh(self) -> Any:
        """A view of its content of now, for the device."""


class Taken(ABC):
    """An output."""

    @abstractmethod
    def point(self, array: np.ndarray) -> None:
        """Write to this array from now on."""

    @abstractmethod
    def fill(self, result: Any) -> None:
        """Copy what the device computed."""


class Device(ABC):
    """Where compiled code runs. Loading for it and binding differ by where its memory is."""

    handle: Any

    @abstractmethod
    def given(self) -> Given:
        """A new input."""

    @abstractmethod
    def taken(self) -> Taken:
        """A new output."""


class _Cpu(Device):
    """Threads of this process, and its memory."""

    def __init__(self, threads: int) -> None:
        import iree.runtime as runtime

        # The flag is read when a driver is made.
        runtime.flags.parse_flags(f"--task_topology_group_count={threads}")
        self.handle = _driver("local-task").create_default_device()

    def given(self) -> Given:
        return _ReadInPlace(self.handle.allocator)

    def taken(self) -> Taken:
        return _ReadFromMemory()


class _Vulkan(Device):
    """The machine's first Vulkan device. Values are brought there and back in each call."""

    def __init__(self) -> None:
        self.handle = _driver("vulkan").create_default_device()

    def given(self) -> Given:
        return _Uploaded(self.handle)

    def taken(self) -> Taken:
        return _Downloaded(self.handle)


class _ReadInPlace(Given):
    """The caller's own memory where compiled code may read it, else a copy that each call makes."""

    def __init__(self, allocator: Any) -> None:
        self._allocator = allocator
        self._copied: tuple[np.ndarray, np.ndarray] | None = None
        self._view: Any = None

    def point(self, array: np.ndarray) -> None:
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
        if self._copied is not None:
            memory, source = self._copied
            memory[...] = source
        return self._view


class _ReadFromMemory(Taken):
    """One copy."""

    _place: np.ndarray

    def point(self, array: np.ndarray) -> None:
        self._place = _bytes_of(array)

    def fill(self, result: Any) -> None:
        self._place[...] = result.map().asarray(self._place.shape, self._place.dtype)


class _Uploaded(Given):
    """A new buffer on the device for each call."""

    _source: np.ndarray

    def __init__(self, device: Any) -> None:
        self._device = device

    def point(self, array: np.ndarray) -> None:
        self._source = writable(array)

    def fresh(self) -> Any:
        import iree.runtime as runtime

        return self._device.allocator.allocate_buffer_copy(
            memory_type=int(runtime.MemoryType.DEVICE_LOCAL),
            allowed_usage=int(runtime.BufferUsage.DEFAULT),
            device=self._device,
            buffer=self._source,
            element_type=_element_type(self._source.dtype),
        )


class _Downloaded(Taken):
    """By way of memory that the device and the process both see."""

    _place: np.ndarray
    _between: Any

    def __init__(self, device: Any) -> None:
        self._device = device

    def point(self, array: np.ndarray) -> None:
        import iree.runtime as runtime

        self._place = _bytes_of(array)
        self._between = self._device.allocator.allocate_buffer(
            memory_type=int(runtime.MemoryType.HOST_LOCAL | runtime.MemoryType.DEVICE_VISIBLE),
            allowed_usage=int(runtime.BufferUsage.TRANSFER_TARGET | runtime.BufferUsage.MAPPING_SCOPED),
            allocation_size=max(self._place.nbytes, 1),
        )

    def fill(self, result: Any) -> None:
        from iree.runtime import HalFence

        if not self._place.nbytes:
            return
        done = self._device.create_semaphore(0)
        start, end = HalFence.create_at(done, 0), HalFence.create_at(done, 1)
        self._device.queue_copy(result.get_buffer(), self._between, wait_semaphores=start, signal_semaphores=end)
        end.wait()
        self._place[...] = self._between.map().asarray(self._place.shape, self._place.dtype)


@cache
def cpu(threads: int) -> Device:
    """A CPU device with so many threads, which all that is loaded on it shares."""
    return _Cpu(threads)


@cache
def vulkan() -> Device:
    """The Vulkan device that IREE takes by itself."""
    return _Vulkan()


@cache
def _instance() -> Any:
    import iree.runtime as runtime

    return runtime.VmInstance()


def _driver(name: str) -> Any:
    """A driver that is not shared: the package's own function keeps the first one, with the threads it has."""
    from iree.runtime._binding import create_hal_driver

    return create_hal_driver(name)


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
