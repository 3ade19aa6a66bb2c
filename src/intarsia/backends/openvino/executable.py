"""A compiled model of fixed sizes, bound to its buffers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from intarsia.backends.contract import BoundCall, Executable, Places, following, guard, guarded
from intarsia.backends.openvino.model import tensor
from intarsia.errors import LoadError

if TYPE_CHECKING:
    import numpy as np

_NAME = "openvino"


class CompiledModel(Executable):
    """A compiled model, and the arrays its constants lie over."""

    let_go = ("_compiled", "_held")

    def __init__(self, compiled: Any, meta: Mapping[str, Any], held: tuple[np.ndarray, ...]) -> None:
        super().__init__(meta)
        self._left = [value for value in self.inputs if value.name in meta["left"]]
        self._compiled = compiled
        self._held = held

    def bind(self, inputs: Places, outputs: Places) -> BoundCall:
        """Set each tensor once, over the given memory."""
        with guard(LoadError, _NAME):
            request = self._compiled.create_infer_request()
            sides = ((self._left, inputs, request.set_input_tensor), (self.outputs, outputs, request.set_output_tensor))
            places = [
                (partial(_point, put, position), given[value.name])
                for values, given, put in sides
                for position, value in enumerate(values)
            ]
            call = following(places, _bare_infer(request))
        return guarded(call, _NAME, self._held)


def _bare_infer(request: Any) -> BoundCall:
    """One inference over tensors that are set: the binding's own call, without the 20 us of looking for inputs first.

    Unless outputs are shared every call copies them once more, into arrays that nobody looks at.
    """
    return partial(super(type(request), request).infer, {}, share_outputs=True, decode_strings=False)


def _point(put: Callable[[int, Any], None], position: int, array: np.ndarray) -> None:
    put(position, tensor(array))
