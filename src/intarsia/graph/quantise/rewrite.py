"""Layers in few bits, as plain ONNX: scales, zero points and rounding are as it defines ``QuantizeLinear``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from intarsia.config.precision import Precision, Range, Scheme
from intarsia.errors import PlanError
from intarsia.graph.dtypes import elem_type_of
from intarsia.graph.quantise.blocks import BLOCK, Blocks
from intarsia.graph.quantise.draft import GraphDraft
from intarsia.graph.quantise.layers import SUMS, Layer, layers_of
from intarsia.graph.quantise.rounding import along_weight, balanced, means_of, rounded

if TYPE_CHECKING:
    from intarsia.graph.submodel import SubModel

LEVELS = 255
"""Steps of ``uint8``."""
WEIGHT_MAX = 127
"""Weights keep to ±127, so that what is negative has an equal that is positive."""
_BIAS_MAX = 2**31 - 1
_TINY = float(np.finfo(np.float32).tiny)
"""The least scale: kernels flush what is smaller to zero, and divide by it."""

_EPSILON = 1e-5


def quantised_weight(weight: np.ndarray, axis: int, means: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """A weight as ``int8``, and the scale of each channel along ``axis``.

    A channel that is zero throughout gets the scale 1. The error of an element is at most half its channel's scale,
    or one scale where by these means (`along_weight`) another one's error cancels it.
    """
    others = tuple(dim for dim in range(weight.ndim) if dim != axis)
    largest = np.abs(weight).max(axis=others, keepdims=True, initial=0.0).astype(np.float64)
    scales = np.where(largest > 0.0, np.maximum(largest / WEIGHT_MAX, _TINY), 1.0).astype(np.float32)
    exact = weight / scales
    steps = _Steps.nearest(exact) if means is None else balanced(exact, means, axis, _Steps())
    return steps.astype(np.int8), scales.reshape(-1)


class _Steps:
    """The whole numbers of a weight in 8 bits."""

    @staticmethod
    def nearest(exact: np.ndarray) -> np.ndarray:
        found: np.ndarray = np.clip(np.rint(exact), -WEIGHT_MAX, WEIGHT_MAX)
        return found

    @staticmethod
    def beyond(exact: np.ndarray, nearest: np.ndarray) -> np.ndarray:
        found: np.ndarray = np.clip(nearest + np.sign(exact - nearest), -WEIGHT_MAX, WEIGHT_MAX)
        return found


def activation_scale(low: float, high: float) -> tuple[np.float32, np.uint8]:
    """Scale and zero point of a ``uint8`` value of this range, which is widened to hold zero."""
    low, high = min(low, 0.0), max(high, 0.0)
    if not high > low:
        return np.float32(1.0), np.uint8(0)
    scale = np.float32(max((high - low) / LEVELS, _TINY))
    return scale, np.uint8(np.clip(np.rint(-low / float(scale)), 0, LEVELS))


def quantised_bias(bias: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """A bias as ``int32`` in steps of the product's scales."""
    steps: np.ndarray = np.clip(np.rint(bias.astype(np.float64) / scales), -_BIAS_MAX, _BIAS_MAX)
    return steps.astype(np.int32)


def quantised(model: SubModel, precision: Precision, type_: str | None = None) -> SubModel:
    """The partition with these nodes in few bits; its inputs and outputs keep their names and types.

    Args:
        type_: The smaller float type in which its engine computes the other nodes, if it does: ``bf16`` or ``f16``.

    Raises:
        PlanError: A node that is named cannot compute so, or what is known of something that it reads does not do.
    """
    layers = {layer.node.id: layer for layer in layers_of(model.graph, model.nodes)}
    chosen, ranges = dict(precision.schemes), dict(precision.ranges)
    _check(chosen, ranges, layers)
    means = _means(precision)
    turned = {
        id_ for id_, layer in layers.items() if type_ and not layer.sources and layer.reads[0] in means
    } - chosen.keys()
    folded = {norm.id for id_ in (*chosen, *turned) if (norm := layers[id_].norm) is not None}
    writer = LayerWriter(GraphDraft(model.graph), ranges, means)
    for node in model.nodes:
        if node.id in chosen:
            layer = layers[node.id]
            writer.write(layer, chosen[node.id], layer.output)
        elif type_ and node.id in turned:
            writer.write_rounded(layers[node.id], type_)
        elif node.id not in folded:
            writer.draft.keep(node)
    return writer.draft.finish_part(model)


def _means(precision: Precision) -> dict[str, np.ndarray]:
    found = {}
    for name, text in precision.means:
        try:
            found[name] = means_of(text)
        except ValueError as error:
            raise PlanError(f"the means of {name!r} cannot be read ({error}): take them out of 'precision'") from error
    return found


def _check(chosen: Mapping[str, Scheme], ranges: Mapping[str, Range], layers: Mapping[str, Layer]) -> None:
    for id_, scheme in chosen.items():
        layer = layers.get(id_)
        if layer is None or scheme not in layer.schemes:
            ways = ", ".join(layer.schemes if layer else ()) or "fp32 alone"
            raise PlanError(
                f"node {id_!r} cannot compute in {scheme.value}, only in {ways}: take it out of 'precision'"
            )
        missing = [name for name in layer.reads if name not in ranges] if scheme.needs_ranges else []
        if missing:
            raise PlanError(f"node {id_!r} is to compute in {scheme.value}, which needs the range of {missing[0]!r}")


class LayerWriter:
    """Writes layers in few bits into a draft; what several of them read is converted once.

    Args:
        means: By name of the value the mean of each of its channels, where weights are rounded by it.
        packs: Whether weights in few bits are written as such; else as the fp32 numbers that they stand for, which
            tells their error at the speed of fp32.
    """

    def __init__(
        self,
        draft: GraphDraft,
        ranges: Mapping[str, Range],
        means: Mapping[str, np.ndarray] | None = None,
        *,
        packs: bool = True,
    ) -> None:
        self.draft = draft
        self._packs = packs
        self._ranges = ranges
        self._means = means or {}
        self._dynamic: dict[str, tuple[str, str, str]] = {}
        self._static: dict[str, str] = {}

    def write(self, layer: Layer, scheme: Scheme, output: str) -> None:
        """The nodes that compute a layer, the last of which gives ``output``."""
        if scheme.weight_bits is not None:
            self._write_blocks(layer, output, scheme.weight_bits)
        elif scheme is Scheme.DYNAMIC:
            self._write_dynamic(layer, output)
        elif layer.node.op_type in SUMS:
            self.draft.add("Add", [self._fixed(name) for name in layer.reads], output, like=layer.output)
        else:
            self._write_static(layer, output)

    def write_rounded(self, layer: Layer, type_: str) -> None:
        """The layer with a weight that a smaller float type holds."""
        draft, node = self.draft, layer.node
        weight, bias = self._folded(layer)
        means = self._along(layer, weight)
        assert means is not None
        factor = draft.weight(f"{layer.output}/weight/{type_}", rounded(weight, means, _outputs_axis(layer), type_))
        if layer.norm is not None and bias is not None:
            more = [draft.weight(f"{layer.output}/bias/{type_}", bias)]
        else:
            more = list(node.inputs[2:])
        draft.add(node.op_type, [node.inputs[0], factor, *more], layer.output, layer.output, **_attributes(layer))

    def _along(self, layer: Layer, weight: np.ndarray) -> np.ndarray | None:
        """The means of what each element of a weight is multiplied with."""
        means = self._means.get(layer.reads[0])
        if means is None:
            return None
        try:
            return along_weight(layer, weight, means)
        except ValueError as error:
            raise PlanError(f"node {layer.node.id!r}, which reads {layer.reads[0]!r}: {error}") from error

    def _write_blocks(self, layer: Layer, output: str, bits: int) -> None:
        """A product whose weight is read in blocks, and the bias behind it: the form that engines have kernels for."""
        draft, node = self.draft, layer.node
        weight = draft.graph.weights[node.inputs[1]].array()
        flipped = bool(node.attributes.get("transB", 0))
        blocks = Blocks.of(weight.T if flipped else weight, bits)
        name = f"{node.inputs[1]}/{'flipped' if flipped else 'plain'}/int{bits}"
        if self._packs:
            parts = [draft.weight(f"{name}/{part}", array) for part, array in blocks.parts()]
            made = [(f"{output}/weight", "float32", blocks.codes.shape)]
            (factor,) = draft.add_several("DequantizeLinear", parts, made, axis=0, block_size=BLOCK)
        else:
            factor = draft.weight(f"{name}/restored", blocks.restored())
        self._with_bias("MatMul", [node.inputs[0], factor], layer, output)

    def _write_dynamic(self, layer: Layer, output: str) -> None:
        draft, node = self.draft, layer.node
        data, scale, zero = self._measured(node.inputs[0])
        weight = draft.graph.weights[node.inputs[1]].array()
        means = self._along(layer, weight)
        flipped = bool(node.attributes.get("transB", 0))
        if flipped:
            weight, means = weight.T, None if means is None else means.T
        steps, scales = quantised_weight(weight, 1, means)
        name = f"{node.inputs[1]}/{'flipped' if flipped else 'plain'}"
        factor = draft.weight(f"{name}/int8", steps)
        zeros = draft.weight(f"{name}/zeros", np.zeros(scales.shape, np.int8))
        total = draft.add("MatMulInteger", [data, factor, zero, zeros], f"{output}/int32", layer.output, "int32")
        counted = draft.add("Cast", [total], f"{output}/float", layer.output, to=elem_type_of("float32"))
        step = f"{output}/scale"
        draft.add_several("Mul", [scale, draft.weight(f"{name}/scales", scales)], [(step, "float32", scales.shape)])
        self._with_bias("Mul", [counted, step], layer, output)

    def _with_bias(self, op_type: str, inputs: Sequence[str], layer: Layer, output: str) -> None:
        """An operator that computes a product, and the sum with the layer's bias if it has one."""
        bias = layer.node.inputs[2] if len(layer.node.inputs) > 2 else ""
        product = self.draft.add(op_type, inputs, f"{output}/product" if bias else output, layer.output)
        if bias:
            self.draft.add("Add", [product, bias], output, layer.output)

    def _measured(self, name: str) -> tuple[str, str, str]:
        """Quantise a value dynamically, by its own range."""
        if name not in self._dynamic:
            made = (f"{name}/uint8", f"{name}/scale", f"{name}/zero")
            shape = self.draft.graph.values[name].shape
            types = (("uint8", shape), ("float32", ()), ("uint8", ()))
            outputs = [(each, dtype, own) for each, (dtype, own) in zip(made, types, strict=True)]
            self.draft.add_several("DynamicQuantizeLinear", [name], outputs)
            self._dynamic[name] = made
        return self._dynamic[name]

    def _fixed(self, name: str) -> str:
        """Quantise and dequantise a value by its calibrated range."""
        if name not in self._static:
            self._static[name] = self.rounded(self.draft, name, self._ranges[name], f"{name}/fixed")
        return self._static[name]

    @staticmethod
    def rounded(draft: GraphDraft, name: str, span: Range, prefix: str) -> str:
        """A value that went through 8 bits by a range; what is new is called ``prefix`` and more."""
        scale, zero = activation_scale(*span)
        figures = [draft.weight(f"{prefix}/step", np.array(scale)), draft.weight(f"{prefix}/origin", np.array(zero))]
        steps = draft.add("QuantizeLinear", [name, *figures], f"{prefix}/uint8", name, "uint8")
        return draft.add("DequantizeLinear", [steps, *figures], f"{prefix}/restored", name)

    def _write_static(self, layer: Layer, output: str) -> None:
        draft, node = self.draft, layer.node
        weight, bias = self._folded(layer)
        axis = _outputs_axis(layer)  # whole channels of what comes out share a scale
        steps, scales = quantised_weight(weight, axis, self._along(layer, weight))
        inputs = [self._fixed(node.inputs[0]), self._restored(f"{output}/weight", steps, scales, axis)]
        if bias is not None:
            step, _ = activation_scale(*self._ranges[node.inputs[0]])
            units = (scales * step).astype(np.float32)
            inputs.append(self._restored(f"{output}/bias", quantised_bias(bias, units), units, 0))
        draft.add(node.op_type, inputs, output, layer.output, **_attributes(layer))

    def _restored(self, name: str, steps: np.ndarray, scales: np.ndarray, axis: int) -> str:
        """Return a dequantised constant that engines keep in few bits."""
        zeros = np.zeros(scales.shape, steps.dtype)
        inputs = [
            self.draft.weight(f"{name}/{part}", array)
            for part, array in (("steps", steps), ("scales", scales), ("zeros", zeros))
        ]
        return self.draft.add_several(
            "DequantizeLinear", inputs, [(f"{name}/restored", "float32", steps.shape)], axis=axis
        )[0]

    def _folded(self, layer: Layer) -> tuple[np.ndarray, np.ndarray | None]:
        """Fold the following normalisation into weight and bias."""
        weights, node = self.draft.graph.weights, layer.node
        weight = weights[node.inputs[1]].array()
        bias = weights[node.inputs[2]].array() if len(node.inputs) > 2 and node.inputs[2] else None
        if layer.norm is None:
            return weight, bias
        gain, shift, mean, variance = (weights[name].array().astype(np.float64) for name in layer.norm.inputs[1:5])
        factor = gain / np.sqrt(variance + float(layer.norm.attributes.get("epsilon", _EPSILON)))
        moved = shift + factor * ((0.0 if bias is None else bias) - mean)
        scaled = weight * factor.reshape(-1, *(1,) * (weight.ndim - 1))
        return scaled.astype(np.float32), moved.astype(np.float32)


def _outputs_axis(layer: Layer) -> int:
    """Of the weight: the axis of what comes out."""
    return 0 if layer.node.op_type == "Conv" or layer.node.attributes.get("transB", 0) else 1


def _attributes(layer: Layer) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in layer.node.attributes.items()}
