"""Families of schemes: the ways in which a layer leaves fp32 step by step, and the layers that gain by them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from intarsia.config.precision import Scheme
from intarsia.graph.quantise import BLOCK, Layer, layers_of
from intarsia.search.thresholds import PRECISION

if TYPE_CHECKING:
    from intarsia.graph import Graph


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """The way that saves most, and one that loses less if there is one.

    Attributes:
        fine_share: Of what the coarse way saves, what the fine way saves.
        most_rows: A product of more rows gains nothing; ``None`` if each layer gains.
        least_share: With less than this share of the model's weights, all layers together gain nothing.
    """

    coarse: Scheme
    fine: Scheme | None = None
    fine_share: float = 1.0
    most_rows: float | None = None
    least_share: float = 0.0

    @property
    def ways(self) -> tuple[Scheme, ...]:
        """Those that there are, the one that loses less first."""
        return (self.coarse,) if self.fine is None else (self.fine, self.coarse)

    def layers(self, graph: Graph) -> tuple[Layer, ...]:
        """The layers that may be so, in order."""
        found = (layer for layer in layers_of(graph, graph.nodes) if self.coarse in layer.schemes)
        several = tuple(layer for layer in found if self.most_rows is None or _waits(layer, graph, self.most_rows))
        return several if self.least_share == 0.0 or _share(several, graph) >= self.least_share else ()


def rows(layers: Iterable[Layer], graph: Graph) -> float:
    """How often some products read each element of their weights, on average; 0 without any."""
    products = [layer for layer in layers if layer.flops]
    sizes = (prod(graph.weights[layer.node.inputs[1]].shape) for layer in products)
    return sum(layer.flops for layer in products) / (2 * max(sum(sizes), 1))


def _waits(layer: Layer, graph: Graph, most_rows: float) -> bool:
    """Whether a product waits for its weight, of whole blocks, which every engine takes."""
    return 0 < rows([layer], graph) <= most_rows and _length(layer, graph) % BLOCK == 0


def _share(layers: Iterable[Layer], graph: Graph) -> float:
    """Of the model's weights in bytes, those that these products read."""
    names = {layer.node.inputs[1] for layer in layers}
    return sum(graph.weights[name].nbytes for name in names) / max(graph.weight_bytes, 1)


def _length(layer: Layer, graph: Graph) -> int:
    """How many elements a product sums over."""
    shape = graph.weights[layer.node.inputs[1]].shape
    return shape[1 if layer.node.attributes.get("transB", 0) else 0]


PRODUCTS = Family(coarse=Scheme.STATIC)
"""Products and convolutions in 8 bits."""
WEIGHTS = Family(
    fine=Scheme.WEIGHTS_8,
    coarse=Scheme.WEIGHTS_4,
    fine_share=PRECISION.weights_fine_share,
    most_rows=PRECISION.most_rows,
    least_share=PRECISION.weights_least_share,
)
"""Weights alone in few bits, for products that wait for them."""
