"""tinygrad on the CPU: the shared lowering is traced once, and its kernels are compiled by Clang and replayed."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from intarsia.backends.contract import (
    Availability,
    BoundCall,
    EngineArtifact,
    Executable,
    Gap,
    Slot,
    Traits,
    as_port,
    guard,
    guarded,
    signatures,
)
from intarsia.backends.contract.node_facts import words
from intarsia.backends.lowering.backend import NOT_LOWERED, LoweredBackend
from intarsia.backends.lowering.interpreter import Interpreter, Kernel, Tensor
from intarsia.backends.lowering.program import Instruction, Program
from intarsia.backends.package_probe import installed
from intarsia.errors import LoadError
from intarsia.files import cache_folder

if TYPE_CHECKING:
    import numpy as np

    from intarsia.config.settings import RunSettings
    from intarsia.target import Target

_NAME = "tinygrad"
_COMPILER = "clang"
_DEVICE = "CPU"
_TYPES = words("float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool")
_LOCK = threading.RLock()
"""What is captured is kept in variables of the module, and one queue takes what all threads submit."""


class TinygradBackend(LoweredBackend):
    """Kernels are compiled when an artifact is loaded; what Clang made of a source is kept in our cache."""

    name = _NAME
    extra = _NAME
    natives = words("relu sigmoid")
    licence = "MIT"
    machine_code = ()
    traits = Traits(writes_in_place=False, compiles_slowly=True, compiles_once=True, follows_ports=True, dtypes=_TYPES)
    gaps: ClassVar[tuple[Gap, ...]] = (
        NOT_LOWERED,
        Gap.upstream(
            "more than one thread",
            "runtime/ops_cpu.py: one worker runs the commands of all its threads, one after the other",
        ),
        Gap.upstream(
            "Mod of floats, Pow of integers",
            "mixin/elementwise.py: a - a.div(b).floor() * b; clang refuses what int32 ** int32 is rendered to",
        ),
        Gap.upstream(
            "bfloat16, and elements of float8 and of less than 8 bits",
            "clang 14: error: __bf16 is not supported on this target; ClangRenderer supports no dtypes.fp8s",
        ),
    )

    def probe(self) -> Availability:
        """Version and presence of the wheel, then of the compiler that it calls; neither is loaded."""
        found = installed(_NAME, self.extra)
        if found.usable and shutil.which(_COMPILER) is None:
            return Availability(
                usable=False, reason="there is no clang to compile its kernels with", fix="apt-get install clang"
            )
        return found

    def environment(self, settings: RunSettings) -> Mapping[str, str | None]:
        """Its own compiler and device whatever the user's shell names, our cache, and no processes beside ours."""
        folder = cache_folder() / _NAME
        return {
            "CC": None, "DEV": _DEVICE, "CACHEDB": str(folder / "cache.db"), "PARALLEL": "0", "NUM_CPU_THREADS": "1"
        }  # fmt: skip

    def judge(self, each: Instruction, reads: tuple[Instruction, ...]) -> str | None:
        """By primitive, and by element type."""
        if each.name not in _DIRECT and each.name not in _MAKERS:
            return f"tinygrad has no {each.name} here"
        is_float = "float" in each.dtype
        if each.name == "pow" and not is_float:
            return "tinygrad raises to a power in floating point"
        if each.name in ("mod", "fmod") and is_float:
            return f"tinygrad takes {each.name} of floats from a rounded quotient"
        strange = sorted({each.dtype, *(read.dtype for read in reads)} - _TYPES)
        return f"tinygrad has no {each.name} of {strange[0]}" if strange else None

    def load(
        self, artifact: EngineArtifact, weights: Mapping[str, np.ndarray], target: Target, settings: RunSettings
    ) -> Executable:
        """Trace and compile."""
        with guard(LoadError, _NAME), _LOCK:
            return _Captured(Program.of_files(artifact.files), weights, artifact.meta)


class _Captured(Executable):
    """Compiled kernels in order, between tensors that stay where they are."""

    def __init__(self, program: Program, weights: Mapping[str, np.ndarray], meta: Mapping[str, Any]) -> None:
        self.inputs = signatures(meta["inputs"])
        self.outputs = signatures(meta["outputs"])
        arrays = program.known | {place: weights[name] for name, place in program.weights.items()}
        known = {place: _tensor(array) for place, array in arrays.items()}
        places = {value.name: _empty(value.dtype, value.shape or ()) for value in self.inputs}
        self._given = {name: tensor for name, tensor in places.items() if tensor.numel()}
        known |= {program.inputs[name]: tensor for name, tensor in places.items() if name not in self._given}
        run = Interpreter(program, kernel_of, [program.inputs[name] for name in self._given], known)
        # Copies, since an output may be an input, or a tensor that is there already: of those nothing is captured.
        # What depends on weights alone is computed once, and pruned.
        self._run = _package().TinyJit(lambda *tensors: [each.clone() for each in run(*tensors)], prune=True)
        for _ in range(2):  # the first compiles, the second captures
            self._wanted = self._run(*self._given.values())

    def bind(self, inputs: Mapping[str, np.ndarray | Slot], outputs: Mapping[str, np.ndarray | Slot]) -> BoundCall:
        """Every call copies the inputs to where the kernels read them, and the results from where they write them."""
        import numpy as np

        run, tensors = self._run, tuple(self._given.values())
        given = [(as_port(inputs[name]), _seen(tensor)) for name, tensor in self._given.items()]
        results = zip(self.outputs, self._wanted, strict=True)
        wanted = [(as_port(outputs[value.name]), tensor) for value, tensor in results if tensor.numel()]

        def call() -> None:
            with _LOCK:
                for port, place in given:
                    np.copyto(place, port.array.reshape(-1).view(np.uint8))
                run(*tensors)
                for port, tensor in wanted:
                    np.copyto(port.array.reshape(-1).view(np.uint8), _seen(tensor))

        return guarded(call, _NAME)

    def close(self) -> None:
        """Drop the kernels; calls bound to them keep them alive until they are dropped too."""
        self._run = None
        self._given = {}
        self._wanted = []


def _package() -> Any:
    """Loaded at first use, and typed by nothing, so that types are the same where it is not installed."""
    return import_module(_NAME)


def _empty(dtype: str, shape: Sequence[int]) -> Tensor:
    """A tensor that has its memory, filled with zeros; without elements it has none."""
    if 0 in shape:
        return _package().Tensor.zeros(*shape, dtype=dtype, device=_DEVICE)
    made = _package().Tensor.empty(*shape, dtype=dtype, device=_DEVICE)
    made.uop.buffer.ensure_allocated()
    _seen(made)[:] = 0
    return made


def _tensor(array: np.ndarray) -> Tensor:
    import numpy as np

    made = _empty(array.dtype.name, array.shape)
    if array.size:
        _seen(made)[:] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return made


def _seen(tensor: Tensor) -> np.ndarray:
    """The bytes of a tensor where they lie, once all is done that was submitted."""
    import numpy as np

    return np.frombuffer(tensor.uop.buffer.as_memoryview(force_zero_copy=True), np.uint8)


Maker = Callable[[Instruction, Sequence[Instruction]], Kernel]


def kernel_of(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    """What computes an instruction; in its own type, where tinygrad would answer in another."""
    direct = _DIRECT.get(each.name)
    kernel = getattr(_package().Tensor, direct) if direct is not None else _MAKERS[each.name](each, reads)
    return lambda *terms: kernel(*terms).cast(each.dtype)


_DIRECT: Mapping[str, str] = MappingProxyType(
    {
        "abs": "abs", "acos": "acos", "acosh": "acosh", "add": "add", "and": "bitwise_and", "asin": "asin",
        "asinh": "asinh", "atan": "atan", "atanh": "atanh", "cast": "contiguous", "ceil": "ceil", "cos": "cos",
        "cosh": "cosh", "div": "div", "eq": "eq", "erf": "erf", "exp": "exp", "floor": "floor",
        "ge": "__ge__", "gt": "__gt__", "identity": "contiguous", "le": "__le__", "log": "log", "lt": "__lt__",
        "matmul": "matmul", "max": "maximum", "min": "minimum", "mul": "mul", "ne": "ne", "neg": "neg",
        "not": "bitwise_not", "or": "bitwise_or", "pow": "pow", "relu": "relu", "round": "round",
        "sigmoid": "sigmoid", "sign": "sign", "sin": "sin",
        "sinh": "sinh", "sqrt": "sqrt", "sub": "sub", "tan": "tan", "tanh": "tanh", "where": "where",
        "xor": "bitwise_xor",
    }
)  # fmt: skip
"""Primitives that are one method of a tensor."""


def _int_div(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    """Never by 0, nor the least integer by -1: processors raise a signal there, which ends the process."""
    if each.dtype.startswith("u"):
        return lambda a, b: a.div(b.eq(0).where(1, b), rounding_mode="trunc")
    return lambda a, b: b.eq(-1).where(-a, a.div((b.eq(0) | b.eq(-1)).where(1, b), rounding_mode="trunc"))


def _remainder(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    """``mod`` has the sign of the divisor, ``fmod`` that of what is divided; never by 0 or -1, as for `_int_div`."""
    if each.dtype.startswith("u"):
        return lambda a, b: getattr(a, each.name)(b.eq(0).where(1, b))
    return lambda a, b: getattr(a, each.name)((b.eq(0) | b.eq(-1)).where(1, b))


def _shift(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    """By the width and more, too, where a processor shifts by less; a negative number counts as too large a one."""
    last = int(each.dtype.lstrip("uint")) - 1
    name = "lshift" if each.name == "shift_left" else "rshift"
    keeps_sign = name == "rshift" and not each.dtype.startswith("u")

    def run(a: Tensor, b: Tensor) -> Tensor:
        is_far = (b < 0) | (b > last)
        shifted = getattr(a, name)(is_far.where(last, b))
        return shifted if keeps_sign else is_far.where(0, shifted)

    return run


def _reshape(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    return lambda x: x.reshape(each.shape)


def _transpose(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    return lambda x: x.permute(each.attributes["order"])


def _expand(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    return lambda x: x.expand(each.shape)


def _slice(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    rows = zip(each.attributes["starts"], each.attributes["stops"], each.attributes["steps"], strict=True)
    # In a slice of Python a stop of -1 means the last element, not the one before the first.
    index = tuple(slice(start, None if stop < 0 else stop, step) for start, stop, step in rows)
    return lambda x: x[index]


def _concat(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    return lambda first, *others: first.cat(*others, dim=each.attributes["axis"])


def _rows(told: Mapping[str, Any]) -> list[tuple[int, int]]:
    return list(zip(told["before"], told["after"], strict=True))


def _pad(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    return lambda x: x.pad(_rows(each.attributes), value=each.attributes["value"])


def _take(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    before = (slice(None),) * each.attributes["axis"]
    return lambda x, indices: x[(*before, indices)]


def _corner(x: Tensor, shape: Sequence[int], axis: int) -> Tensor:
    """The first elements of all dimensions but one, as many as ``shape`` has."""
    return x[tuple(slice(None if place == axis else size) for place, size in enumerate(shape))]


def _take_along(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    axis = each.attributes["axis"]
    return lambda x, indices: _corner(x, each.shape, axis).gather(axis, indices)


def _scatter_along(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    axis, reduction = each.attributes["axis"], each.attributes["reduction"]
    if reduction == "none":
        return lambda x, indices, updates: x.scatter(axis, indices, updates)
    how = {"add": "sum", "mul": "prod", "max": "amax", "min": "amin"}[reduction]
    return lambda x, indices, updates: x.scatter_reduce(axis, indices, updates, how)


def _argsort(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    return lambda x: x.argsort(each.attributes["axis"], each.attributes["descending"])


def _reduce(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    name, axes, keep = each.name.removeprefix("reduce_"), tuple(each.attributes["axes"]), each.attributes["keep"]
    return lambda x: getattr(x, name)(axes, keep)


def _arg(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    return lambda x: getattr(x, each.name)(each.attributes["axis"], each.attributes["keep"])


def _cumulate(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    return lambda x: getattr(x, each.name)(each.attributes["axis"])


def _window(told: Mapping[str, Any]) -> dict[str, Any]:
    return {"stride": tuple(told["strides"]), "dilation": tuple(told["dilations"])}


def _conv(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    told = each.attributes
    rows = [(0, 0), (0, 0), *_rows(told)]
    return lambda x, w: x.pad(rows).conv2d(w, groups=told["groups"], **_window(told))


def _conv_transpose(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    """All of it, of which the ends are cut off or made longer: tinygrad does not cut more at one than at the other."""
    told = each.attributes
    rows = [(0, 0), (0, 0), *((-before, -after) for before, after in _rows(told))]
    return lambda x, w: x.conv_transpose2d(w, groups=told["groups"], **_window(told)).pad(rows)


def _pool_max(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    told = each.attributes
    rows = [(0, 0), (0, 0), *_rows(told)]
    return lambda x: x.pad(rows, value=x.dtype.min).max_pool2d(tuple(told["kernel"]), **_window(told))


def _pool_sum(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    """As a convolution with ones: its own mean is divided by what would have to be multiplied again."""
    told, shape = each.attributes, reads[0].shape
    rows = [(0, 0), (0, 0), *_rows(told)]

    def run(x: Tensor) -> Tensor:
        ones = _package().Tensor.ones(1, 1, *told["kernel"], dtype=each.dtype)
        planes = x.reshape(shape[0] * shape[1], 1, *shape[2:])
        return planes.pad(rows).conv2d(ones, **_window(told)).reshape(each.shape)

    return run


_MAKERS: Mapping[str, Maker] = MappingProxyType(
    {
        "argmax": _arg,
        "argmin": _arg,
        "argsort": _argsort,
        "concat": _concat,
        "conv": _conv,
        "conv_transpose": _conv_transpose,
        "cumprod": _cumulate,
        "cumsum": _cumulate,
        "expand": _expand,
        "fmod": _remainder,
        "int_div": _int_div,
        "mod": _remainder,
        "pad": _pad,
        "pool_max": _pool_max,
        "pool_sum": _pool_sum,
        "reduce_max": _reduce,
        "reduce_mean": _reduce,
        "reduce_min": _reduce,
        "reduce_prod": _reduce,
        "reduce_sum": _reduce,
        "reshape": _reshape,
        "scatter_along": _scatter_along,
        "shift_left": _shift,
        "shift_right": _shift,
        "slice": _slice,
        "take": _take,
        "take_along": _take_along,
        "transpose": _transpose,
    }
)
