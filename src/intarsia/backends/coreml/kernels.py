"""Each primitive of the shared lowering as an operation of Core ML's ML programs, and the package they go to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from math import prod
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from intarsia.backends.contract.node_facts import words
from intarsia.backends.lowering.interpreter import Interpreter, Kernel, Tensor
from intarsia.backends.lowering.program import INPUT, LEAVES, Instruction, Program
from intarsia.errors import CompileError
from intarsia.wording import counted

if TYPE_CHECKING:
    import numpy as np

_MOST_RANK = 5
_TYPES: Mapping[str, str] = MappingProxyType({"float32": "fp32", "float16": "fp16", "int32": "int32", "bool": "bool"})
_NUMBERS = words("float32 float16 int32")

_UNARY: Mapping[str, str] = MappingProxyType(
    {name: name for name in words("abs acos asin atan ceil cos cosh erf exp floor relu round sigmoid sign")}
    | {name: name for name in words("sin sinh sqrt tan tanh")}
    | {"not": "logical_not", "identity": "identity"}
)
_BINARY: Mapping[str, str] = MappingProxyType(
    {
        "add": "add", "and": "logical_and", "div": "real_div", "eq": "equal", "ge": "greater_equal", "gt": "greater",
        "le": "less_equal", "lt": "less", "matmul": "matmul", "max": "maximum", "min": "minimum", "mul": "mul",
        "ne": "not_equal", "or": "logical_or", "pow": "pow", "sub": "sub", "xor": "logical_xor",
    }
)  # fmt: skip
_FLAGS = words("and or xor not")
_FLOAT_ONLY = words("conv pool_max pool_sum softmax gelu layer_norm leaky_relu sigmoid erf")


def lack(each: Instruction, reads: Sequence[Instruction]) -> str | None:
    """Why an instruction on what these compute cannot be written, as what there is none of."""
    if each.name not in _UNARY and each.name not in _BINARY and each.name not in _MAKERS:
        return each.name
    operands = reads[:1] if each.name == "take" else reads
    strange = sorted({each.dtype, *(read.dtype for read in operands)} - _TYPES.keys())
    if strange:
        return f"{each.name} of {strange[0]}"
    if each.name in _FLAGS and each.dtype != "bool":
        return f"{each.name} of the bits of {each.dtype}"
    if each.name in _FLOAT_ONLY and "float" not in each.dtype:
        return f"{each.name} of {each.dtype}"
    return _lack_of_shape(each, reads)


def _lack_of_shape(each: Instruction, reads: Sequence[Instruction]) -> str | None:
    ranks = [len(read.shape) for read in reads if read.name == INPUT or read.name not in LEAVES]
    if any(not 1 <= rank <= _MOST_RANK for rank in (len(each.shape), *ranks)):
        return f"{each.name} over {counted(len(each.shape), 'dimension')}"
    if not prod(each.shape) or not all(prod(read.shape) for read in reads):
        return f"{each.name} of nothing"
    if each.name in ("conv", "take") and (reads[1].name not in LEAVES or reads[1].name == INPUT):
        return f"{each.name} by what is computed"
    attributes = each.attributes
    if each.name.startswith("pool"):
        if set(attributes["dilations"]) != {1} or not 3 <= len(each.shape) <= _MOST_RANK:
            return f"{each.name} with gaps, or over {counted(len(each.shape) - 2, 'dimension')}"
        padding = zip(attributes["before"], attributes["after"], attributes["kernel"], strict=True)
        if any(max(before, after) >= size for before, after, size in padding):
            return f"{each.name} whose padding is as wide as its window"
    return None


def write(
    program: Program, weights: Mapping[str, np.ndarray], inputs: Sequence[str], precision: str, path: Path
) -> None:
    """The package of a program, with its weights, as a folder.

    Args:
        program: Each of its instructions was accepted.
        weights: By name.
        inputs: Names in order.
        precision: Element type that it is to compute in: ``float16`` or ``float32``.
        path: Ends in ``.mlpackage``.
    """
    import coremltools

    model = coremltools.convert(
        _translated(program, weights, inputs),
        convert_to="mlprogram",
        minimum_deployment_target=coremltools.target.iOS16,
        compute_precision=coremltools.precision(precision),
        skip_model_load=True,
    )
    for place, name in enumerate(inputs):
        model.input_description[f"x{place}"] = name
    for place, name in enumerate(program.outputs):
        model.output_description[f"y{place}"] = name
    model.save(str(path))


def _translated(program: Program, weights: Mapping[str, np.ndarray], inputs: Sequence[str]) -> Any:
    """What coremltools converts. Inputs come as ``x0, x1, …``, as it takes no other names than identifiers."""
    import coremltools
    from coremltools.converters.mil import Builder as mb  # noqa: N813
    from coremltools.converters.mil.mil import Function, types
    from coremltools.converters.mil.mil import Program as MilProgram

    leaves = [program.instructions[program.inputs[name]] for name in inputs]
    placeholders = {
        f"x{place}": mb.placeholder(each.shape, types.string_to_builtin(_TYPES[each.dtype]))
        for place, each in enumerate(leaves)
    }
    arrays = program.known | {place: weights[name] for name, place in program.weights.items()}
    known = {place: narrowed(array) for place, array in arrays.items()}
    translated = MilProgram()
    with Function(placeholders, opset_version=coremltools.target.iOS16) as function:
        run = Interpreter(program, kernel_of, [program.inputs[name] for name in inputs], known)
        results = run(*(function.inputs[name] for name in placeholders))
        function.set_outputs([mb.identity(x=result, name=f"y{place}") for place, result in enumerate(results)])
    translated.add_function("main", function)
    return translated


def narrowed(array: np.ndarray) -> np.ndarray:
    """Indices in the type that it has."""
    return array.astype("int32") if array.dtype.name == "int64" else array


def kernel_of(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    """What appends an instruction to the function that is being built; its shape there must be what it is here."""
    from coremltools.converters.mil import Builder as mb  # noqa: N813

    if each.name in _UNARY:
        one = getattr(mb, _UNARY[each.name])
        make: Kernel = lambda x: one(x=x)  # noqa: E731
    elif each.name in _BINARY:
        two = getattr(mb, _BINARY[each.name])
        make = lambda a, b: two(x=a, y=b)  # noqa: E731
    else:
        make = _MAKERS[each.name](mb, each, reads)

    def checked(*tensors: Tensor) -> Tensor:
        result = make(*tensors)
        if tuple(result.shape) != each.shape:
            raise CompileError("coreml", f"{each} became one of {list(result.shape)}")
        return result

    return checked


Maker = Callable[[Any, Instruction, Sequence[Instruction]], Kernel]


def _interleaved(attributes: Mapping[str, Any]) -> list[int]:
    return [number for pair in zip(attributes["before"], attributes["after"], strict=True) for number in pair]


def _neg(mb: Any, each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    return lambda x: mb.mul(x=x, y=_one_of(each.dtype, -1))


def _one_of(dtype: str, number: float) -> Any:
    import numpy as np

    return np.array(number, dtype)


def _log(mb: Any, each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    return lambda x: mb.log(x=x, epsilon=0.0)


def _cast(mb: Any, each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    return lambda x: mb.cast(x=x, dtype=_TYPES[each.dtype])


def _where(mb: Any, each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    return lambda condition, a, b: mb.select(cond=condition, a=a, b=b)


def _reshape(mb: Any, each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    return lambda x: mb.reshape(x=x, shape=list(each.shape))


def _transpose(mb: Any, each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    return lambda x: mb.transpose(x=x, perm=each.attributes["order"])


def _expand(mb: Any, each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    before = [1] * (len(each.shape) - len(reads[0].shape)) + list(reads[0].shape)
    times = [wide // narrow for wide, narrow in zip(each.shape, before, strict=True)]
    return lambda x: mb.tile(x=mb.reshape(x=x, shape=before), reps=times)


def _slice(mb: Any, each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    attributes = each.attributes
    # A stop of -1 would mean the last element; the mask means: to the end, whichever that is.
    to_end = [stop < 0 for stop in attributes["stops"]]
    stops = [max(stop, 0) for stop in attributes["stops"]]
    return lambda x: mb.slice_by_index(
        x=x, begin=attributes["starts"], end=stops, stride=attributes["steps"], end_mask=to_end
    )


def _concat(mb: Any, each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    return lambda *terms: mb.concat(values=terms, axis=each.attributes["axis"])


def _pad(mb: Any, each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    value = _one_of(each.dtype, each.attributes["value"])
    return lambda x: mb.pad(x=x, pad=_interleaved(each.attributes), mode="constant", constant_val=value)


def _take(mb: Any, each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    return lambda x, indices: mb.gather(x=x, indices=indices, axis=each.attributes["axis"])


def _reduce(mb: Any, each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    function = getattr(mb, each.name)
    return lambda x: function(x=x, axes=each.attributes["axes"], keep_dims=each.attributes["keep"])


def _conv(mb: Any, each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    attributes = each.attributes
    window = {"strides": attributes["strides"], "dilations": attributes["dilations"], "groups": attributes["groups"]}
    run = partial(mb.conv, pad_type="custom", pad=_interleaved(attributes), **window)
    return lambda x, w, bias=None: run(x=x, weight=w) if bias is None else run(x=x, weight=w, bias=bias)


def _pool(mb: Any, each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    attributes = each.attributes
    window = {"kernel_sizes": attributes["kernel"], "strides": attributes["strides"], "pad": _interleaved(attributes)}
    if each.name == "pool_max":
        return lambda x: mb.max_pool(x=x, pad_type="custom", **window)
    mean = partial(mb.avg_pool, pad_type="custom", exclude_padding_from_average=False, **window)
    return lambda x: mb.mul(x=mean(x=x), y=_one_of(each.dtype, prod(attributes["kernel"])))


def _softmax(mb: Any, each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    return lambda x: mb.softmax(x=x, axis=each.attributes["axis"])


def _gelu(mb: Any, each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    mode = "TANH_APPROXIMATION" if each.attributes["approximate"] == "tanh" else "EXACT"
    return lambda x: mb.gelu(x=x, mode=mode)


def _leaky_relu(mb: Any, each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    return lambda x: mb.leaky_relu(x=x, alpha=_one_of(each.dtype, each.attributes["alpha"]))


def _layer_norm(mb: Any, each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    axes, epsilon = list(range(each.attributes["axis"], len(each.shape))), each.attributes["epsilon"]
    run = partial(mb.layer_norm, axes=axes, epsilon=_one_of(each.dtype, epsilon))

    def scaled(x: Tensor, scale: Tensor, shift: Tensor | None = None) -> Tensor:
        product = mb.mul(x=run(x=x), y=scale)
        return product if shift is None else mb.add(x=product, y=shift)

    return scaled


def _named(names: Iterable[str], maker: Maker) -> dict[str, Maker]:
    return dict.fromkeys(names, maker)


_MAKERS: Mapping[str, Maker] = MappingProxyType(
    {
        "cast": _cast,
        "concat": _concat,
        "conv": _conv,
        "expand": _expand,
        "gelu": _gelu,
        "layer_norm": _layer_norm,
        "leaky_relu": _leaky_relu,
        "log": _log,
        "neg": _neg,
        "pad": _pad,
        "pool_max": _pool,
        "pool_sum": _pool,
        "reshape": _reshape,
        "slice": _slice,
        "softmax": _softmax,
        "take": _take,
        "transpose": _transpose,
        "where": _where,
        **_named(words("reduce_max reduce_mean reduce_min reduce_prod reduce_sum"), _reduce),
    }
)
