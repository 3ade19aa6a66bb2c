"""Faults that engines have been seen with, planted in a model: what computes such a model rightly is a wrong engine.

Each is a function that changes the model that is being edited, and says whether there was a place for it. They change
which numbers a quantiser has (`quantisers`), how values are rounded (`rounding`), and what is computed (`layers`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from networks.quantised.faults import layers, quantisers, rounding
from networks.quantised.faults.edit import Edit

if TYPE_CHECKING:
    import onnx

Fault = Callable[[Edit], bool]


def planted(model: onnx.ModelProto, fault: str) -> onnx.ModelProto | None:
    """A copy with the named fault, or ``None`` if the model has no place for it.

    Raises:
        KeyError: no such fault.
    """
    edit = Edit(model)
    return edit.model if FAULTS[fault](edit) else None


def _none(edit: Edit) -> bool:
    """No fault: an engine with it is right."""
    return True


FAULTS: Mapping[str, Fault] = MappingProxyType(
    {
        "none": _none,
        "scale-once": partial(quantisers.one_scale, factor=1.25, at=0.5),
        "scale-at-the-end": partial(quantisers.one_scale, factor=1.08, at=1.0),
        "scale-everywhere": partial(quantisers.every_scale, factor=1.02),
        "one-scale-for-all-channels": quantisers.one_scale_for_all_channels,
        "other-axis": quantisers.other_axis,
        "zero-point-plus-one": partial(quantisers.zero_points, change=quantisers.plus_one),
        "zero-point-plus-one-once": partial(quantisers.zero_points, change=quantisers.plus_one, once=True),
        "zero-point-ignored": partial(quantisers.zero_points, change=np.zeros_like),
        "swapped-nibbles": quantisers.swapped_nibbles,
        "double-blocks": quantisers.double_blocks,
        "narrow-range": rounding.narrow_range,
        "wraps-around": partial(rounding.rounds, rule="Round", wraps=True),
        "rounds-down": partial(rounding.rounds, rule="Floor"),
        "rounds-up": partial(rounding.rounds, rule="Ceil"),
        "truncates": partial(rounding.rounds, rule=None),
        "bf16-for-fp16": rounding.bf16_for_fp16,
        "half-saturates": rounding.half_saturates,
        "half-flushes": rounding.half_flushes,
        "swapped-channels-first": partial(layers.swapped_channels, at=0.0),
        "swapped-channels-middle": partial(layers.swapped_channels, at=0.5),
        "swapped-channels-last": partial(layers.swapped_channels, at=1.0),
        "drops-activation": layers.drops_activation,
        "relu-for-gelu": layers.relu_for_gelu,
        "drops-biases": layers.drops_biases,
        "drops-shortcut": layers.drops_shortcut,
    }
)
"""By name. Where only one place is wrong, it is the middle one, or the first or last as the name says."""
