"""Several cases in one model, side by side, for engines whose compiler takes seconds before it looks at a model."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import onnx
from onnx.compose import add_prefix

from tests.conformance.node_cases import NodeCase


def batches(cases: Iterable[NodeCase], size: int) -> Iterator[tuple[NodeCase, ...]]:
    """Cases of tensors that can stand in one model: of the same operator sets, and without functions."""
    alike: defaultdict[tuple[tuple[str, int], ...], list[NodeCase]] = defaultdict(list)
    for case in cases:
        model = onnx.load_from_string(case.model)
        if case.inputs is not None and case.outputs is not None and not model.functions:
            alike[tuple(sorted((each.domain, each.version) for each in model.opset_import))].append(case)
    for group in alike.values():
        yield from (tuple(group[start : start + size]) for start in range(0, len(group), size))


def merged(cases: Sequence[NodeCase]) -> NodeCase:
    """One case of all of them; `passed` finds each one's outputs again."""
    whole = onnx.ModelProto()
    for number, case in enumerate(cases):
        part = add_prefix(onnx.load_from_string(case.model), _prefix(number))
        if number == 0:
            whole.CopyFrom(part)
            continue
        whole.ir_version = max(whole.ir_version, part.ir_version)
        for name in ("node", "initializer", "input", "output", "value_info"):
            getattr(whole.graph, name).extend(getattr(part.graph, name))
    return NodeCase(
        name="together",
        operators=tuple(dict.fromkeys(operator for case in cases for operator in case.operators)),
        model=whole.SerializeToString(),
        inputs=_named(case.inputs for case in cases),
        outputs=_named(case.outputs for case in cases),
    )


def passed(cases: Sequence[NodeCase], results: Mapping[str, np.ndarray]) -> set[str]:
    """Names of the cases whose outputs, among those of the merged one, are right."""
    found = set()
    for number, case in enumerate(cases):
        own = {name: results[f"{_prefix(number)}{name}"] for name in case.outputs or {}}
        if not case.faults(own):
            found.add(case.name)
    return found


def _named(several: Iterable[Mapping[str, np.ndarray] | None]) -> dict[str, np.ndarray]:
    return {
        f"{_prefix(number)}{name}": array
        for number, arrays in enumerate(several)
        for name, array in (arrays or {}).items()
    }


def _prefix(number: int) -> str:
    return f"case{number}."
