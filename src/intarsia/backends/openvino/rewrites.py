"""Changes to a model that OpenVINO has read, where its CPU plug-in would compute something else than ONNX says."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from intarsia.backends.contract.node_facts import words

_NARROW: Mapping[str, int] = {"i8": 8, "u8": 8, "i16": 16, "u16": 16}
_RANGES: Mapping[str, frozenset[str]] = {
    "i16": frozenset({"boolean", "i8", "u8", "i16"}),
    "u16": frozenset({"boolean", "u8", "u16"}),
}
"""Types whose every value a 16-bit type can hold."""
_SIGNED_BITS: Mapping[str, int] = {**_NARROW, "i32": 32, "i64": 32}
"""Bits of the types that fit into a signed 32-bit integer, as which the plug-in holds 64-bit ones."""
_LARGEST: Mapping[str, float] = {"f8e4m3": 448.0, "f8e5m2": 57344.0}
_INTEGERS = frozenset({*_NARROW, "i32", "u32", "i64", "u64"})
_BOUNDS = frozenset({"Maximum", "Minimum"})
_THRESHOLD = 3
"""Position of the overlap from which on a NonMaxSuppression suppresses."""
_CARRIERS = words(
    "Add Broadcast Concat Convert ConvertLike Gather Identity Maximum Minimum Multiply Pad Reshape Select Slice "
    "Squeeze StridedSlice Subtract Tile Transpose Unsqueeze"
)
"""Operators that hand an infinity on, from where it is written down as one."""
_ARITHMETIC: Mapping[str, str] = {"Add": "add", "Multiply": "multiply", "Negative": "negative", "Subtract": "subtract"}
"""Operator -> the function that makes one."""


def fixed(model: Any) -> Any:
    """The model, changed in place."""
    import openvino

    _part_inputs_from_outputs(openvino, model)
    for node in model.get_ordered_ops():
        fix = _FIXES.get(node.get_type_name())
        replacement = None if fix is None else fix(openvino, node)
        if replacement is not None:
            _replace(node, replacement)
    return model


def _part_inputs_from_outputs(ov: Any, model: Any) -> None:
    """Put a copy between an input and an output that shows it, as it is left where a Dropout vanishes.

    Both would be one tensor, and setting the output's memory would take the input's away.
    """
    for result in model.get_results():
        source = result.input_value(0)
        if source.get_node().get_type_name() == "Parameter":
            result.input(0).replace_source_output(ov.opset16.identity(source).output(0))


def _replace(node: Any, replacement: Any) -> None:
    """Let all that reads the node, other than what replaces it, read the replacement, under the node's names."""
    inside = {each.get_name() for each in _above(replacement, node)}
    name, names = node.get_friendly_name(), node.output(0).get_names()
    for reader in node.output(0).get_target_inputs():
        if reader.get_node().get_name() not in inside:
            reader.replace_source_output(replacement.output(0))
    replacement.set_friendly_name(name)
    replacement.output(0).set_names(names)


def _above(node: Any, end: Any) -> Iterator[Any]:
    """The node and what it is computed from, as far as the inputs of ``end``."""
    stop = {end.get_name(), *(end.input_value(place).get_node().get_name() for place in range(end.get_input_size()))}
    to_do, seen = [node], set()
    while to_do:
        each = to_do.pop()
        if each.get_name() in seen or each.get_name() in stop:
            continue
        seen.add(each.get_name())
        yield each
        to_do += [each.input_value(place).get_node() for place in range(each.get_input_size())]


def _type(output: Any) -> str:
    return str(output.get_element_type().get_type_name())


def _constant(ov: Any, value: Any, element_type: Any) -> Any:
    return ov.op.Constant(element_type, ov.Shape([]), [value])


def _wrapped(ov: Any, node: Any, name: str) -> Any:
    """32-bit values brought into the range of a narrow type as its arithmetic does: modulo its size."""
    low = ov.opset16.bitwise_and(node, _constant(ov, (1 << _NARROW[name]) - 1, ov.Type.i32))
    if name.startswith("u"):
        return low
    sign = _constant(ov, 1 << (_NARROW[name] - 1), ov.Type.i32)
    return ov.opset16.subtract(ov.opset16.bitwise_xor(low, sign), sign)


def _arithmetic(ov: Any, node: Any) -> Any:
    """In 32 bits: in 8 the plug-in stops at the limits of the type, and in 16 it goes past them inside a kernel."""
    name = _type(node.output(0))
    if name not in _NARROW:
        return None
    wide = [ov.opset16.convert(node.input_value(place), ov.Type.i32) for place in range(node.get_input_size())]
    inner = getattr(ov.opset16, _ARITHMETIC[node.get_type_name()])(*wide)
    return ov.opset16.convert(_wrapped(ov, inner, name), node.output(0).get_element_type())


def _convert(ov: Any, node: Any) -> Any:
    """To 16 bits by way of 32: inside a kernel the plug-in leaves such a value as wide as it was.

    To 8 bits of a float after cutting off what is too large, where the plug-in would make it infinite or no number.
    """
    source, name = _type(node.input_value(0)), _type(node.output(0))
    if name in _LARGEST and source not in _LARGEST:
        given = node.input_value(0)
        cut = ov.opset16.select(
            ov.opset16.is_nan(given), given, ov.opset16.clamp(given, -_LARGEST[name], _LARGEST[name])
        )
        return ov.opset16.convert(cut, node.output(0).get_element_type())
    if name not in _RANGES or source in _RANGES[name] or source not in _INTEGERS:
        return None
    wide = ov.opset16.convert(node.input_value(0), ov.Type.i32)
    return ov.opset16.convert(_wrapped(ov, wide, name), node.output(0).get_element_type())


def _product(ov: Any, node: Any) -> Any:
    """A shift to the left is one too."""
    return _arithmetic(ov, node) if _shifted(node) is None else _shift(ov, node)


def _shifted(node: Any) -> Any:
    """By how many places, if the node is what becomes of an integer's shift: a product with a power of two."""
    power = node.input_value(1).get_node()
    if power.get_type_name() != "Power" or _type(power.output(0)) not in _SIGNED_BITS:
        return None
    base = power.input_value(0).get_node()
    return power.input_value(1) if base.get_type_name() == "Constant" and (base.data == 2).all() else None


def _shift(ov: Any, node: Any) -> Any:
    """Bit by bit in 32 bits, and by no more places than there are: ONNX then shifts everything out."""
    shifted, name = _shifted(node), _type(node.output(0))
    if shifted is None:
        return None
    values, places = (ov.opset16.convert(each, ov.Type.i32) for each in (node.input_value(0), shifted))
    zero, last = (_constant(ov, bits, ov.Type.i32) for bits in (0, _SIGNED_BITS[name] - 1))
    inside = ov.opset16.logical_and(ov.opset16.greater_equal(places, zero), ov.opset16.less_equal(places, last))
    if node.get_type_name() == "Multiply":
        moved = ov.opset16.bitwise_left_shift(values, ov.opset16.select(inside, places, zero))
    else:
        moved = ov.opset16.bitwise_right_shift(values, ov.opset16.select(inside, places, last))
    if node.get_type_name() == "Multiply" or name.startswith("u"):
        moved = ov.opset16.select(inside, moved, zero)
    return ov.opset16.convert(
        _wrapped(ov, moved, name) if name in _NARROW else moved, node.output(0).get_element_type()
    )


def _extreme(ov: Any, node: Any) -> Any:
    """Infinite where all is: the plug-in starts from the largest finite number."""
    import numpy as np

    element_type = node.output(0).get_element_type()
    if not element_type.is_real() or not _carries_infinity(node.input_value(0).get_node()):
        return None
    bound = -np.inf if node.get_type_name() == "ReduceMax" else np.inf
    infinity = ov.opset16.convert(_constant(ov, bound, ov.Type.f32), element_type)
    is_infinite = ov.opset16.equal(node.input_value(0), infinity)
    all_are = ov.opset16.reduce_logical_and(is_infinite, node.input_value(1), node.get_keep_dims())
    return ov.opset16.select(all_are, infinity, node)


def _bounded(ov: Any, node: Any) -> None:
    """With all bits kept between two bounds: next to each other they become a clamp, which is made in float32."""
    element_type = node.output(0).get_element_type()
    if _type(node.output(0)) not in {"i32", "i64"}:
        return
    for place in range(node.get_input_size()):
        source = node.input_value(place)
        if source.get_node().get_type_name() in _BOUNDS:
            node.input(place).replace_source_output(
                ov.opset16.bitwise_and(source, _constant(ov, -1, element_type)).output(0)
            )


def _suppression(ov: Any, node: Any) -> Any:
    """With the next larger threshold: the plug-in suppresses at the threshold, ONNX above it."""
    import numpy as np

    if node.get_input_size() > _THRESHOLD:
        facts = np.finfo(np.float32)
        step = ov.opset16.multiply(node.input_value(_THRESHOLD), _constant(ov, 1 + float(facts.eps), ov.Type.f32))
        above = ov.opset16.maximum(step, _constant(ov, float(facts.tiny), ov.Type.f32))
        node.input(_THRESHOLD).replace_source_output(above.output(0))


def _carries_infinity(node: Any) -> bool:
    """Whether values of the node may be infinite because a constant is: a mask, as a rule."""
    import numpy as np

    to_do, seen = [node], set()
    while to_do:
        each = to_do.pop()
        if each.get_name() in seen:
            continue
        seen.add(each.get_name())
        kind = each.get_type_name()
        if kind == "Parameter":
            return True
        if kind == "Constant":
            if each.output(0).get_element_type().is_real() and bool(np.isinf(each.data).any()):
                return True
        elif kind in _CARRIERS:
            to_do += [each.input_value(place).get_node() for place in range(each.get_input_size())]
    return False


_FIXES: Mapping[str, Callable[[Any, Any], Any]] = {
    **dict.fromkeys(_ARITHMETIC, _arithmetic),
    **dict.fromkeys(_BOUNDS, _bounded),
    "Convert": _convert,
    "ConvertLike": _convert,
    "Divide": _shift,
    "Multiply": _product,
    "NonMaxSuppression": _suppression,
    "ReduceMax": _extreme,
    "ReduceMin": _extreme,
}
