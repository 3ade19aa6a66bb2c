"""What ONNX Runtime's own profiler says of one session, kernel by kernel."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from intarsia.backends.contract import Arrays, guard
from intarsia.errors import ExecutionError
from intarsia.files import scratch

if TYPE_CHECKING:
    pass

_KERNEL = "_kernel_time"
WARM = 2


def kernel_times(
    open_session: Callable[[Any], Any], options: Any, feeds: Arrays, runs: int
) -> list[Sequence[tuple[str, float]]]:
    """For each run the name and milliseconds of each kernel, in running order.

    ``open_session`` opens an ``InferenceSession`` with ``SessionOptions``, which this changes.
    """
    with guard(ExecutionError, "onnxruntime"), scratch() as folder:
        options.enable_profiling = True
        options.profile_file_prefix = str(folder / "profile")
        session = open_session(options)
        for _ in range(WARM + runs):
            session.run(None, dict(feeds))
        events = json.loads(Path(session.end_profiling()).read_text(encoding="utf-8"))
    rows = [
        (event["name"].removesuffix(_KERNEL), event["dur"] / 1000)
        for event in events
        if event.get("cat") == "Node" and event["name"].endswith(_KERNEL)
    ]
    # Kernels run in the same order each time, so each run tells of as many.
    each = len(rows) // (WARM + runs)
    return [rows[number * each : (number + 1) * each] for number in range(WARM, WARM + runs)]
