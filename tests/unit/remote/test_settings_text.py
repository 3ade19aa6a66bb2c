"""Settings arrive as they were stated, and a worker takes nothing else for settings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intarsia import Target
from intarsia.devices import Constraint
from intarsia.driver import CompileSettings
from intarsia.driver.settings import SETTINGS
from intarsia.errors import ConfigError, PlanError
from intarsia.partitioning import Partition, PlanFile
from intarsia.remote.settings_text import NOT_SENT, settings_of_text, settings_text

STATED: dict[str, st.SearchStrategy[Any]] = {
    "partition": st.sampled_from(["single", "greedy", "collage"]),
    "threads": st.none() | st.integers(1, 64),
    "budget": st.floats(0, 1000),
    "shapes": st.none() | st.just({"x": (1, 3), "N": 4, "M": "1..8/4"}),
    "seed": st.integers(0, 2**31),
    "prune": st.booleans(),
    "min_nodes": st.just(2) | st.just({"onnxruntime": 3}),
    "min_flops": st.integers(0, 100),
    "max_memory": st.none() | st.just("500MB") | st.integers(1, 10**12),
    "footprints": st.booleans(),
    "max_error": st.none() | st.floats(1e-6, 0.5),
    "strict": st.booleans(),
    "strict_machine": st.booleans(),
    "objective": st.sampled_from(["latency", "throughput"]),
    "max_latency": st.none() | st.floats(0.1, 1e3),
}


def goes_together(stated: dict[str, Any]) -> bool:
    if stated.get("objective") == "throughput":
        return not stated.get("shapes")
    return stated.get("max_latency") is None


@given(st.fixed_dictionaries({}, optional=STATED).filter(goes_together))
def test_settings_come_back(stated: dict[str, Any]) -> None:
    settings = CompileSettings(**stated)
    found = settings_of_text(settings_text(settings), "there.sqlite")
    assert found.store == "there.sqlite"
    for name in SETTINGS:
        if name != "store":
            assert getattr(found, name) == getattr(settings, name), name


def test_a_setting_is_sent_or_there_is_a_reason_why_not() -> None:
    assert set(SETTINGS) == {*STATED, *NOT_SENT, "plan", "constraints"}


def test_files_travel_by_their_content(tmp_path: Path) -> None:
    plan, constraints = tmp_path / "plan.yaml", tmp_path / "where.yaml"
    plan.write_text("version: 1\nthreads: 2\npartitions:\n- target: mnn\n  nodes: [a, 'null']\n", encoding="utf-8")
    constraints.write_text("nodes: {a: cpu}\n", encoding="utf-8")
    text = settings_text(CompileSettings(partition="manual", plan=plan, constraints=constraints))
    plan.unlink()
    constraints.unlink()
    found = settings_of_text(text, None)
    assert isinstance(found.plan, PlanFile)
    assert found.plan.threads == 2
    assert found.plan.partitions == (Partition(target=Target("mnn"), nodes=("a", "null")),)
    assert [str(each.device) for each in found.constraints or ()] == ["cpu"]  # type: ignore[union-attr]


def test_a_plan_and_constraints_of_a_program_travel_too() -> None:
    plan = PlanFile(partitions=(Partition(target=Target("mnn -python=/a/b"), nodes=("1e3",)),), embed=False, threads=3)
    stated = CompileSettings(partition="manual", plan=plan, constraints=[Constraint.node("1e3", "cpu")])
    found = settings_of_text(settings_text(stated), None)
    assert found.plan == plan
    assert [(each.name, str(each.device)) for each in found.constraints or ()] == [("1e3", "cpu")]  # type: ignore[union-attr]


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="cannot be read as a plan file"):
        settings_text(CompileSettings(partition="manual", plan=tmp_path / "none"))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        json.dumps({"store": "/etc/passwd"}),
        json.dumps({"custom_ops": ["/tmp/x.so"]}),
        json.dumps({"search": {}}),
        json.dumps({"budget": "1e9x"}),
        json.dumps({"seed": -1}),
        json.dumps({"shapes": [1]}),
        json.dumps({"constraints": 3}),
        json.dumps({"partition": "manual", "plan": {"a": 1}}),
        '{"seed": "\\ud800"}',
    ],
)
def test_what_is_no_setting_is_refused(text: str) -> None:
    with pytest.raises((ConfigError, PlanError)):
        settings_of_text(text, None)
