"""What cannot be loaded several times in one process is refused where throughput is the objective."""

from __future__ import annotations

from typing import Any

import pytest

from intarsia.config import CompilationConfig, Pipeline, SearchSettings
from intarsia.errors import ConfigError
from intarsia.partitioning import PlanFile
from intarsia.planning.objective import check_objective

THROUGHPUT = SearchSettings(objective="throughput")


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({"targets": ["onnxruntime"], "executor": "pipeline"}, "the executor 'pipeline' is asked for: state graph"),
        ({"targets": ["c"], "executor": "aot", "runtime": "crt"}, "the executor 'aot' is asked for"),
        ({"targets": ["onnxruntime"], "runtime": "cpp"}, "the runtime 'cpp' is asked for: state python"),
        ({"targets": ["onnxruntime"], "runtime": "rpc"}, "the runtime 'rpc' is asked for"),
        ({"targets": [{"targets": ["onnxruntime", "mnn"]}, "openvino"]}, "divides its threads itself"),
    ],
)
def test_what_is_described_may_not_do(form: Any, said: str) -> None:
    config = CompilationConfig.of(form)
    check_objective(config, SearchSettings(), None)
    with pytest.raises(ConfigError, match="objective throughput") as caught:
        check_objective(config, THROUGHPUT, None)
    assert said in str(caught.value)


def test_a_stream_in_a_plan_file_is_another_way_to_drive_it() -> None:
    config = CompilationConfig.of("onnxruntime")
    check_objective(config, THROUGHPUT, PlanFile(partitions=()))
    check_objective(CompilationConfig.of({"targets": ["onnxruntime"], "executor": "vm"}), THROUGHPUT, None)
    plan = PlanFile(partitions=(), pipeline=Pipeline(stages=(1,), threads=(1,), lanes=2, depth=2))
    with pytest.raises(ConfigError, match="the plan file has a pipeline"):
        check_objective(config, THROUGHPUT, plan)
