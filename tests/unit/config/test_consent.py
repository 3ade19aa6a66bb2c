"""What a model's metadata or a plan file has run is named by the user too, or nothing is compiled."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

import intarsia
from intarsia.config import CompilationConfig
from intarsia.config.metadata import CONFIG_KEY, one_config, to_metadata
from intarsia.driver import partition
from intarsia.errors import ConfigError
from tests.artifacts import canary_program
from tests.unit.graph.models import two_layers

PLAN = """\
version: 1
threads: 1
spin: call
partitions:
- target: reference
  nodes: [first]
- target: {}
  nodes: [relu, MatMul_2, Relu_3]
"""


def test_a_model_that_names_an_interpreter_is_refused(tmp_path: Path) -> None:
    program, sung = canary_program(tmp_path)
    model = two_layers()
    onnx.helper.set_model_props(model, {CONFIG_KEY: f'{{"targets": ["reference -python={program}"]}}'})
    with pytest.raises(ConfigError, match=f"the configuration that the model carries names '{program}'"):
        intarsia.compile(model)
    with pytest.raises(ConfigError, match="the configuration that the model carries names"):
        partition(model)
    assert not sung.exists()


def test_one_that_the_user_names_too_is_taken() -> None:
    config = CompilationConfig.of("xla -python=/opt/bin/python")
    with pytest.raises(ConfigError):
        one_config(None, to_metadata(config))
    assert one_config("xla -python=/opt/bin/python", to_metadata(config)) == config


@pytest.mark.parametrize("target", [None, "reference"])
def test_a_plan_file_that_names_an_interpreter_is_refused(target: str | None, tmp_path: Path) -> None:
    program, sung = canary_program(tmp_path)
    plan = tmp_path / "plan.yaml"
    plan.write_text(PLAN.format(f"reference -python={program}"), encoding="utf-8")
    with pytest.raises(ConfigError, match=f"plan.yaml: a partition names '{program}'"):
        intarsia.compile(two_layers(), target, partition="manual", plan=plan)
    assert not sung.exists()


def test_a_plan_file_may_name_what_the_target_does(tmp_path: Path) -> None:
    """The canary is no interpreter, so that is as far as it gets."""
    program, sung = canary_program(tmp_path)
    away = f"reference -python={program}"
    plan = tmp_path / "plan.yaml"
    plan.write_text(PLAN.format(away), encoding="utf-8")
    with pytest.raises(intarsia.errors.MissingStageError):
        intarsia.compile(two_layers(), f"reference, {away}", partition="manual", plan=plan)
    assert sung.exists()
