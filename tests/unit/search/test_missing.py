"""What is missing to drive a configuration: executors that are there leave nothing to say."""

from __future__ import annotations

import pytest

from intarsia.config import CompilationConfig
from intarsia.search.missing import missing_stages


@pytest.mark.parametrize(
    ("executor", "missing"),
    [
        ("graph", False),
        ("vm", False),
        ("pipeline", False),
        ({"kind": "pipeline", "depth": 3}, False),
        ({"kind": "graph", "link-params": True}, True),
        ("aot", True),
    ],
)
def test_executors_that_are_there(executor: object, missing: bool) -> None:
    config = CompilationConfig.of({"targets": ["reference"], "executor": executor})
    assert bool(list(missing_stages(config))) is missing


def test_the_executor_of_a_nested_configuration_counts() -> None:
    nested = {"targets": ["reference"], "executor": "aot"}
    config = CompilationConfig.of({"targets": [nested], "executor": "pipeline"})
    assert [sentence for sentence in missing_stages(config) if "aot" in sentence]
