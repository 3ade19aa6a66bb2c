"""One layer of attention over a cache, as exporters write it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import helper

from tests.unit.graph.models import info, model


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """A layer whose rows are [images, rows, heads * width].

    Attributes:
        shared: Heads that share the keys and values of one.
        mask: The shape of what is added to the products; ``None`` for no mask.
        scales: Whether queries and keys are scaled before, as ``scaled_dot_product_attention`` does.
        is_parted: Whether one projection yields queries, keys and values.
        adds: Whether rows bring keys and values; else all are in the cache.
        is_safe: Whether keys are turned as matrices in a row, and weights that are no numbers become zero, as PyTorch
            exports ``scaled_dot_product_attention``.
    """

    images: int = 1
    rows: int = 1
    heads: int = 4
    shared: int = 1
    width: int = 16
    cached: int = 7
    mask: tuple[int, ...] | None = None
    scales: bool = False
    is_parted: bool = True
    adds: bool = True
    is_safe: bool = False

    @property
    def keys(self) -> int:
        """How many each query is multiplied with."""
        return self.cached + self.rows * self.adds

    def network(self) -> onnx.ModelProto:
        """The layer between two projections."""
        sketch = _Sketch(self)
        sketch.project()
        joined = {name: sketch.joined(name) for name in "kv"}
        sketch.attend(joined["k"], joined["v"])
        length, key_heads = self.heads * self.width, self.heads // self.shared
        cache = (self.images, key_heads, self.cached, self.width)
        grown = (self.images, key_heads, self.keys, self.width)
        inputs = [info("x", (self.images, self.rows, length)), *(info(f"past.{name}", cache) for name in "kv")]
        inputs += [] if self.mask is None else [info("mask", self.mask)]
        outputs = [info("y", (self.images, self.rows, length))]
        outputs += [info(f"present.{name}", grown) for name in "kv"] if self.adds else []
        return model(sketch.nodes, inputs, outputs, sketch.weights)


class _Sketch:
    """The nodes of a layer."""

    def __init__(self, layer: Layer) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.weights: dict[str, np.ndarray] = {}
        self._layer = layer
        self._draw = np.random.default_rng(7)
        key_heads = layer.heads // layer.shared
        self._heads = {"q": layer.heads, **({"k": key_heads, "v": key_heads} if layer.adds else {})}

    def project(self) -> None:
        """Rows as queries, and keys and values where these bring some, with heads forward."""
        layer = self._layer
        lengths = {name: heads * layer.width for name, heads in self._heads.items()}
        if layer.is_parted:
            self._product("x", "all", sum(lengths.values()))
            sizes = self._weight("sizes", list(lengths.values()))
            parted = [f"{name}.flat" for name in lengths]
            self.nodes.append(helper.make_node("Split", ["all", sizes], parted, name="split", axis=-1))
        for name, heads in self._heads.items():
            if not layer.is_parted:
                self._product("x", f"{name}.flat", lengths[name])
            shape = self._weight(f"{name}.shape", [layer.images, layer.rows, heads, layer.width])
            apart = self._add("Reshape", f"{name}.flat", shape, to=f"{name}.apart")
            self._add("Transpose", apart, to=f"{name}.heads", perm=[0, 2, 1, 3])

    def joined(self, name: str) -> str:
        """All keys or values, once for each head of the queries."""
        layer, source = self._layer, f"past.{name}"
        if layer.adds:
            source = self._add("Concat", source, f"{name}.heads", to=f"present.{name}", axis=-2)
        if layer.shared == 1:
            return source
        key_heads = layer.heads // layer.shared
        several = [layer.images, key_heads, layer.shared, layer.keys, layer.width]
        apart = self._add("Unsqueeze", source, self._weight(f"{name}.axes", [2]), to=f"{name}.one")
        grown = self._add("Expand", apart, self._weight(f"{name}.grown", several), to=f"{name}.several")
        if layer.is_safe and name == "k":
            return grown
        whole = self._weight(f"{name}.whole", [layer.images, layer.heads, layer.keys, layer.width])
        return self._add("Reshape", grown, whole, to=f"{name}.all")

    def _turned(self, keys: str) -> str:
        layer = self._layer
        if not layer.is_safe:
            return self._add("Transpose", keys, to="turned", perm=[0, 1, 3, 2])
        matrices = self._weight("matrices", [layer.images * layer.heads, layer.keys, layer.width])
        flat = self._add(
            "Transpose", self._add("Reshape", keys, matrices, to="k.matrices"), to="k.turned", perm=[0, 2, 1]
        )
        apart = self._weight("apart", [layer.images, layer.heads, layer.width, layer.keys])
        return self._add("Reshape", flat, apart, to="turned")

    def attend(self, keys: str, values: str) -> None:
        """The attention, and the projection behind it."""
        layer, query, keys = self._layer, "q.heads", self._turned(keys)
        if layer.scales:
            root = self._weight("root", layer.width**-0.25)
            query = self._add("Mul", query, root, to="q.scaled")
            scores = self._add("MatMul", query, self._add("Mul", keys, root, to="k.scaled"), to="scores")
        else:
            scores = self._add("MatMul", query, keys, to="scores")
            scores = self._add("Div", scores, self._weight("by", layer.width**0.5), to="scaled")
        if layer.mask is not None:
            scores = self._add("Add", scores, "mask", to="masked")
        weights = self._add("Softmax", scores, to="weights", axis=-1)
        if layer.is_safe:
            odd = self._add("IsNaN", weights, to="odd")
            weights = self._add("Where", odd, self._weight("nothing", 0.0), weights, to="even")
        self._add("MatMul", weights, values, to="result")
        self._add("Transpose", "result", to="back", perm=[0, 2, 1, 3])
        length = layer.heads * layer.width
        self._add("Reshape", "back", self._weight("flat", [layer.images, layer.rows, length]), to="rows")
        self._product("rows", "y", length)

    def _product(self, x: str, name: str, columns: int) -> None:
        length = self._layer.heads * self._layer.width
        array = self._draw.standard_normal((length, columns)).astype(np.float32) / np.float32(length**0.5)
        self.weights[f"{name}.weight"] = array
        self._add("MatMul", x, f"{name}.weight", to=name)

    def _weight(self, name: str, content: float | Sequence[int]) -> str:
        self.weights[name] = np.asarray(content, np.float32 if isinstance(content, float) else np.int64)
        return name

    def _add(self, op_type: str, *inputs: str, to: str, **attributes: Any) -> str:
        self.nodes.append(helper.make_node(op_type, list(inputs), [to], name=f"{to}.node", **attributes))
        return to


LAYERS = {
    "one token": Layer(),
    "no projection in common": Layer(is_parted=False),
    "a mask for each head": Layer(mask=(1, 4, 1, 8)),
    "a mask of one dimension": Layer(mask=(8,)),
    "several tokens": Layer(rows=3, mask=(3, 10)),
    "several images": Layer(images=2, rows=2, mask=(2, 1, 2, 9)),
    "scaled before": Layer(scales=True),
    "shared keys": Layer(shared=2, rows=2),
    "shared keys, one token": Layer(shared=4, images=3, mask=(3, 1, 1, 1)),
    "all in the cache": Layer(adds=False, is_parted=False),
    "all in the cache, several tokens": Layer(adds=False, rows=4, is_parted=False, shared=2),
    "safe": Layer(scales=True, is_safe=True, mask=(1, 1, 1, 8)),
    "safe, shared keys": Layer(scales=True, is_safe=True, shared=2, rows=3),
    "wide": Layer(heads=2, width=144, cached=130),
}
"""Layers that the operator takes, by what is special about them."""
