"""Calls compiled kernels one after the other, each on the memory where its values are."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from intarsia.backends.contract import Arrays, BoundCall, Executable, Places, as_port, following, guard, guarded
from intarsia.backends.contract.buffers import Need, allocate
from intarsia.backends.contract.shared_memory import writable
from intarsia.backends.tvm.compiler import Call, Plan
from intarsia.errors import LoadError

_ALIGNED = 64
"""Bytes: compiled kernels take the address of every tensor to be a multiple of it."""
_SOME_THREADS = 1
"""How TVM's pool is told to use any processors, and not the big or the little ones alone."""
_pools = threading.local()
"""How many threads the pool of a thread was last told to use."""


class Compiled(Executable):
    """Kernels, and what they need beside the inputs: weights, constants, and what was computed of these."""

    let_go = ("_kernels", "_known")

    def __init__(
        self, name: str, kernels: Any, plan: Plan, known: Arrays, threads: int, meta: Mapping[str, Any]
    ) -> None:
        """Run what needs no input.

        ``name`` is for errors, ``kernels`` is TVM's module, ``known`` has weights and constants by their names in the
        plan, and so many threads may compute at one time.
        """
        super().__init__(meta)
        self._name = name
        self._kernels = kernels
        self._plan = plan
        self._threads = threads
        arrays = {value: array if _is_aligned(array) else _copy(array) for value, array in known.items()}
        arrays |= allocate(_needs(plan, plan.prepare, kept=True))
        steps = _Steps(kernels, plan.prepare, threads)
        for value, array in arrays.items():
            steps.point(value, array)
        steps.run()
        read = {value for call in plan.run for value in call.values} | set(plan.outputs.values())
        self._known = {value: array for value, array in arrays.items() if value in read}

    def bind(self, inputs: Places, outputs: Places) -> BoundCall:
        """Kernels read and write the buffers; what no kernel writes, and what is not aligned, is copied."""
        with guard(LoadError, self._name):
            steps = _Steps(self._kernels, self._plan.run, self._threads)
            direct = self._direct()
            for value, array in {**self._known, **allocate(self._inner(direct))}.items():
                steps.point(value, array)
            places = [(partial(steps.read, f"input/{each.name}"), inputs[each.name]) for each in self.inputs]
            places += [(partial(steps.write, value), outputs[name]) for name, value in direct.items()]
            others = [
                (as_port(outputs[name]), value) for name, value in self._plan.outputs.items() if name not in direct
            ]

            def run() -> None:
                steps.run()
                for port, value in others:
                    np.copyto(port.array, steps.arrays[value])

            return guarded(following(places, run), self._name, (self._known, self._kernels))

    def _direct(self) -> dict[str, str]:
        """Outputs that a kernel writes, each value for one of them."""
        computed = {call.values[-1] for call in self._plan.run}
        firsts = {value: name for name, value in self._plan.outputs.items() if value in computed}
        return {name: value for value, name in firsts.items()}

    def _inner(self, direct: Mapping[str, str]) -> list[Need]:
        """What kernels write for others."""
        return [need for need in _needs(self._plan, self._plan.run, kept=False) if need.name not in direct.values()]


class _Steps:
    """Kernels with their operands, which are swapped in place."""

    def __init__(self, kernels: Any, calls: Sequence[Call], threads: int) -> None:
        self.arrays: dict[str, np.ndarray] = {}
        self._threads = threads
        self._calls: list[tuple[Any, list[Any]]] = []
        self._uses: dict[str, list[tuple[list[Any], int]]] = defaultdict(list)
        self._before: dict[str, tuple[np.ndarray, np.ndarray]] = {}
        self._after: dict[str, tuple[np.ndarray, np.ndarray]] = {}
        for call in calls:
            operands: list[Any] = [None] * len(call.values)
            self._calls.append((kernels[call.kernel], operands))
            for slot, value in enumerate(call.values):
                self._uses[value].append((operands, slot))

    def point(self, value: str, array: np.ndarray) -> None:
        """Have the kernels find a value in an aligned array."""
        self.arrays[value] = array
        if value in self._uses:
            tensor = _tensor_over(array)
            for operands, slot in self._uses[value]:
                operands[slot] = tensor

    def read(self, value: str, array: np.ndarray) -> None:
        """As `point`, by way of a copy if need be."""
        self._before.pop(value, None)
        if value in self._uses and not _is_aligned(array):
            self._before[value] = copy = _copy(array), array
            array = copy[0]
        self.point(value, array)

    def write(self, value: str, array: np.ndarray) -> None:
        """As `point`, by way of a copy if need be."""
        self._after.pop(value, None)
        if not _is_aligned(array):
            self._after[value] = copy = array, _copy(array)
            array = copy[1]
        self.point(value, array)

    def run(self) -> None:
        """Once."""
        if getattr(_pools, "threads", None) != self._threads:
            _use_threads(self._threads)
        for to, array in self._before.values():
            np.copyto(to, array)
        for kernel, operands in self._calls:
            kernel(*operands)
        for to, array in self._after.values():
            np.copyto(to, array)


def _use_threads(count: int) -> None:
    """TVM has a pool for each thread that calls it."""
    import tvm_ffi

    tvm_ffi.get_global_func("runtime.config_threadpool")(_SOME_THREADS, count)
    _pools.threads = count


def _needs(plan: Plan, calls: Sequence[Call], kept: bool) -> list[Need]:
    """The memory of what these calls write, till it was last read, or for good."""
    from intarsia.graph.dtypes import numpy_dtype

    lasts = {value: place for place, call in enumerate(calls) for value in call.values}
    return [
        Need(
            name=call.values[-1],
            dtype=numpy_dtype(plan.made[call.values[-1]].dtype),
            shape=plan.made[call.values[-1]].shape,
            first=place,
            last=len(calls) if kept or call.values[-1] in plan.outputs.values() else lasts[call.values[-1]],
        )
        for place, call in enumerate(calls)
    ]


def _is_aligned(array: np.ndarray) -> bool:
    return array.ctypes.data % _ALIGNED == 0


def _copy(array: np.ndarray) -> np.ndarray:
    """In aligned memory."""
    need = Need(name="", dtype=array.dtype, shape=array.shape, first=0, last=0)
    copy = allocate([need])[""]
    np.copyto(copy, array)
    return copy


def _tensor_over(array: np.ndarray) -> Any:
    """TVM's tensor in an array's memory."""
    import tvm_ffi

    shared = writable(array)
    if shared.dtype.name != "bfloat16":
        return tvm_ffi.from_dlpack(shared)
    return tvm_ffi.from_dlpack(shared.view(np.uint16))._create_view(shared.shape, "bfloat16")
