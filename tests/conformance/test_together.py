"""Cases in one model are judged each by its own outputs."""

from __future__ import annotations

import numpy as np
import onnx

from intarsia.graph import load_model
from intarsia.graph.reference.reference import evaluate
from tests.conformance.node_cases import NodeCase, node_cases
from tests.conformance.together import batches, merged, passed

CASES = tuple(case for case in node_cases() if case.name in ("abs", "add", "add_bcast", "acos", "relu", "sub"))


def test_only_the_wrong_one_of_several_does_not_pass() -> None:
    batch = next(batch for batch in batches(CASES, 2) if len(batch) == 2)
    whole = merged(batch)
    results = evaluate(load_model(whole.model), whole.inputs or {})
    assert passed(batch, results) == {case.name for case in batch}
    spoilt = next(iter(results))
    results[spoilt] = results[spoilt] + np.float32(1)
    assert len(passed(batch, results)) == 1


def test_each_case_is_in_one_batch_with_others_of_its_operator_set() -> None:
    found = [case for batch in batches(CASES, 2) for case in batch]
    assert sorted(case.name for case in found) == sorted(case.name for case in CASES)
    assert all(len(batch) <= 2 for batch in batches(CASES, 2))
    assert all(len({_opset(case) for case in batch}) == 1 for batch in batches(CASES, 2))


def _opset(case: NodeCase) -> int:
    (opset,) = onnx.load_from_string(case.model).opset_import
    version: int = opset.version
    return version
