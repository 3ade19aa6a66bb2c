"""Each primitive of the shared lowering as an operation of Core ML's ML programs, and the package they go to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from intarsia.backends.contract.node_facts import words
from intarsia.backends.lowering.interpreter import Interpreter, Kernel, Tensor
from intarsia.backends.lowering.program import INPUT, LEAVES, Instruction, Program, strange_type
from intarsia.errors import CompileError
from intarsia.wording import counted

if TYPE_CHECKING:
    import numpy as np

_MOST_RANK = 5
_TYPES: Mapping[str, str] = {"float32": "fp32", "float16": "fp16", "int32": "int32", "bool": "bool"}

_SAME = words(
    "abs acos add asin atan ceil cos cosh erf exp floor identity matmul mul pow relu round sigmoid sign sin sinh sqrt",
    "sub tan tanh",
)
_DIRECT: Mapping[str, str] = {
    **{name: name for name in _SAME},
    "and": "logical_and", "div": "real_div", "eq": "equal", "ge": "greater_equal", "gt": "greater", "le": "less_equal",
    "lt": "less", "max": "maximum", "min": "minimum", "ne": "not_equal", "not": "logical_not", "or": "logical_or",
    "xor": "logical_xor",
}  # fmt: skip
"""Primitives that are one operation, on ``x`` or on ``x`` and ``y``."""
_FLAGS = words("and or xor not")
_FLOAT_ONLY = words("conv pool_max pool_sum softmax gelu layer_norm leaky_relu sigmoid erf")


def lack(each: Instruction, reads: Sequence[Instruction]) -> str | None:
    """Why an instruction on what these compute cannot be written, as what there is none of."""
    if each.name not in _DIRECT and each.name not in _OTHERS:
        return each.name
    operands = reads[:1] if each.name == "take" else reads
    if strange := strange_type(each, operands, frozenset(_TYPES)):
        return f"{each.name} of {strange}"
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
    """The package of a program with its weights as a folder, whose name ends in ``.mlpackage``.

    Inputs are named in order. ``precision`` is the type that it is to compute in: ``float16`` or ``float32``.
    """
    import logging

    logging.getLogger("coremltools").setLevel(logging.ERROR)  # it says at length what it lacks off a Mac
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

    def checked(*tensors: Tensor) -> Tensor:
        if each.name in _OTHERS:
            result = _OTHERS[each.name](mb, each, *tensors)
        else:
            function = getattr(mb, _DIRECT[each.name])
            result = function(**dict(zip("xy", tensors, strict=False)))
        if tuple(result.shape) != each.shape:
            raise CompileError("coreml", f"{each} became one of {list(result.shape)}")
        return result

    return checked


def _interleaved(attributes: Mapping[str, Any]) -> list[int]:
    return [number for pair in zip(attributes["before"], attributes["after"], strict=True) for number in pair]


def _one_of(dtype: str, number: float) -> Any:
    import numpy as np

    return np.array(number, dtype)


def _expand(mb: Any, each: Instruction, x: Tensor) -> Tensor:
    before = [1] * (len(each.shape) - len(x.shape)) + list(x.shape)
    times = [wide // narrow for wide, narrow in zip(each.shape, before, strict=True)]
    return mb.tile(x=mb.reshape(x=x, shape=before), reps=times)


def _slice(mb: Any, each: Instruction, x: Tensor) -> Tensor:
    attributes = each.attributes
    # A stop of -1 would mean the last element; the mask means: to the end, whichever that is.
    to_end = [stop < 0 for stop in attributes["stops"]]
    stops = [max(stop, 0) for stop in attributes["stops"]]
    return mb.slice_by_index(x=x, begin=attributes["starts"], end=stops, stride=attributes["steps"], end_mask=to_end)


def _pad(mb: Any, each: Instruction, x: Tensor) -> Tensor:
    value = _one_of(each.dtype, each.attributes["value"])
    return mb.pad(x=x, pad=_interleaved(each.attributes), mode="constant", constant_val=value)


def _reduce(mb: Any, each: Instruction, x: Tensor) -> Tensor:
    return getattr(mb, each.name)(x=x, axes=each.attributes["axes"], keep_dims=each.attributes["keep"])


def _conv(mb: Any, each: Instruction, x: Tensor, w: Tensor, bias: Tensor | None = None) -> Tensor:
    window = {name: each.attributes[name] for name in ("strides", "dilations", "groups")}
    shift = {} if bias is None else {"bias": bias}
    return mb.conv(x=x, weight=w, pad_type="custom", pad=_interleaved(each.attributes), **window, **shift)


def _pool(mb: Any, each: Instruction, x: Tensor) -> Tensor:
    attrs = each.attributes
    window = {"kernel_sizes": attrs["kernel"], "strides": attrs["strides"], "pad": _interleaved(attrs)}
    if each.name == "pool_max":
        return mb.max_pool(x=x, pad_type="custom", **window)
    mean = mb.avg_pool(x=x, pad_type="custom", exclude_padding_from_average=False, **window)
    return mb.mul(x=mean, y=_one_of(each.dtype, prod(attrs["kernel"])))


def _gelu(mb: Any, each: Instruction, x: Tensor) -> Tensor:
    return mb.gelu(x=x, mode="TANH_APPROXIMATION" if each.attributes["approximate"] == "tanh" else "EXACT")


def _layer_norm(mb: Any, each: Instruction, x: Tensor, scale: Tensor, shift: Tensor | None = None) -> Tensor:
    axes, epsilon = list(range(each.attributes["axis"], len(each.shape))), each.attributes["epsilon"]
    product = mb.mul(x=mb.layer_norm(x=x, axes=axes, epsilon=_one_of(each.dtype, epsilon)), y=scale)
    return product if shift is None else mb.add(x=product, y=shift)


_OTHERS: Mapping[str, Callable[..., Tensor]] = {
    "cast": lambda mb, each, x: mb.cast(x=x, dtype=_TYPES[each.dtype]),
    "concat": lambda mb, each, *terms: mb.concat(values=terms, axis=each.attributes["axis"]),
    "conv": _conv,
    "expand": _expand,
    "gelu": _gelu,
    "layer_norm": _layer_norm,
    "leaky_relu": lambda mb, each, x: mb.leaky_relu(x=x, alpha=_one_of(each.dtype, each.attributes["alpha"])),
    "log": lambda mb, each, x: mb.log(x=x, epsilon=0.0),
    "neg": lambda mb, each, x: mb.mul(x=x, y=_one_of(each.dtype, -1)),
    "pad": _pad,
    **dict.fromkeys(("pool_max", "pool_sum"), _pool),
    "reshape": lambda mb, each, x: mb.reshape(x=x, shape=list(each.shape)),
    "slice": _slice,
    "softmax": lambda mb, each, x: mb.softmax(x=x, axis=each.attributes["axis"]),
    "take": lambda mb, each, x, indices: mb.gather(x=x, indices=indices, axis=each.attributes["axis"]),
    "transpose": lambda mb, each, x: mb.transpose(x=x, perm=each.attributes["order"]),
    "where": lambda mb, each, condition, a, b: mb.select(cond=condition, a=a, b=b),
    **dict.fromkeys(("reduce_max", "reduce_mean", "reduce_min", "reduce_prod", "reduce_sum"), _reduce),
}
"""What takes the builder, the instruction and its operands."""
