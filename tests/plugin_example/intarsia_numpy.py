"""NumPy as an engine: the shared lowering, its primitives as calls of NumPy, the matrix products by its BLAS."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import product
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

# NumPy is loaded with any graph. A library that is not is imported in the functions that use it: this file is read
# whenever a target of its kind is described, where the engine may not be installed.
import numpy as np

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
    thread_count,
)
from intarsia.backends.contract.node_facts import words
from intarsia.backends.lowering.backend import NOT_LOWERED, LoweredBackend
from intarsia.backends.lowering.interpreter import Interpreter, Kernel
from intarsia.backends.lowering.lower import lower
from intarsia.backends.lowering.program import Instruction, Program
from intarsia.errors import LoadError
from intarsia.spec import Enum, Option
from intarsia.target import engine_kind

if TYPE_CHECKING:
    from intarsia.config.settings import RunSettings
    from intarsia.graph import SubModel
    from intarsia.target import Target

KIND = engine_kind(
    "numpy",
    "NumPy, operator by operator",
    (
        Option(
            name="convolution",
            type=Enum(("columns", "taps")),
            default="columns",
            meaning="one matrix product over all windows laid out, or one for each element of the kernel",
        ),
    ),
    serves=("llvm",),
)

_TYPES = words("float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool")
_CAST = words(
    "bfloat16 float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float4_e2m1fn",
    "int2 uint2 int4 uint4",
)
"""Types that are only cast: ml_dtypes brings them to NumPy, and not all of its functions."""


class NumpyBackend(LoweredBackend):
    """Runs a program from Python, one call of NumPy after the other."""

    name = "numpy"
    extra = ""
    licence = "BSD-3-Clause"
    machine_code = ()
    traits = Traits(writes_in_place=False, compiles_once=True, follows_ports=True, dtypes=_TYPES | _CAST)
    gaps: ClassVar[tuple[Gap, ...]] = (
        NOT_LOWERED,
        Gap.upstream("Erf, and with it the exact Gelu", "AttributeError: module 'numpy' has no attribute 'erf'"),
        Gap.not_implemented(
            "ConvTranspose, TopK, ScatterElements and what else needs a kernel that is not in the table",
            "_MAKERS has no conv_transpose, argsort, scatter_along, take_along",
        ),
    )

    def probe(self) -> Availability:
        """Always usable: NumPy is a dependency of Intarsia."""
        return Availability(usable=True, version=np.__version__, devices=("cpu",))

    def judge(self, each: Instruction, reads: tuple[Instruction, ...]) -> str | None:
        """By primitive, and by element type."""
        if each.name not in _DIRECT and each.name not in _MAKERS:
            return f"numpy has no {each.name} here"
        known = _TYPES | _CAST if each.name in _MOVING else _TYPES
        strange = sorted({each.dtype, *(read.dtype for read in reads)} - known)
        return f"numpy is not asked for {each.name} of {strange[0]}" if strange else None

    def variants(self, target: Target) -> tuple[Target, ...]:
        """Both ways to convolve, unless one is stated."""
        if "convolution" in target.options:
            return (target,)
        return tuple(target.with_options({"convolution": way}) for way in _CONVOLUTIONS)

    def load(
        self,
        artifact: EngineArtifact,
        weights: Mapping[str, np.ndarray],
        target: Target,
        settings: RunSettings,
    ) -> Executable:
        """Make the kernels, and compute what depends on weights alone."""
        with guard(LoadError, self.name):
            _share_threads(thread_count(target, settings))
            makers = {**_MAKERS, "conv": _CONVOLUTIONS[target["convolution"]]}
            return _Interpreted(Program.of_files(artifact.files), weights, artifact.meta, makers)

    def export(self, model: SubModel, target: Target, settings: RunSettings, folder: Path) -> tuple[Path, ...]:
        """The program as text, and the weights as NumPy stores arrays; the target is the only option."""
        folder.mkdir(parents=True, exist_ok=True)
        program, weights = folder / "program.txt", folder / "weights.npz"
        program.write_text(f"# {target}\n{lower(model, self.natives)}\n", encoding="utf-8")
        np.savez(weights, allow_pickle=False, **{name: weight.array() for name, weight in model.weights.items()})
        return program, weights


class _Interpreted(Executable):
    """A program with its kernels."""

    def __init__(
        self,
        program: Program,
        weights: Mapping[str, np.ndarray],
        meta: Mapping[str, Any],
        makers: Mapping[str, Maker],
    ) -> None:
        self.inputs = signatures(meta["inputs"])
        self.outputs = signatures(meta["outputs"])
        known = program.known | {place: weights[name] for name, place in program.weights.items()}
        places = [program.inputs[value.name] for value in self.inputs]
        with np.errstate(all="ignore"):
            self._run: Interpreter | None = Interpreter(program, partial(_kernel_of, makers), places, known)

    def bind(self, inputs: Mapping[str, np.ndarray | Slot], outputs: Mapping[str, np.ndarray | Slot]) -> BoundCall:
        """Kernels read the inputs where they are; results are copied to their places."""
        run = self._run
        assert run is not None, "bound before it is closed"
        sources = [as_port(inputs[value.name]) for value in self.inputs]
        sinks = [as_port(outputs[value.name]) for value in self.outputs]

        def call() -> None:
            with np.errstate(all="ignore"):
                results = run(*(port.array for port in sources))
            for port, result in zip(sinks, results, strict=True):
                np.copyto(port.array, result)

        return guarded(call, NumpyBackend.name)

    def close(self) -> None:
        """Drop the kernels; calls bound to them keep them alive until they are dropped too."""
        self._run = None


Maker = Callable[[Instruction, Sequence[Instruction]], Kernel]
"""Makes the kernel of an instruction on what these instructions compute."""


def _kernel_of(makers: Mapping[str, Maker], each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    direct = _DIRECT.get(each.name)
    return getattr(np, direct) if direct is not None else makers[each.name](each, reads)


_DIRECT: Mapping[str, str] = {
    "abs": "abs", "acos": "arccos", "acosh": "arccosh", "add": "add", "and": "bitwise_and", "asin": "arcsin",
    "asinh": "arcsinh", "atan": "arctan", "atanh": "arctanh", "ceil": "ceil", "cos": "cos", "cosh": "cosh",
    "div": "divide", "eq": "equal", "exp": "exp", "floor": "floor", "fmod": "fmod", "ge": "greater_equal",
    "gt": "greater", "identity": "array", "le": "less_equal", "log": "log", "lt": "less", "matmul": "matmul",
    "max": "maximum", "min": "minimum", "mod": "remainder", "mul": "multiply", "ne": "not_equal", "neg": "negative",
    "not": "invert", "or": "bitwise_or", "pow": "power", "round": "round", "shift_left": "left_shift",
    "shift_right": "right_shift", "sign": "sign", "sin": "sin", "sinh": "sinh", "sqrt": "sqrt", "sub": "subtract",
    "tan": "tan", "tanh": "tanh", "where": "where", "xor": "bitwise_xor",
}  # fmt: skip
"""Primitives that are one function of NumPy."""


def _cast(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    from intarsia.graph.dtypes import numpy_dtype

    dtype = numpy_dtype(each.dtype)
    return lambda x: x.astype(dtype)


def _reshape(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    return lambda x: x.reshape(each.shape)


def _transpose(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    return lambda x: x.transpose(each.attributes["order"])


def _expand(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    return lambda x: np.broadcast_to(x, each.shape)


def _slice(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    rows = zip(each.attributes["starts"], each.attributes["stops"], each.attributes["steps"], strict=True)
    # In a slice of Python a stop of -1 means the last element, not the one before the first.
    index = tuple(slice(start, None if stop < 0 else stop, step) for start, stop, step in rows)
    return lambda x: x[index]


def _concat(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    return lambda *terms: np.concatenate(terms, each.attributes["axis"])


def _pad(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    attrs = each.attributes
    rows = list(zip(attrs["before"], attrs["after"], strict=True))
    return lambda x: np.pad(x, rows, constant_values=attrs["value"])


def _take(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    return lambda x, indices: np.take(x, indices, each.attributes["axis"])


def _reduce(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    function = getattr(np, each.name.removeprefix("reduce_"))
    axes, keep = tuple(each.attributes["axes"]), each.attributes["keep"]
    return lambda x: function(x, axis=axes, keepdims=keep).astype(each.dtype, copy=False)


def _arg(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    return lambda x: getattr(x, each.name)(each.attributes["axis"], keepdims=each.attributes["keep"])


def _cumulate(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    return lambda x: getattr(x, each.name)(each.attributes["axis"], dtype=each.dtype)


def _int_div(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    """Rounds towards zero, as NumPy's own does not."""

    def divided(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        found: np.ndarray = (a - np.fmod(a, b)) // b
        return found

    return divided


def _windows(
    x: np.ndarray, kernel: Sequence[int], shape: Sequence[int], attrs: Mapping[str, Any], fill: Any
) -> np.ndarray:
    """A view of all windows of the padded array: (batch, channels, *windows, *kernel)."""
    rows = [(0, 0), (0, 0), *zip(attrs["before"], attrs["after"], strict=True)]
    padded = np.pad(x, rows, constant_values=fill)
    reach = [apart * (size - 1) + 1 for size, apart in zip(kernel, attrs["dilations"], strict=True)]
    every = np.lib.stride_tricks.sliding_window_view(padded, reach, tuple(range(2, x.ndim)))
    starts = [slice(0, stride * size, stride) for stride, size in zip(attrs["strides"], shape[2:], strict=True)]
    taps = [slice(None, None, apart) for apart in attrs["dilations"]]
    found: np.ndarray = every[(slice(None), slice(None), *starts, *taps)]
    return found


def _conv_by_columns(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    """One product of the kernels with a matrix that has a column for each window."""
    attrs, (_, _, *kernel), groups = each.attributes, reads[1].shape, each.attributes["groups"]
    rank = len(kernel)
    order = (0, 1, *range(2 + rank, 2 + 2 * rank), *range(2, 2 + rank))

    def run(x: np.ndarray, w: np.ndarray) -> np.ndarray:
        windows = _windows(x, kernel, each.shape, attrs, 0).transpose(order)
        columns = windows.reshape(x.shape[0], groups, prod(w.shape[1:]), prod(each.shape[2:]))
        found: np.ndarray = np.matmul(w.reshape(groups, w.shape[0] // groups, prod(w.shape[1:])), columns)
        return found.reshape(each.shape)

    return run


def _conv_by_taps(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    """A product for each element of the kernel, added up: no window is copied whole."""
    attrs, (_, _, *kernel), groups = each.attributes, reads[1].shape, each.attributes["groups"]

    def run(x: np.ndarray, w: np.ndarray) -> np.ndarray:
        windows = _windows(x, kernel, each.shape, attrs, 0)
        parted = w.reshape(groups, w.shape[0] // groups, w.shape[1], *kernel)
        found: np.ndarray = np.zeros((x.shape[0], groups, parted.shape[1], prod(each.shape[2:])), x.dtype)
        for tap in product(*map(range, kernel)):
            at: tuple[Any, ...] = (..., *tap)
            found += np.matmul(parted[at], windows[at].reshape(x.shape[0], groups, w.shape[1], found.shape[-1]))
        return found.reshape(each.shape)

    return run


def _pool(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    attrs, dtype = each.attributes, np.dtype(each.dtype)
    lowest = -np.inf if dtype.kind == "f" else np.iinfo(dtype).min if dtype.kind in "iu" else False
    over, fill = (np.sum, 0) if each.name == "pool_sum" else (np.max, lowest)
    taps = tuple(range(len(each.shape), 2 * len(each.shape) - 2))
    return lambda x: over(_windows(x, attrs["kernel"], each.shape, attrs, fill), axis=taps).astype(dtype, copy=False)


_CONVOLUTIONS: Mapping[str, Maker] = {"columns": _conv_by_columns, "taps": _conv_by_taps}
_MAKERS: Mapping[str, Maker] = {
    "argmax": _arg,
    "argmin": _arg,
    "cast": _cast,
    "concat": _concat,
    "conv": _conv_by_columns,
    "cumprod": _cumulate,
    "cumsum": _cumulate,
    "expand": _expand,
    "int_div": _int_div,
    "pad": _pad,
    "pool_max": _pool,
    "pool_sum": _pool,
    "reduce_max": _reduce,
    "reduce_mean": _reduce,
    "reduce_min": _reduce,
    "reduce_prod": _reduce,
    "reduce_sum": _reduce,
    "reshape": _reshape,
    "slice": _slice,
    "take": _take,
    "transpose": _transpose,
}
_MOVING = words("cast reshape transpose expand slice concat take identity")
"""Primitives that compute nothing, so they are done on values of any type."""


def _share_threads(count: int) -> None:
    """Tell the BLAS that comes with NumPy's wheel; another BLAS takes as many threads as its own variable says."""
    for library in Path(np.__file__).parent.with_name("numpy.libs").glob("*openblas*"):
        ctypes.CDLL(str(library)).scipy_openblas_set_num_threads64_(count)
