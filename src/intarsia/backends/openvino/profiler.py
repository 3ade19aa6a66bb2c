"""What OpenVINO's performance counters say of one compiled model, primitive by primitive."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from intarsia.backends.contract import guard
from intarsia.errors import ExecutionError

if TYPE_CHECKING:
    import numpy as np

COUNTERS = {"PERF_COUNT": True}
"""Properties that a model must be compiled with to be asked."""
WARM = 2
_LAYERS = "originalLayersNames"


def primitive_times(compiled: Any, feeds: Sequence[np.ndarray], runs: int) -> list[Sequence[tuple[str, float]]]:
    """For each run the name and milliseconds of each primitive, in running order; ``feeds`` in order of the inputs."""
    found: list[Sequence[tuple[str, float]]] = []
    with guard(ExecutionError, "openvino"):
        named = _layers_of(compiled)
        request = compiled.create_infer_request()
        for number in range(WARM + runs):
            request.infer(dict(enumerate(feeds)))
            if number >= WARM:
                rows = request.get_profiling_info()
                found.append([(named.get(row.node_name, row.node_name), _ms(row)) for row in rows])
    return found


def _layers_of(compiled: Any) -> dict[str, str]:
    """By the name of each primitive the names of the layers that it was fused from, parted by commas."""
    facts = {op.get_friendly_name(): op.get_rt_info() for op in compiled.get_runtime_model().get_ops()}
    return {name: str(info[_LAYERS].astype(str)) for name, info in facts.items() if _LAYERS in info}


def _ms(row: Any) -> float:
    return float(row.real_time.total_seconds()) * 1000
