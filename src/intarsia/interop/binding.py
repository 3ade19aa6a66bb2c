"""`IOBinding`: the arrays of a session's runs, fixed before them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from intarsia.interop.refusal import refuse_absent
from intarsia.interop.values import ElementType, OrtValue, check_device, element_dtype, fill
from intarsia.runtime.executors.arrays import array_at


class Session(Protocol):
    """What a binding asks of its session."""

    def check_input(self, name: str) -> None:
        """Refuse a name that no input has."""

    def check_output(self, name: str) -> None:
        """Refuse a name that no output has."""


class IOBinding:
    """What a session reads and where it leaves what it computes.

    Inputs are read where they lie. A result is copied into the buffer that was bound for it; without one, it is handed
    out as the engine wrote it.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._inputs: dict[str, Any] = {}
        self._buffers: dict[str, np.ndarray | None] = {}
        self._results: dict[str, np.ndarray] = {}

    @property
    def feeds(self) -> Mapping[str, Any]:
        """What is bound to the inputs."""
        return self._inputs

    def bind_cpu_input(self, name: str, arr_on_cpu: Any) -> None:
        """Read an input from an array."""
        self._session.check_input(name)
        self._inputs[name] = arr_on_cpu

    def bind_input(
        self,
        name: str,
        device_type: str,
        device_id: int,
        element_type: ElementType,
        shape: Sequence[int],
        buffer_ptr: int,
    ) -> None:
        """Read an input from an address in the host's memory, which the caller keeps alive.

        Raises:
            UnsupportedError: The address is on a device.
        """
        check_device(device_type, device_id)
        self.bind_cpu_input(name, array_at(buffer_ptr, shape, element_dtype(element_type)))

    def bind_ortvalue_input(self, name: str, ortvalue: OrtValue) -> None:
        """Read an input from a value."""
        self.bind_cpu_input(name, ortvalue.numpy())

    def bind_output(
        self,
        name: str,
        device_type: str = "cpu",
        device_id: int = 0,
        element_type: ElementType = None,
        shape: Sequence[int] | None = None,
        buffer_ptr: int | None = None,
    ) -> None:
        """Leave an output in memory of its own, or at an address in the host's memory, which the caller keeps alive.

        Raises:
            UnsupportedError: The address is on a device.
        """
        check_device(device_type, device_id)
        self._session.check_output(name)
        self._buffers[name] = array_at(buffer_ptr, shape or (), element_dtype(element_type)) if buffer_ptr else None

    def bind_ortvalue_output(self, name: str, ortvalue: OrtValue) -> None:
        """Leave an output in a value."""
        self._session.check_output(name)
        self._buffers[name] = ortvalue.numpy()

    def take(self, results: Mapping[str, np.ndarray]) -> None:
        """Leave what a run computed where it is wanted; a buffer of another shape or type is a `FeedError`."""
        for name, buffer in self._buffers.items():
            if buffer is not None:
                fill(buffer, results[name])
            self._results[name] = results[name] if buffer is None else buffer

    def get_outputs(self) -> list[OrtValue]:
        """The bound outputs of the last run, in the order they were bound."""
        return [OrtValue(self._results[name]) for name in self._buffers if name in self._results]

    def copy_outputs_to_cpu(self) -> list[np.ndarray]:
        """Copies of the bound outputs of the last run."""
        return [np.array(value.numpy()) for value in self.get_outputs()]

    def synchronize_inputs(self) -> None:
        """Without effect: inputs are in the host's memory."""

    def synchronize_outputs(self) -> None:
        """Without effect: a run has ended when it returns."""

    def clear_binding_inputs(self) -> None:
        """Forget what is bound to the inputs."""
        self._inputs.clear()

    def clear_binding_outputs(self) -> None:
        """Forget what is bound to the outputs, and the results."""
        self._buffers.clear()
        self._results.clear()

    def __getattr__(self, name: str) -> Any:
        raise refuse_absent("IOBinding", name, dir(type(self)))
