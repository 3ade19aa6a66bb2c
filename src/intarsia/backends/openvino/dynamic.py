"""A model whose shapes depend on what some of its inputs hold: compiled anew for each content, the last ones kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from intarsia.backends.contract import (
    Arrays,
    BoundCall,
    Executable,
    Places,
    Slot,
    array_at,
    guard,
    guarded,
    is_late,
    signatures,
)
from intarsia.backends.openvino.model import tensor
from intarsia.errors import LoadError

if TYPE_CHECKING:
    import numpy as np

Specialise = Callable[[Mapping[str, "np.ndarray"], Mapping[str, tuple[int, ...]]], tuple[Any, tuple["np.ndarray", ...]]]
"""The compiled model for these contents of the deciding inputs and these shapes of the others, and what it reads."""
_KEPT = 8
"""Contents for which a compiled model is kept: more than the shapes in use at a time, as a rule."""
_NAME = "openvino"


class DynamicExecutable(Executable):
    """Inputs that decide are constants of the model that runs; the others have the shapes of this call."""

    let_go = ("_specialise",)

    def __init__(self, meta: Mapping[str, Any], specialise: Specialise) -> None:
        super().__init__(meta)
        self._meta = meta
        self._specialise: Specialise | None = specialise

    def bind(self, inputs: Places, outputs: Places) -> BoundCall:
        """Nothing is fixed before a call tells the contents."""
        with guard(LoadError, _NAME):
            assert self._specialise is not None, "bound after it was closed"
            return guarded(_Call(self._meta, self._specialise, inputs, outputs), _NAME)


class _Call:
    """One bound call, with the requests for the last contents it saw, oldest first."""

    def __init__(self, meta: Mapping[str, Any], specialise: Specialise, inputs: Places, outputs: Places) -> None:
        self._deciding = [name for name in meta["left"] if name in meta["deciding"]]
        self._others = [name for name in meta["left"] if name not in meta["deciding"]]
        places = list(enumerate(outputs[value.name] for value in signatures(meta["outputs"])))
        self._known = [(position, place) for position, place in places if not is_late(place)]
        self._late = [(position, place) for position, place in places if isinstance(place, Slot) and is_late(place)]
        self._specialise = specialise
        self._inputs = inputs
        self._requests: dict[tuple[object, ...], Any] = {}

    def __call__(self) -> None:
        arrays = {name: array_at(place) for name, place in self._inputs.items()}
        request = self._request(arrays)
        for position, name in enumerate(self._others):
            request.set_input_tensor(position, tensor(arrays[name]))
        for position, place in self._known:
            request.set_output_tensor(position, tensor(array_at(place)))
        request.infer()
        for position, slot in self._late:
            slot.array = request.get_output_tensor(position).data.copy()

    def _request(self, arrays: Arrays) -> Any:
        key = (*(arrays[name].tobytes() for name in self._deciding), *(arrays[name].shape for name in arrays))
        request = self._requests.pop(key, None)
        if request is None:
            contents = {name: arrays[name].copy() for name in self._deciding}
            shapes = {name: arrays[name].shape for name in self._others}
            compiled, held = self._specialise(contents, shapes)
            request = (compiled.create_infer_request(), held)
        self._requests[key] = request
        if len(self._requests) > _KEPT:
            del self._requests[next(iter(self._requests))]
        return request[0]
