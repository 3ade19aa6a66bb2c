"""What a plan needs beside time: the memory of its process and the size of its artifact."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from pathlib import Path
from typing import Any

from intarsia.backends import registry
from intarsia.errors import BackendUnavailableError

Json = Mapping[str, Any]


def needs_json(
    chosen: str, figures: Json, singles: Sequence[Json], artifact: Path, model: str | None, weights: int
) -> dict[str, Any]:
    """Both sizes with what each is compared with; ``None`` for what is not known.

    Args:
        chosen: The label of what ships.
        figures: Its figures.
        singles: The rows of the engines alone.
        artifact: Its file.
        model: The model's file, if it has one.
        weights: Bytes of the model's weights, which may lie in other files.
    """
    alternative = _alternative(chosen, singles)
    return {
        "memory": _peak(figures),
        "alternative": None if alternative is None else alternative["target"],
        "alternative_memory": None if alternative is None else _peak(alternative),
        "artifact": _size(artifact),
        "model": max(weights, _size(Path(model)) or 0 if model is not None else 0) or None,
    }


def _alternative(chosen: str, singles: Sequence[Json]) -> Json | None:
    """What would ship without kernels of our own: the engine that ours is made of, or else the fastest other one."""
    known = [single for single in singles if _peak(single) is not None]
    host = _extended(chosen)
    hosts = [single for single in known if host is not None and _engine(single["target"]) == host]
    others = [single for single in known if _extended(single["target"]) is None]
    found = min(hosts or others, key=lambda single: single.get("latency_ms") or inf, default=None)
    return None if found is None or found["target"] == chosen else found


def _extended(target: str) -> str | None:
    try:
        return registry.get(_engine(target)).extends
    except BackendUnavailableError:  # the name of a mix, or an engine of a package that is gone
        return None


def _engine(target: str) -> str:
    return target.split(maxsplit=1)[0]


def _size(file: Path) -> int | None:
    return file.stat().st_size if file.is_file() else None


def _peak(plan: Json) -> int | None:
    memory = plan.get("memory")
    return memory["peak"] if memory else None
