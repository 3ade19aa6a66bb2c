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
    WEIGHTS_8 = "weights-int8"
    """The weight is read in 8 bits, with a scale for each block of it; what it is multiplied with stays in fp32."""
    WEIGHTS_4 = "weights-int4"
    """As ``WEIGHTS_8`` in 4 bits."""
    WEIGHTS_6 = "weights-int6"
    """As ``WEIGHTS_8`` in 6 bits: four times its error."""
    WEIGHTS_10 = "weights-int10"
    """As ``WEIGHTS_8`` in 10 bits: a fourth of its error."""
    WEIGHTS_12 = "weights-int12"
    """As ``WEIGHTS_8`` in 12 bits: a sixteenth of its error."""

    @property
    def weight_bits(self) -> int | None:
        """Bits of a weight, where nothing but the weight has few; else ``None``."""
        name, _, bits = self.value.partition("-int")
        return int(bits) if name == "weights" else None

    @property
    def needs_ranges(self) -> bool:
        """Whether values are scaled by ranges that calibration saw."""
        return self is Scheme.STATIC

    @property
    def dynamic(self) -> Scheme:
        """The same with ranges that are found while the model runs; where there are none, itself."""
        return Scheme.DYNAMIC if self is Scheme.STATIC else self


Range = tuple[float, float]
"""The lowest and the highest element of a value."""
Means = str
"""The mean of each channel of a value, as text: `graph.quantise.means_text` writes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Precision:
    """The nodes that compute in less than fp32; all others compute as the model says.

    Attributes:
        schemes: By node id how it computes, ordered by id.
        ranges: By name of the value the range that calibration saw, ordered by name: of all that static nodes read.
        means: By name of the value what calibration saw on average, ordered by name. Weights that are multiplied with
            such a value are rounded so that their errors cancel on average: those of the nodes above, and all of an
            engine that computes in a smaller float type.
    """

    schemes: tuple[tuple[str, Scheme], ...]
    ranges: tuple[tuple[str, Range], ...] = ()
    means: tuple[tuple[str, Means], ...] = ()

    @classmethod
    def of(
        cls, schemes: Mapping[str, Scheme], ranges: Mapping[str, Range], means: Mapping[str, Means] | None = None
    ) -> Precision:
        """In canonical order, whatever order the mappings have."""
        return cls(
            schemes=tuple(sorted(schemes.items())),
            ranges=tuple(sorted(ranges.items())),
            means=tuple(sorted((means or {}).items())),
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The schemes in use, each once."""
        return tuple(sorted({scheme.value for _, scheme in self.schemes}))

    def nodes(self, scheme: Scheme) -> tuple[str, ...]:
        """Ids of the nodes of a scheme."""
        return tuple(node for node, own in self.schemes if own is scheme)

    def within(self, read: Mapping[str, Collection[str]], *, rounds: bool) -> Precision | None:
        """What of it concerns nodes; ``None`` if nothing does.

        Args:
            read: By node id the values that the node reads.
            rounds: Whether their engine computes in a smaller float type.
        """
        schemes = tuple(pair for pair in self.schemes if pair[0] in read)
        rounding = read if rounds else [node for node, _ in schemes]
        values = {value for node in rounding for value in read[node]}
        ranges = tuple(pair for pair in self.ranges if pair[0] in values)
        means = tuple(pair for pair in self.means if pair[0] in values)
        return replace(self, schemes=schemes, ranges=ranges, means=means) if schemes or means else None

    def facts(self) -> list[list[object]]:
        """All of it as JSON-able rows."""
        schemes: list[object] = [[node, scheme.value] for node, scheme in self.schemes]
        return [schemes, [[name, *span] for name, span in self.ranges], [[name, text] for name, text in self.means]]
