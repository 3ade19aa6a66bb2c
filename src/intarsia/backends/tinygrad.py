"""tinygrad on the CPU: the shared lowering is traced once, and its kernels are compiled by Clang and replayed."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

from intarsia.backends.contract import (
    Arrays,
    Availability,
    BoundCall,
    EngineArtifact,
    Executable,
    Gap,
    Places,
    Traits,
    as_port,
    guard,
    guarded,
)
from intarsia.backends.contract.node_facts import words
from intarsia.backends.lowering.backend import NOT_LOWERED, LoweredBackend
from intarsia.backends.lowering.interpreter import Interpreter, Kernel, Tensor, corner, indices_of, padding_of
from intarsia.backends.lowering.program import Attributes, Instruction, Program, strange_type
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
        if each.name not in _DIRECT and each.name not in _OTHERS:
            return f"tinygrad has no {each.name} here"
        is_float = "float" in each.dtype
        if each.name == "pow" and not is_float:
            return "tinygrad raises to a power in floating point"
        if each.name in ("mod", "fmod") and is_float:
            return f"tinygrad takes {each.name} of floats from a rounded quotient"
        strange = strange_type(each, reads, _TYPES)
        return f"tinygrad has no {each.name} of {strange}" if strange else None

    def load(self, artifact: EngineArtifact, weights: Arrays, target: Target, settings: RunSettings) -> Executable:
        """Trace and compile."""
        with guard(LoadError, _NAME), _LOCK:
            return _Captured(Program.of_files(artifact.files), weights, artifact.meta)


class _Captured(Executable):
    """Compiled kernels in order, between tensors that stay where they are."""

    let_go = ("_run", "_given", "_wanted")

    def __init__(self, program: Program, weights: Arrays, meta: Mapping[str, Any]) -> None:
        super().__init__(meta)
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

    def bind(self, inputs: Places, outputs: Places) -> BoundCall:
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


def kernel_of(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    """What computes an instruction; in its own type, where tinygrad would answer in another."""
    direct = _DIRECT.get(each.name)
    kernel = getattr(_package().Tensor, direct) if direct is not None else partial(_OTHERS[each.name], each)
    return lambda *terms: kernel(*terms).cast(each.dtype)


_DIRECT: Mapping[str, str] = {
    "abs": "abs", "acos": "acos", "acosh": "acosh", "add": "add", "and": "bitwise_and", "asin": "asin",
    "asinh": "asinh", "atan": "atan", "atanh": "atanh", "cast": "contiguous", "ceil": "ceil", "cos": "cos",
    "cosh": "cosh", "div": "div", "eq": "eq", "erf": "erf", "exp": "exp", "floor": "floor",
    "ge": "__ge__", "gt": "__gt__", "identity": "contiguous", "le": "__le__", "log": "log", "lt": "__lt__",
    "matmul": "matmul", "max": "maximum", "min": "minimum", "mul": "mul", "ne": "ne", "neg": "neg",
    "not": "bitwise_not", "or": "bitwise_or", "pow": "pow", "relu": "relu", "round": "round",
    "sigmoid": "sigmoid", "sign": "sign", "sin": "sin",
    "sinh": "sinh", "sqrt": "sqrt", "sub": "sub", "tan": "tan", "tanh": "tanh", "where": "where",
    "xor": "bitwise_xor",
}  # fmt: skip
"""Primitives that are one method of a tensor."""


def _int_div(each: Instruction, a: Tensor, b: Tensor) -> Tensor:
    """Never by 0, nor the least integer by -1: processors raise a signal there, which ends the process."""
    if each.dtype.startswith("u"):
        return a.div(b.eq(0).where(1, b), rounding_mode="trunc")
    return b.eq(-1).where(-a, a.div((b.eq(0) | b.eq(-1)).where(1, b), rounding_mode="trunc"))


def _remainder(each: Instruction, a: Tensor, b: Tensor) -> Tensor:
    """``mod`` has the sign of the divisor, ``fmod`` that of what is divided; never by 0 or -1, as for `_int_div`."""
    is_unsafe = b.eq(0) if each.dtype.startswith("u") else b.eq(0) | b.eq(-1)
    return getattr(a, each.name)(is_unsafe.where(1, b))


def _shift(each: Instruction, a: Tensor, b: Tensor) -> Tensor:
    """By the width and more, too, where a processor shifts by less; a negative number counts as too large a one."""
    last = int(each.dtype.lstrip("uint")) - 1
    name = "lshift" if each.name == "shift_left" else "rshift"
    is_far = (b < 0) | (b > last)
    shifted = getattr(a, name)(is_far.where(last, b))
    keeps_sign = name == "rshift" and not each.dtype.startswith("u")
    return shifted if keeps_sign else is_far.where(0, shifted)


def _take(each: Instruction, x: Tensor, indices: Tensor) -> Tensor:
    return x[(*(slice(None),) * each.attributes["axis"], indices)]


def _take_along(each: Instruction, x: Tensor, indices: Tensor) -> Tensor:
    axis = each.attributes["axis"]
    return corner(x, each.shape, axis).gather(axis, indices)


def _scatter_along(each: Instruction, x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    axis, reduction = each.attributes["axis"], each.attributes["reduction"]
    if reduction == "none":
        return x.scatter(axis, indices, updates)
    how = {"add": "sum", "mul": "prod", "max": "amax", "min": "amin"}[reduction]
    return x.scatter_reduce(axis, indices, updates, how)


def _reduce(each: Instruction, x: Tensor) -> Tensor:
    return getattr(x, each.name.removeprefix("reduce_"))(tuple(each.attributes["axes"]), each.attributes["keep"])


def _around(told: Attributes) -> list[tuple[int, int]]:
    """Padding of all dimensions; batch and channels have none."""
    return [(0, 0), (0, 0), *padding_of(told)]


def _window(told: Attributes) -> dict[str, Any]:
    return {"stride": tuple(told["strides"]), "dilation": tuple(told["dilations"])}


def _conv(each: Instruction, x: Tensor, w: Tensor) -> Tensor:
    told = each.attributes
    return x.pad(_around(told)).conv2d(w, groups=told["groups"], **_window(told))


def _conv_transpose(each: Instruction, x: Tensor, w: Tensor) -> Tensor:
    """All of it, of which the ends are cut off or made longer: tinygrad does not cut more at one than at the other."""
    told = each.attributes
    rows = [(-before, -after) for before, after in _around(told)]
    return x.conv_transpose2d(w, groups=told["groups"], **_window(told)).pad(rows)


def _pool_max(each: Instruction, x: Tensor) -> Tensor:
    told = each.attributes
    return x.pad(_around(told), value=x.dtype.min).max_pool2d(tuple(told["kernel"]), **_window(told))


def _pool_sum(each: Instruction, x: Tensor) -> Tensor:
    """As a convolution with ones: its own mean is divided by what would have to be multiplied again."""
    told, shape = each.attributes, x.shape
    ones = _package().Tensor.ones(1, 1, *told["kernel"], dtype=each.dtype)
    planes = x.reshape(shape[0] * shape[1], 1, *shape[2:])
    return planes.pad(_around(told)).conv2d(ones, **_window(told)).reshape(each.shape)


_OTHERS: Mapping[str, Callable[..., Tensor]] = {
    **dict.fromkeys(
        ("argmax", "argmin"), lambda each, x: getattr(x, each.name)(each.attributes["axis"], each.attributes["keep"])
    ),
    "argsort": lambda each, x: x.argsort(each.attributes["axis"], each.attributes["descending"]),
    "concat": lambda each, first, *others: first.cat(*others, dim=each.attributes["axis"]),
    "conv": _conv,
    "conv_transpose": _conv_transpose,
    **dict.fromkeys(("cumprod", "cumsum"), lambda each, x: getattr(x, each.name)(each.attributes["axis"])),
    "expand": lambda each, x: x.expand(each.shape),
    "int_div": _int_div,
    **dict.fromkeys(("mod", "fmod"), _remainder),
    "pad": lambda each, x: x.pad(padding_of(each.attributes), value=each.attributes["value"]),
    "pool_max": _pool_max,
    "pool_sum": _pool_sum,
    **dict.fromkeys(("reduce_max", "reduce_mean", "reduce_min", "reduce_prod", "reduce_sum"), _reduce),
    "reshape": lambda each, x: x.reshape(each.shape),
    "scatter_along": _scatter_along,
    **dict.fromkeys(("shift_left", "shift_right"), _shift),
    "slice": lambda each, x: x[indices_of(each.attributes)],
    "take": _take,
    "take_along": _take_along,
    "transpose": lambda each, x: x.permute(each.attributes["order"]),
}
"""What takes the instruction and its operands."""
