"""Which nodes of a partition compute in less than fp32, and how: what a plan says, and `graph.quantise` does."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum


class Scheme(StrEnum):
    """A way to compute a node in less than fp32."""

    DYNAMIC = "int8-dynamic"
    """8-bit products; each tensor that is multiplied is scaled by its own range while the model runs."""
    STATIC = "int8-static"
    """8-bit products; tensors are scaled by ranges that were seen on calibration inputs."""
    DYNAMIC_FINE = "int8-dynamic-fine"
    """As ``DYNAMIC`` with each weight as the sum of two in 8 bits, for layers that suffer from rounded weights."""
    STATIC_FINE = "int8-static-fine"
    """As ``STATIC`` with each weight as the sum of two in 8 bits."""
    WEIGHTS_8 = "weights-int8"
    """The weight is read in 8 bits, with a scale for each block of it; what it is multiplied with stays in fp32."""
    WEIGHTS_4 = "weights-int4"
    """As ``WEIGHTS_8`` in 4 bits."""

    @property
    def weight_bits(self) -> int | None:
        """Bits of a weight, where nothing but the weight has few; else ``None``."""
        return {Scheme.WEIGHTS_8: 8, Scheme.WEIGHTS_4: 4}.get(self)

    @property
    def needs_ranges(self) -> bool:
        """Whether values are scaled by ranges that calibration saw."""
        return self in (Scheme.STATIC, Scheme.STATIC_FINE)

    @property
    def is_dynamic(self) -> bool:
        """Whether ranges are found while the model runs."""
        return self in (Scheme.DYNAMIC, Scheme.DYNAMIC_FINE)

    @property
    def is_fine(self) -> bool:
        """Whether weights are sums of two."""
        return self in (Scheme.DYNAMIC_FINE, Scheme.STATIC_FINE)

    @property
    def dynamic(self) -> Scheme:
        """The same with ranges that are found while the model runs; where there are none, itself."""
        if self.weight_bits is not None:
            return self
        return Scheme.DYNAMIC_FINE if self.is_fine else Scheme.DYNAMIC


Range = tuple[float, float]
"""The lowest and the highest element of a value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Precision:
    """The nodes that compute in less than fp32; all others compute as the model says.

    Attributes:
        schemes: By node id how it computes, ordered by id.
        ranges: By name of the value the range that calibration saw, ordered by name: of all that static nodes read.
    """

    schemes: tuple[tuple[str, Scheme], ...]
    ranges: tuple[tuple[str, Range], ...] = ()

    @classmethod
    def of(cls, schemes: Mapping[str, Scheme], ranges: Mapping[str, Range]) -> Precision:
        """In canonical order, whatever order the mappings have."""
        return cls(schemes=tuple(sorted(schemes.items())), ranges=tuple(sorted(ranges.items())))

    @property
    def names(self) -> tuple[str, ...]:
        """The schemes in use, each once."""
        return tuple(sorted({scheme.value for _, scheme in self.schemes}))

    def nodes(self, scheme: Scheme) -> tuple[str, ...]:
        """Ids of the nodes of a scheme."""
        return tuple(node for node, own in self.schemes if own is scheme)

    def within(self, nodes: Collection[str], values: Collection[str]) -> Precision | None:
        """What of it concerns these nodes, which read these values; ``None`` if nothing does."""
        schemes = tuple(pair for pair in self.schemes if pair[0] in nodes)
        ranges = tuple(pair for pair in self.ranges if pair[0] in values)
        return replace(self, schemes=schemes, ranges=ranges) if schemes else None

    def facts(self) -> list[list[object]]:
        """All of it as JSON-able rows."""
        return [[[node, scheme.value] for node, scheme in self.schemes], [[name, *span] for name, span in self.ranges]]
