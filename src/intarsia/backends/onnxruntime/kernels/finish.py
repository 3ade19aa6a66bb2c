"""What an activation that ONNX Runtime fused into a convolution does, where our kernels do that as well."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Finish:
    """Numbers below zero are multiplied by a slope, and then all are held between two."""

    low: float = -math.inf
    high: float = math.inf
    slope: float = 1.0


def finish_of(attributes: Mapping[str, Any]) -> Finish | None:
    """By the attributes of the convolution; ``None`` if the activation does more."""
    match attributes.get("activation", ""), attributes.get("activation_params", ()):
        case ("", _):
            return Finish()
        case ("Relu", _):
            return Finish(low=0.0)
        case ("Clip", (low, high)):
            return Finish(low=low, high=high)
        case ("LeakyRelu", (slope,)):
            return Finish(slope=slope)
        case _:
            return None


def limits_of(attributes: Mapping[str, Any]) -> Finish | None:
    """The same for operators that only hold numbers; ``None`` where there is a slope."""
    finish = finish_of(attributes)
    return finish if finish is not None and finish.slope == 1 else None
