"""The shapes of the functions that know an operator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from intarsia.backends.lowering.integer.values import Pending, State
from intarsia.backends.lowering.integer.walk import Walk
from intarsia.backends.lowering.program import Term

if TYPE_CHECKING:
    from intarsia.graph import Node

Rule = Callable[[Walk, "Node"], Mapping[str, State] | None]
"""What a node makes of the states of its inputs: a state for each output; ``None`` where it is left to floating
point."""
Emitter = Callable[[Walk, Pending, float, int, int, int, str], Term | None]
"""The int8 result of an operator that waited: of this scale and zero point, held between these two codes, behind the
quantiser of this id. ``None`` where integers do not suffice."""
