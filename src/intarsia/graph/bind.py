"""Gives every dimension of every input a number, or a range: from the file, or from what the user states."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping
from typing import Any

import onnx_ir as ir

from intarsia.errors import ConfigError, ModelError
from intarsia.graph.ranges import SizeRange
from intarsia.numbers import shown, whole
from intarsia.spec.problems import nearest
from intarsia.wording import counted

Shapes = Mapping[str, tuple[int | str, ...] | int | str | SizeRange]
"""``{"input": (1, 3, 224, 224)}`` states a whole shape, ``{"N": 1}`` a named dimension wherever it occurs, and
``{"N": "1..8"}`` or a `SizeRange` the sizes that it may have. ``{"input": ("N", 3, 224, 224), "N": "1..8"}`` names a
first dimension that the file fixes, and so opens it."""
MOST_SIZE = 2**63 - 1
"""Of a dimension, as ONNX counts."""


def stated_shapes(shapes: Mapping[str, Any]) -> Shapes:
    """Return the stated shapes as Python integers. Raises `ConfigError` for a number that no dimension can have."""
    if not isinstance(shapes, Mapping):
        raise ConfigError(f"shapes={shown(shapes)}: give a size or sizes by name, as {{'input': (1, 3, 224, 224)}}")
    return {name: _stated(name, size) for name, size in shapes.items()}


def _stated(name: str, size: Any) -> tuple[int | str, ...] | int | str | SizeRange:
    if isinstance(size, str | SizeRange):
        return size
    is_shape = isinstance(size, Iterable) and not isinstance(size, Mapping | bytes)
    found = [each if _is_name(each) else whole(each) for each in size] if is_shape else [whole(size)]
    sizes = tuple(each for each in found if isinstance(each, str) or (each is not None and each <= MOST_SIZE))
    if not isinstance(name, str) or len(sizes) < len(found):
        raise ConfigError(
            f"the shape given for {shown(name)} is {shown(size)}: give sizes as 8, (1, 3, 224, 224) or '1..512'"
        )
    return sizes if is_shape else sizes[0]


def _is_name(size: Any) -> bool:
    return isinstance(size, str) and re.fullmatch(r"[^\W\d]\w*", size) is not None


def ranges_of(shapes: Shapes) -> dict[str, SizeRange]:
    """Return the dimensions that stay open, with their ranges. Raises `ConfigError` for a text that is not a range."""
    read = {name: SizeRange.parse(size) if isinstance(size, str) else size for name, size in shapes.items()}
    return {name: size for name, size in read.items() if isinstance(size, SizeRange)}


def bind_dimensions(model: ir.Model, shapes: Shapes) -> None:
    """Replace symbolic dimensions by numbers, in inputs and wherever else the same name is used.

    A dimension that has a range stays symbolic.

    Raises:
        ModelError: A name that the model does not have, a shape that contradicts the file, or a dimension left open.
        ConfigError: A text is no range.
    """
    shapes = stated_shapes(shapes)
    inputs = {value.name or "": value for value in model.graph.inputs}
    open_ = ranges_of(shapes)
    dims = {name: size for name, size in shapes.items() if isinstance(size, int)}
    whole = {name: tuple(size) for name, size in shapes.items() if not isinstance(size, int | str | SizeRange)}
    _check_names(model, inputs, {**dims, **{name: size.low for name, size in open_.items()}}, whole)
    for name, shape in whole.items():
        _unify(inputs[name], shape, dims)
    for name in sorted(open_.keys() & dims.keys()):
        raise ModelError(f"dimension {name!r} has the range {open_[name]}, and a shape says {dims[name]}; state one")
    for value in _values(model):
        if value.shape is not None:
            value.shape = ir.Shape([_bound(dim, dims) for dim in value.shape])
    for value in inputs.values():
        _check_bound(value, open_)


def _check_names(
    model: ir.Model, inputs: Mapping[str, ir.Value], dims: Mapping[str, int], whole: Mapping[str, tuple[int | str, ...]]
) -> None:
    symbols = {dim.value for value in inputs.values() for dim in value.shape or () if isinstance(dim, ir.SymbolicDim)}
    symbols |= {size for shape in whole.values() for size in shape if isinstance(size, str)}
    named = sorted(symbol for symbol in symbols if symbol)
    for kind, given, known in (("input", whole, list(inputs)), ("dimension", dims, named)):
        for name in given:
            if name not in known:
                hint = nearest(name, known, f"it has {', '.join(known) or 'none'}")
                raise ModelError(f"a shape is given for {name!r}, but the model has no such {kind}{hint}")
    sizes = ((name, size) for name, shape in whole.items() for size in shape if isinstance(size, int))
    for name, size in (*dims.items(), *sizes):
        if size < 0:
            raise ModelError(f"the shape given for {name!r} has the negative dimension {size}")


def _unify(value: ir.Value, shape: tuple[int | str, ...], dims: dict[str, int]) -> None:
    """Apply a stated shape; the sizes of its named dimensions hold for the whole model. A name states no size."""
    declared = value.shape
    if declared is None:
        value.shape = ir.Shape(shape)
        return
    if len(declared) != len(shape):
        raise ModelError(
            f"input {value.name!r} has {counted(len(declared), 'dimension')} {declared}, but {_text(shape)} is given"
        )
    for axis, (own, given) in enumerate(zip(declared, shape, strict=True)):
        if isinstance(given, str):
            continue
        if isinstance(own, int):
            known: int | None = own
        else:
            known = dims.setdefault(own.value, given) if own.value else given
        if known != given:
            raise ModelError(
                f"input {value.name!r}: dimension {axis} ({own}) is {known} in the model, but {_text(shape)} is given"
            )
    value.shape = ir.Shape(shape)


def _bound(dim: int | ir.SymbolicDim, dims: Mapping[str, int]) -> int | ir.SymbolicDim:
    return dims.get(dim.value, dim) if isinstance(dim, ir.SymbolicDim) and dim.value else dim


def _check_bound(value: ir.Value, open_: Container[str | None]) -> None:
    if value.type is not None and not isinstance(value.type, ir.TensorType):
        return  # a sequence or an optional: engines that take it need no shape
    if value.shape is None:
        raise ModelError(f"input {value.name!r} has no shape; state it, as in --shape {value.name}=1x3x224x224")
    for axis, dim in enumerate(value.shape):
        if isinstance(dim, int) or dim.value in open_:
            continue
        example = _text(tuple(size if isinstance(size, int) else 1 for size in value.shape))
        fixes = [f"--shape {value.name}={example}"]
        if dim.value:
            fixes += [f"--shape {dim.value}=1", f"--shape {dim.value}=1..512 for any of these sizes"]
        called = f"{axis} ({dim.value!r})" if dim.value else str(axis)
        raise ModelError(
            f"input {value.name!r}: dimension {called} has no size; state it, for instance with {' or '.join(fixes)}"
        )


def _values(model: ir.Model) -> list[ir.Value]:
    graphs = list(model.graphs())
    return [
        value for graph in graphs for value in (*graph.inputs, *(output for node in graph for output in node.outputs))
    ]


def _text(shape: tuple[int | str, ...]) -> str:
    return "x".join(map(str, shape)) or "scalar"
