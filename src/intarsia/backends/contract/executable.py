"""A sub-graph that is loaded, and can be bound to buffers and run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from intarsia.backends.contract.artifact import Signature, signatures
from intarsia.backends.contract.device_memory import DeviceMemory
from intarsia.backends.contract.slots import BoundCall, Places


class Executable(ABC):
    """A loaded sub-graph. ``bind`` it once, call the result many times; ``close`` frees the engine's memory.

    ``memory`` is, of engines with the trait ``device_values``, the device's memory, if that is not the host's.
    """

    inputs: tuple[Signature, ...]
    outputs: tuple[Signature, ...]
    memory: DeviceMemory | None = None
    let_go: ClassVar[tuple[str, ...]] = ()
    """Attributes that ``close`` empties. Calls bound before keep what was there alive until they are dropped too."""

    def __init__(self, meta: Mapping[str, Any]) -> None:
        self.inputs, self.outputs = signatures(meta["inputs"]), signatures(meta["outputs"])

    @abstractmethod
    def bind(self, inputs: Places, outputs: Places) -> BoundCall:
        """A call that reads these inputs and writes these outputs.

        Arrays, and what a `Port` holds, are C-contiguous, of the signature's dtype and shape, and outlive the call;
        arrays are page-aligned. Their *contents* change between calls; each call reads the inputs afresh and fills
        every output. Ports only come to engines with the trait ``follows_ports``, a `DeviceValue` to those that have a
        ``memory``, which leave what they read as it is, and other slots to those with ``any_shape``. The call raises
        `ExecutionError` if the engine fails (see `guarded`).
        """

    def close(self) -> None:
        """Frees what the engine holds. A second call does nothing."""
        for name in self.let_go:
            setattr(self, name, None)
