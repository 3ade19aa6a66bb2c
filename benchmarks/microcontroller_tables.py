"""The tables of ``docs/microcontrollers.md``, of what `benchmarks.microcontrollers` measured. An empty cell was not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

CALLED = {
    "ad": "anomaly detection",
    "kws": "keyword spotting",
    "ic": "image classification",
    "vww": "visual wake words",
}
BOARDS = {"mps2-an386": "Cortex-M4", "mps3-an547": "Cortex-M55"}
Json = Mapping[str, Any]


def memory(found: Json) -> Iterator[tuple[str, ...]]:
    """Bytes of workspace on the Cortex-M4: of three compositions, the floor, and of others."""
    yield ("network", "**Intarsia**", "own kernels", "all CMSIS-NN", "floor", "TFLM", "microTVM")
    for name, entry in found["networks"].items():
        board = entry["boards"]["mps2-an386"]
        own, cmsis, chosen = (_figure(board[each], "workspace_bytes") for each in ("own", "cmsis", "chosen"))
        tflm = _figure(entry["tflite_micro"], "head_bytes")
        yield (CALLED[name], f"**{chosen}**", own, cmsis, f"{entry['floor']:,}", tflm, f"{entry['microtvm']:,}")


def instructions(found: Json) -> Iterator[tuple[str, ...]]:
    """What a call executes, on each board, and the ratios to all CMSIS-NN."""
    yield ("network", "processor", "all CMSIS-NN", "own kernels", "**chosen**", "own : CMSIS-NN", "chosen : CMSIS-NN")
    for name, entry in found["networks"].items():
        for board, each in entry["boards"].items():
            figures = [_figure(each[key], "instructions") for key in ("cmsis", "own", "chosen")]
            ratios = [_ratio(each[key], each["cmsis"]) for key in ("own", "chosen")]
            yield (CALLED[name], BOARDS[board], *figures[:2], f"**{figures[2]}**", *ratios)


def bytes_beside(found: Json) -> Iterator[tuple[str, ...]]:
    """Code, weights and stack of the chosen plan."""
    yield ("network", "processor", "code", "weights", "stack")
    for name, entry in found["networks"].items():
        for board, each in entry["boards"].items():
            figures = (_figure(each["chosen"], key) for key in ("code_bytes", "weights_bytes", "stack_bytes"))
            yield (CALLED[name], BOARDS[board], *figures)


def _figure(entry: Json, key: str) -> str:
    value = entry.get(key)
    return "" if value is None else f"{value:,}"


def _ratio(one: Json, other: Json) -> str:
    if "instructions" not in one or "instructions" not in other:
        return ""
    return f"{one['instructions'] / other['instructions']:.2f}"
