"""A model whose sizes are open: compiled once, and called at whatever sizes the inputs of each call have."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from intarsia.backends.contract import BoundCall, Places, Slot, array_at, guard, guarded, is_late
from intarsia.backends.openvino.executable import CompiledModel
from intarsia.backends.openvino.model import tensor
from intarsia.errors import CompileError, LoadError

if TYPE_CHECKING:
    import numpy as np

_NAME = "openvino"
_KEPT = 64
"""Kernels that a model keeps for sizes that it does not see at the moment: those of about 25 lengths of a transformer.

5000 is the plug-in's own limit: 1000 lengths of a transformer of two layers then take 1.7 GB.
"""
_REMEMBERED = 4096
"""Combinations of sizes that are known to fit."""
PROPERTIES: Mapping[str, Any] = {"SNIPPETS_MODE": "DISABLE", "CPU_RUNTIME_CACHE_CAPACITY": _KEPT}
"""What a model of open sizes is compiled with.

Its tokeniser ("snippets", 2026.4.1) makes one kernel for all sizes, at those of the first run: what is 1 there is taken
for broadcast, and every larger size is wrong from then on. Without it primitives are made for the sizes of a call.
"""
ENVIRONMENT: Mapping[str, str | None] = {"ONEDNN_PRIMITIVE_CACHE_CAPACITY": str(_KEPT)}
"""The same limit for the kernels that oneDNN keeps for the whole process; its own is 1024, of 0.6 MB each."""


class Open(CompiledModel):
    """A compiled model of open sizes, and the arrays its constants lie over."""

    def __init__(
        self, compiled: Any, meta: Mapping[str, Any], held: tuple[np.ndarray, ...], guide: SizeGuide | None
    ) -> None:
        super().__init__(compiled, meta, held)
        self._guide = guide

    def bind(self, inputs: Places, outputs: Places) -> BoundCall:
        """A request of its own; what each call reads and writes is told to it anew."""
        with guard(LoadError, _NAME):
            request = self._compiled.create_infer_request()
        places = [(position, inputs[value.name]) for position, value in enumerate(self._left)]
        results = [(position, outputs[value.name]) for position, value in enumerate(self.outputs)]
        return guarded(_Call(request, places, results, self._guide), _NAME, self._held)


class SizeGuide:
    """Tells whether sizes fit the model before it runs: on one thread the plug-in (2026.4.1) does not.

    There it drops the exception with which its own look at the shapes ends, and runs on, into memory of other sizes.
    """

    def __init__(self, model: Any) -> None:
        self._model = model
        self._fitting: set[tuple[tuple[int, ...], ...]] = set()

    def check(self, shapes: tuple[tuple[int, ...], ...]) -> None:
        """Raise what OpenVINO does where inputs of these shapes, in order, do not fit; each is looked at once."""
        if shapes not in self._fitting:
            self._model.reshape({place: list(shape) for place, shape in enumerate(shapes)})
            if len(self._fitting) >= _REMEMBERED:
                self._fitting.clear()
            self._fitting.add(shapes)


class _Call:
    """One bound call."""

    def __init__(
        self,
        request: Any,
        places: list[tuple[int, np.ndarray | Slot]],
        results: list[tuple[int, np.ndarray | Slot]],
        guide: SizeGuide | None,
    ) -> None:
        self._request = request
        self._guide = guide
        self._places = places
        self._fixed = [(position, place) for position, place in results if not is_late(place)]
        self._open = [(position, place) for position, place in results if isinstance(place, Slot) and is_late(place)]

    def __call__(self) -> None:
        request = self._request
        arrays = [(position, array_at(place)) for position, place in self._places]
        if self._guide is not None:
            self._guide.check(tuple(array.shape for _, array in arrays))
        for position, array in arrays:
            request.set_input_tensor(position, tensor(array))
        for position, place in self._fixed:
            request.set_output_tensor(position, tensor(array_at(place)))
        request.infer(share_outputs=True)
        for position, slot in self._open:
            slot.array = request.get_output_tensor(position).data.copy()


def check_ranks(model: Any) -> None:
    """Refuse a model with a value of open rank, which the plug-in does not run.

    Raises:
        CompileError: Naming the operator that computes it.
    """
    for node in model.get_ordered_ops():
        for output in node.outputs():
            if output.get_partial_shape().rank.is_dynamic:
                raise CompileError(
                    _NAME, f"the number of dimensions of what {node.get_friendly_name()} computes is open; bind a size"
                )


@cache
def settle() -> None:
    """Have oneDNN read `ENVIRONMENT` now, while it is in place: it looks when the first kernel is made."""
    import numpy as np
    from openvino import Core, Model, opset16

    left, right = (opset16.parameter([2, 2], np.float32) for _ in range(2))
    model = Model([opset16.matmul(left, right, False, False)], [left, right])
    Core().compile_model(model, "CPU", {"INFERENCE_NUM_THREADS": 1}).create_infer_request().infer()
