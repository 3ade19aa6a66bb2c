"""Opens the first dimension of inputs, which a file fixes, as most exporters do: a shape that is stated names it.

What the file says of sizes inside holds for this one alone. So constants that name it, of `Reshape` and `Expand`, are
made to follow the input, and shapes are inferred anew. Whether the model answers rightly at other sizes is not known
here: every plan is checked at both ends of its range.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np
import onnx_ir as ir

from intarsia.errors import ModelError
from intarsia.graph.bind import Shapes, bind_dimensions
from intarsia.graph.normalisation.constants import add_weight
from intarsia.graph.normalisation.fold import captures, constant

Opened = Mapping[str, tuple[str, int]]
"""For each input whose first dimension is opened the name that this gets, and its size in the file."""


def opened(model: ir.Model, shapes: Shapes) -> Opened:
    """The inputs whose first dimension is fixed in the file and named by the stated shape.

    Raises:
        ModelError: A name is stated for another dimension that is fixed, or for one with another name; or it is to
            stand for several sizes of the file.
    """
    found: dict[str, tuple[str, int]] = {}
    for value in model.graph.inputs:
        stated = shapes.get(value.name or "")
        if not isinstance(stated, tuple) or value.shape is None or len(value.shape) != len(stated):
            continue
        for axis, (own, given) in enumerate(zip(value.shape, stated, strict=True)):
            if not isinstance(given, str):
                continue
            where = f"input {value.name!r}: dimension {axis}"
            if isinstance(own, ir.SymbolicDim):
                if own.value not in (None, given):
                    raise ModelError(
                        f"{where} is called {own.value} in the model, and {given} is stated; keep its name"
                    )
            elif axis:
                raise ModelError(f"{where} is {own} in the model, and only the first one can be opened; state {own}")
            else:
                found[value.name or ""] = given, own
    for name in {name for name, _ in found.values()}:
        sizes = {str(size) for other, size in found.values() if other == name}
        sizes |= {"open" for value in model.graph.inputs for dim in value.shape or () if str(dim) == name}
        if len(sizes) > 1:
            several = " and ".join(sorted(sizes))
            raise ModelError(f"dimension {name} cannot be opened: it is {several} in the model; use two names")
    return found


def as_in_file(shapes: Shapes, several: Opened) -> Shapes:
    """The stated shapes with sizes of the file in place of the names of what is opened, and without these names."""
    names = {name for name, _ in several.values()}
    found = {name: size for name, size in shapes.items() if name not in names}
    for name, (_, size) in several.items():
        stated = shapes[name]
        assert isinstance(stated, tuple), "it names a dimension"
        found[name] = (size, *stated[1:])
    return found


def open_dimensions(model: ir.Model, several: Opened, shapes: Shapes, infer: Callable[[ir.Model], None]) -> None:
    """Open the dimensions of a model, and bind them as it is stated.

    Args:
        model: Its inputs are bound to the sizes of the file.
        infer: Completes the shapes of values.

    Raises:
        ModelError: A node needs the size of the file; or nobody sees whether it does, as a nested graph reads what
            depends on such an input.
    """
    infer(model)
    before = {output: output.shape for node in model.graph for output in node.outputs}
    names = " and ".join(sorted({name for name, _ in several.values()}))
    following = _followed(model, several, names)
    for value in model.graph.inputs:
        found = several.get(value.name or "")
        if found is not None and value.shape is not None:
            value.shape = ir.Shape([ir.SymbolicDim(found[0]), *value.shape[1:]])
    for output in model.graph.outputs:
        if output in following:
            output.shape = None
    bind_dimensions(model, {name: size for name, size in shapes.items() if not isinstance(size, tuple)})
    infer(model)
    if any(shapes.get(name) != size for name, size in several.values()):
        _check_followed(model, before, following, names)


def _check_followed(
    model: ir.Model, before: Mapping[ir.Value, ir.Shape | None], following: Collection[ir.Value], names: str
) -> None:
    """Values that depend on an opened input have another shape than in the file; numbers made of sizes need not."""
    for node in model.graph:
        for output in node.outputs:
            was = before.get(output)
            if output not in following or was is None or len(was) == 0 or _is_of_sizes(output):
                continue
            if output.shape is None:
                why = "does not take other sizes"
            elif output.shape == was:
                why = f"makes {was} whatever the size is, so something that it reads has the size of the file"
            else:
                continue
            raise ModelError(f"{names} cannot be opened: {_called(node)} {why}; leave it fixed")


def _is_of_sizes(value: ir.Value) -> bool:
    return value.dtype in (ir.DataType.INT64, ir.DataType.INT32) and value.shape is not None and len(value.shape) < 2


def _followed(model: ir.Model, several: Opened, names: str) -> set[ir.Value]:
    """What depends on the inputs that are opened, once constants inside are made to follow them."""
    following = {value for value in model.graph.inputs if value.name in several}
    for node in model.graph:
        inside = [value for value in captures(node).values() if value in following]
        if inside:
            raise ModelError(f"{names} cannot be opened: the bodies of {_called(node)} read {inside[0].name}")
        if following.isdisjoint(node.inputs):
            continue
        following.update(node.outputs)
        if node.op_type in _FOLLOWING and not node.domain and node.inputs[0] in following:
            _follow(node)
    return following


def _called(node: ir.Node) -> str:
    return f"{node.op_type} {node.name or node.outputs[0].name}"


def _follow(node: ir.Node) -> None:
    """Have the shape that a constant states follow the first dimension of what is read."""
    source, target = node.inputs[:2]
    tensor = None if target is None else constant(target)
    if tensor is None or source is None or source.shape is None or not source.shape.is_static() or tensor.size == 0:
        return
    stated = [int(size) for size in tensor.numpy()]
    followed = _FOLLOWING[node.op_type](node, source.shape.numpy(), stated)
    if followed != stated:
        assert isinstance(node.graph, ir.Graph), "it is no node of a nested graph"
        name = f"{node.outputs[0].name}.shape"
        node.replace_input_with(1, add_weight(node.graph, name, ir.Tensor(np.array(followed, np.int64))))


def _reshaped(node: ir.Node, source: Sequence[int], stated: list[int]) -> list[int]:
    """The first size is copied where it stays, else it is what is left; where something else is already, nothing is."""
    if source and stated[0] == source[0] and 0 not in stated:
        node.attributes.pop("allowzero", None)  # by which a zero is a size, and not a copy
        return [0, *stated[1:]]
    return stated if -1 in stated else [-1, *stated[1:]]


def _expanded(node: ir.Node, source: Sequence[int], stated: list[int]) -> list[int]:
    """Where the first size stays, one row is as many as there are."""
    return [1, *stated[1:]] if len(source) == len(stated) and stated[0] == source[0] else stated


_FOLLOWING = {"Expand": _expanded, "Reshape": _reshaped}
